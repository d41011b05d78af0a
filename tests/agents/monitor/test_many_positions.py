"""A service's wallet on a replayed node: few requests, and nothing fixed asked for twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.monitor.book import AlertBook
from agents.monitor.thresholds import WatchSettings
from agents.monitor.worker import Watch, poll_once
from benchmarks.many_positions import WALLET, many_positions
from chain.networks import network_named
from chain.overview import Sources
from chain.positions import custody
from chain.rpc.client import RpcClient
from chain.rpc.requests import Request
from chain.store import Store
from tests.agents.monitor.made_up_alerts import NOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from chain.home import Home

POSITIONS = 1_500


async def test_a_poll_takes_three_requests_for_fifteen_hundred_positions(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = network_named("devnet")
    book = AlertBook.open(home, now=NOW)
    asked: list[str] = []
    with_head = RpcClient.with_head

    async def noted(
        client: RpcClient, questions: Sequence[Request[object]], max_age: float | None = None
    ) -> object:
        asked.extend(str(one.params[0]) for one in questions if one.method == "eth_call")
        return await with_head(client, questions, max_age)

    with many_positions(POSITIONS) as node, Store.in_memory() as store:
        async with RpcClient(network, [node.url]) as client:
            watch = Watch(Sources(client, network, store, None, lambda: NOW), WALLET)
            first = await poll_once(watch, WatchSettings(), book, NOW)
            await client.ask(Request("bench_move", (), lambda _: None))
            monkeypatch.setattr(RpcClient, "with_head", noted)
            second = await poll_once(watch, WatchSettings(), book, NOW + 60)

    assert (first.trouble, second.trouble) == (None, None)
    assert first.positions == second.positions == POSITIONS
    assert second.requests <= 3
    assert any(custody.OWNER.hex() in one for one in asked)
    assert not any(custody.POOL_AND_INFO.hex() in one for one in asked)
    assert len(book.current()) > POSITIONS / 4
