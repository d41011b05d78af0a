"""Wallets that are polled together: each has its own alerts, troubles and beginning."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertKind, EventKind
from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import Watch, poll_once
from agents.monitor.rules.thresholds import WatchSettings
from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.devnet.world.accounts import MEDIUM_PROVIDER
from chain.devnet.world.pools import WETH_USDC_LOW
from chain.history.end_ticks import EndTicks
from chain.positions.overview import Sources
from chain.protocols.reference import PositionRef, v4_position
from chain.rpc.client import RpcClient
from tests.agents.monitor.made_up_alerts import NOW
from tests.agents.monitor.walked_market import WalkedPool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    import pytest

    from agents.monitor.reader import Reading, Sought
    from chain.base.home import Home
    from chain.devnet.launch import DevnetReady
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
    left, *_ = [one for one in late[0].events if one.alert.kind is AlertKind.OUT_OF_RANGE]
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
    out = {one.position_id for one in book.current() if one.kind is AlertKind.OUT_OF_RANGE}
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

    out = {one.position_id for one in book.current() if one.kind is AlertKind.OUT_OF_RANGE}
    assert out == {v4_position(number)}
