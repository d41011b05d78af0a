"""Many wallets and positions watched with few requests."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertKind, AlertState, EventKind
from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import PollReport, Watch, poll_once
from agents.monitor.reader import Reading, Sought
from agents.monitor.rules.thresholds import WatchSettings
from benchmarks.many_positions import many_positions
from chain.base.home import Home
from chain.base.store import Store
from chain.contracts.networks import Network, network_named
from chain.contracts.pool_key import PoolId
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import MEDIUM_PROVIDER
from chain.devnet.world.pools import POOLS, WETH_USDC_LOW
from chain.history.end_ticks import EndTicks, read_end_ticks
from chain.positions.overview import Sources
from chain.protocols import custody
from chain.protocols.reference import PositionRef, v4_position
from chain.rpc.client import RpcClient
from chain.rpc.records import Block
from chain.rpc.requests import Request
from tests.agents.monitor.made_up_alerts import NOW
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import Moves

EARLY, LATE = "0x" + "0e" * 20, "0x" + "1e" * 20


@asynccontextmanager
async def sources_of(devnet: DevnetReady) -> AsyncIterator[Sources]:
    network = network_named("devnet")
    with Store.in_memory() as store:
        async with RpcClient(network, [devnet.url]) as client:
            yield Sources(client, network, store, None, lambda: NOW)


def minted(changing: Moves, pool: WalkedPool, wallet: str) -> int:
    spacing = pool.key.tick_spacing
    near = pool.tick // spacing * spacing
    ticks = (near - 3 * spacing, near + 3 * spacing)
    [number] = changing.mint(MEDIUM_PROVIDER, pool.key, [ticks], 10**12, wallet)
    return number


async def test_a_wallet_whose_swaps_are_left_out_is_blind_alone(
    devnet: DevnetReady, home: Home, changing: Moves, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = WalkedPool(changing, WETH_USDC_LOW.key)
    minted(changing, pool, EARLY)
    number = minted(changing, pool, LATE)
    book = AlertStore.open(home, now=NOW)
    async with sources_of(devnet) as sources:
        watch = Watch(sources, [EARLY, LATE])
        await poll_once(watch, WatchSettings(), book, NOW)
        read = watch.reader.read

        async def left_out(
            sought: Sequence[Sought], with_loss: Callable[[PositionRef], bool], now: float
        ) -> tuple[Reading, ...]:
            first, *others = await read(sought, with_loss, now)
            assert first.ticks is not None
            return replace(first, ticks=EndTicks({}, first.ticks.since)), *others

        pool.push(60)
        monkeypatch.setattr(watch.reader, "read", left_out)
        reports = [
            await poll_once(watch, WatchSettings(blind_polls=2), book, NOW + 60 * minute)
            for minute in (1, 2)
        ]

    early, late = zip(*reports, strict=True)
    assert [one.block for one in early] == [None, None]
    assert [[each.alert.kind for each in one.events] for one in early] == [[], [AlertKind.BLIND]]
    assert [one.trouble for one in late] == [None, None]
    left, *_ = [one for one in late[0].events if one.alert.kind == AlertKind.OUT_OF_RANGE]
    assert (left.kind, left.alert.position_id) == (EventKind.OPENED, v4_position(number))
    assert {one.alert.wallet_address for one in late[0].events} == {LATE}


async def test_a_wallet_that_came_later_begins_there_also_after_a_reorganisation(
    devnet: DevnetReady, home: Home, changing: Moves
) -> None:
    pool = WalkedPool(changing, WETH_USDC_LOW.key)
    numbers = {minted(changing, pool, EARLY), minted(changing, pool, LATE)}
    book = AlertStore.open(home, now=NOW)
    async with sources_of(devnet) as sources:
        await poll_once(Watch(sources, [EARLY]), WatchSettings(), book, NOW)
        with changing.undone():
            pool.push(1)
            both = Watch(sources, [EARLY, LATE])
            await poll_once(both, WatchSettings(), book, NOW + 60)
            pool.push(1)
            same = await poll_once(both, WatchSettings(), book, NOW + 120)
        pool.push(60)
        pool.push(1)
        early, late = await poll_once(both, WatchSettings(), book, NOW + 180)

    assert {one.requests for one in same} == {2}
    assert (early.trouble, late.trouble) == (None, None)
    assert early.block == late.block
    out = {one.position_id for one in book.current() if one.kind == AlertKind.OUT_OF_RANGE}
    assert out == set(map(v4_position, numbers))


async def test_a_wallet_that_was_there_before_a_reorganisation_hears_of_what_came_and_went(
    devnet: DevnetReady, home: Home, changing: Moves
) -> None:
    pool = WalkedPool(changing, WETH_USDC_LOW.key)
    number = minted(changing, pool, EARLY)
    minted(changing, pool, LATE)
    book = AlertStore.open(home, now=NOW)
    async with sources_of(devnet) as sources:
        await poll_once(Watch(sources, [EARLY]), WatchSettings(), book, NOW)
        both = Watch(sources, [LATE, EARLY])
        with changing.undone():
            pool.push(1)
            await poll_once(both, WatchSettings(), book, NOW + 60)
        pool.push(60)
        pool.push(-60)
        await poll_once(both, WatchSettings(), book, NOW + 120)

    out = {one.position_id for one in book.current() if one.kind == AlertKind.OUT_OF_RANGE}
    assert out == {v4_position(number)}


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
    alerts: set[tuple[PositionRef | None, str, AlertState, str]]


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


async def test_only_pools_that_were_traded_in_are_asked_about(
    devnet: DevnetReady, changing: Moves, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[PoolId]] = []

    async def noted(
        client: RpcClient,
        network: Network,
        pools: Collection[PoolId],
        landmarks: Sequence[tuple[int, str]],
        head: Block,
    ) -> EndTicks | None:
        asked.append(set(pools))
        return await read_end_ticks(client, network, pools, landmarks, head)

    monkeypatch.setattr("agents.monitor.reader.read_end_ticks", noted)
    network = network_named("devnet")
    book = AlertStore.open(home, now=NOW)
    with Store.in_memory() as store:
        async with RpcClient(network, [devnet.url]) as client:
            watch = Watch(Sources(client, network, store, None, lambda: NOW), [devnet.wallet])
            for later in range(3):
                changing.rpc("evm_mine")
                await poll_once(watch, WatchSettings(), book, NOW + 60 * later)
            assert all(WETH_USDC_LOW.key.pool_id not in pools for pools in asked)
            asked.clear()
            WalkedPool(changing, WETH_USDC_LOW.key).push(5)
            await poll_once(watch, WatchSettings(), book, NOW + 240)
    [pools] = asked
    # Where a hook sets the fee, a swap may have left no fee behind it.
    by_hooks = {pool.key.pool_id for pool in POOLS if pool.key.has_dynamic_fee}
    assert pools - by_hooks == {WETH_USDC_LOW.key.pool_id}
