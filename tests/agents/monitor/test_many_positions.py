"""A service's wallets on a replayed node: few requests, and nothing fixed asked for twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import Watch, poll_once
from agents.monitor.rules.thresholds import WatchSettings
from benchmarks.many_positions import many_positions
from chain.base.home import Home
from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.positions.overview import Sources
from chain.protocols import custody
from chain.protocols.reference import PositionRef
from chain.rpc.client import RpcClient
from chain.rpc.requests import Request
from tests.agents.monitor.made_up_alerts import NOW

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from agents.monitor.alerts.alert import AlertKind, AlertState
    from agents.monitor.poll import PollReport

POSITIONS = 1_500
SPREAD = 240


async def test_a_poll_takes_three_requests_for_fifteen_hundred_positions(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = network_named("devnet")
    book = AlertStore.open(home, now=NOW)
    asked: list[str] = []
    with_head = RpcClient.with_head

    async def noted(
        client: RpcClient, questions: Sequence[Request[object]], max_age: float | None = None
    ) -> object:
        asked.extend(str(one.params[0]) for one in questions if one.method == "eth_call")
        return await with_head(client, questions, max_age)

    with many_positions(POSITIONS) as node, Store.in_memory() as store:
        async with RpcClient(network, [node.url]) as client:
            watch = Watch(Sources(client, network, store, None, lambda: NOW), node.wallets)
            [first] = await poll_once(watch, WatchSettings(), book, NOW)
            await client.ask(Request("bench_move", (), lambda _: None))
            monkeypatch.setattr(RpcClient, "with_head", noted)
            [second] = await poll_once(watch, WatchSettings(), book, NOW + 60)

    assert (first.trouble, second.trouble) == (None, None)
    assert first.positions == second.positions == POSITIONS
    assert second.requests <= 3
    assert any(custody.OWNER.hex() in one for one in asked)
    assert not any(custody.POOL_AND_INFO.hex() in one for one in asked)
    assert len(book.current()) > POSITIONS / 4


async def test_twenty_wallets_take_the_requests_of_one(tmp_path: Path) -> None:
    alone = await _polled(_home_in(tmp_path / "alone"), wallets=1)
    spread = await _polled(_home_in(tmp_path / "spread"), wallets=20)

    assert [len(one) for one in spread.rounds] == [20, 20, 20]
    for together, single in zip(spread.rounds, alone.rounds, strict=True):
        assert {one.trouble for one in (*together, *single)} == {None}
        assert {one.requests for one in together} == {one.requests for one in single}
        assert {one.block for one in together} == {one.block for one in single}
        assert [one.positions for one in together] == [SPREAD // 20] * 20
    assert {one.requests for one in spread.rounds[-1]} == {2}
    assert spread.alerts == alone.alerts
    assert len(spread.alerts) > 20


class _Polled(NamedTuple):
    rounds: list[tuple[PollReport, ...]]
    alerts: set[tuple[PositionRef | None, AlertKind, AlertState, str]]


def _home_in(folder: Path) -> Home:
    folder.mkdir()
    return Home(folder, folder)


async def _polled(home: Home, *, wallets: int) -> _Polled:
    network = network_named("devnet")
    book = AlertStore.open(home, now=NOW)
    rounds = []
    with many_positions(SPREAD, wallets=wallets) as node, Store.in_memory() as store:
        async with RpcClient(network, [node.url]) as client:
            watch = Watch(Sources(client, network, store, None, lambda: NOW), node.wallets)
            for number in range(3):
                rounds.append(await poll_once(watch, WatchSettings(), book, NOW + 60 * number))
                await client.ask(Request("bench_move", (), lambda _: None))
    told = {(one.position_id, one.kind, one.state, one.message) for one in book.current()}
    return _Polled(rounds, told)
