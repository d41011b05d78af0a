"""The small world behind JSON-RPC in this process, so that a test can also reorganise it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from chain.devnet.node.node import Node
from chain.devnet.node.rpc.dispatch import METHODS
from chain.devnet.node.rpc.faults import failed
from chain.devnet.node.rpc.fields import Params, table
from chain.devnet.node.server import Server
from msgspec import Struct

from chain.contracts.networks import network_named
from chain.devnet.world.worlds import World, open_world
from chain.rpc.client import RpcClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from chain.devnet.node.rpc.faults import Json

DEVNET = network_named("devnet")


class LiveWorld(Struct, frozen=True):
    world: World
    node: Node
    client: RpcClient
    log_ranges: list[int]
    """How many blocks each question for logs spanned, refused ones included."""


@pytest.fixture(scope="session")
def live_world() -> Callable[..., AbstractAsyncContextManager[LiveWorld]]:
    @asynccontextmanager
    async def opened(widest_range: int | None = None) -> AsyncIterator[LiveWorld]:
        world = open_world(7, "small")
        node = Node(world.ledger)
        asked: list[int] = []

        def get_logs(node: Node, params: Params) -> Json:
            query = params.take(table)
            span = int(str(query["toBlock"]), 16) - int(str(query["fromBlock"]), 16) + 1
            asked.append(span)
            if widest_range is not None and span > widest_range:
                raise failed(f"block range is too wide, limited to {widest_range} blocks")
            return METHODS["eth_getLogs"](node, Params([query]))

        server = Server(node, methods={"eth_getLogs": get_logs})
        url = await server.start()
        try:
            async with RpcClient(DEVNET, [url]) as client:
                yield LiveWorld(world, node, client, asked)
        finally:
            await server.close()

    return opened
