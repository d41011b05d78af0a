"""The small world behind an endpoint that may limit ranges of logs, on a node to reorganise."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

import pytest
from msgspec import Struct

from chain.contracts.networks import network_named
from chain.rpc.client import RpcClient
from tests.chain_view import ChainView, fresh_chain, own_small_world, small_world
from tests.fakes.proxy import Proxy

DEVNET = network_named("devnet")


class LiveWorld(Struct, frozen=True):
    chain: ChainView
    client: RpcClient
    log_ranges: list[int]
    """How many blocks each question for logs spanned, refused ones included."""

    @property
    def times(self) -> list[int]:
        """Of every block."""
        return [self.chain.header(n).timestamp for n in range(self.chain.head.number + 1)]


@pytest.fixture(scope="session")
def live_world() -> Callable[..., AbstractAsyncContextManager[LiveWorld]]:
    @asynccontextmanager
    async def opened(
        widest_range: int | None = None, *, own_node: bool = False
    ) -> AsyncIterator[LiveWorld]:
        asked: list[int] = []

        def answer(call: dict[str, Any]) -> dict[str, Any] | None:
            if call["method"] != "eth_getLogs":
                return None
            query = call["params"][0]
            span = int(query["toBlock"], 16) - int(query["fromBlock"], 16) + 1
            asked.append(span)
            if widest_range is None or span <= widest_range:
                return None
            words = f"block range is too wide, limited to {widest_range} blocks"
            return {"error": {"code": -32000, "message": words}}

        lent = own_small_world() if own_node else nullcontext((small_world(), fresh_chain()))
        with lent as (_, chain), Proxy(chain.url, answer) as proxy:
            async with RpcClient(DEVNET, [proxy.url]) as client:
                yield LiveWorld(chain, client, asked)

    return opened
