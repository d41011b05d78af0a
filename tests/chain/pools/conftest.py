"""The small world behind an endpoint that may refuse logs."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from chain.contracts.networks import network_named
from chain.devnet.world.worlds import World
from chain.rpc.client import RpcClient
from tests.chain_view import ChainView, fresh_chain, small_world
from tests.fakes.proxy import Proxy

DEVNET = network_named("devnet")


@dataclass
class Served:
    world: World
    chain: ChainView
    client: RpcClient
    widest: int | None = None
    """The widest range of blocks the node gives logs of."""
    broken_from: int | None = None
    """From this block on it fails to give any."""
    spans: list[tuple[int, int]] = field(default_factory=list)
    """The ranges it gave logs of."""

    def answer(self, call: dict[str, Any]) -> dict[str, Any] | None:
        if call["method"] != "eth_getLogs":
            return None
        query = call["params"][0]
        first, last = (int(query[name], 16) for name in ("fromBlock", "toBlock"))
        if self.widest is not None and last - first + 1 > self.widest:
            return _failed(f"block range is too wide, limited to {self.widest} blocks")
        if self.broken_from is not None and last >= self.broken_from:
            return _failed("the log index is being rebuilt")
        self.spans.append((first, last))
        return None


def _failed(words: str) -> dict[str, Any]:
    return {"error": {"code": -32000, "message": words}}


@pytest.fixture
def served() -> Callable[[], AbstractAsyncContextManager[Served]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Served]:
        chain = fresh_chain()
        with Proxy(chain.url) as proxy:
            async with RpcClient(DEVNET, [proxy.url]) as client:
                state = Served(small_world(), chain, client)
                proxy.answer = state.answer
                yield state

    return opened
