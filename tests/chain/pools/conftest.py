"""The small world behind JSON-RPC in this process, with a node that may refuse logs."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from chain.devnet.node.node import Node
from chain.devnet.node.rpc.dispatch import METHODS
from chain.devnet.node.rpc.faults import failed
from chain.devnet.node.rpc.fields import Params, table
from chain.devnet.node.server import Server

from chain.contracts.networks import network_named
from chain.devnet.world.worlds import World, open_world
from chain.rpc.client import RpcClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from chain.devnet.node.rpc.faults import Json

DEVNET = network_named("devnet")


@dataclass
class Served:
    world: World
    node: Node
    client: RpcClient
    widest: int | None = None
    """The widest range of blocks the node gives logs of."""
    broken_from: int | None = None
    """From this block on it fails to give any."""
    spans: list[tuple[int, int]] = field(default_factory=list)
    """The ranges it gave logs of."""

    def logs(self, node: Node, params: Params) -> Json:
        query = params.take(table)
        first, last = (int(str(query[name]), 16) for name in ("fromBlock", "toBlock"))
        if self.widest is not None and last - first + 1 > self.widest:
            raise failed(f"block range is too wide, limited to {self.widest} blocks")
        if self.broken_from is not None and last >= self.broken_from:
            raise failed("the log index is being rebuilt")
        self.spans.append((first, last))
        return METHODS["eth_getLogs"](node, Params([query]))


@pytest.fixture
def served() -> Callable[[], AbstractAsyncContextManager[Served]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Served]:
        world = open_world(7, "small")
        node = Node(world.ledger)

        def logs(node: Node, params: Params) -> Json:
            return state.logs(node, params)

        server = Server(node, methods={"eth_getLogs": logs})
        url = await server.start()
        try:
            async with RpcClient(DEVNET, [url]) as client:
                state = Served(world, node, client)
                yield state
        finally:
            await server.close()

    return opened
