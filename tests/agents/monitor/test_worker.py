"""Polls of the embedded chain: few requests, blindness told, reorganisations, full disks, v3."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertKind, AlertState, EventKind
from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import Watch, Watcher, poll_once
from agents.monitor.reader import Sought
from agents.monitor.rules.baseline import WALLET
from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from chain.base.home import Home
from chain.base.store import Store, StoreError
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import ARBITRAGEUR, MEDIUM_PROVIDER, NEIGHBOUR
from chain.devnet.world.deployment import USDC, WETH
from chain.devnet.world.pools import WETH_USDC_LOW
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.overview import Sources, read_one
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, v3_position, v4_position
from chain.rpc.client import RpcClient
from chain.rpc.requests import RequestLimits
from tests.agents.monitor.conftest import Watchtower
from tests.agents.monitor.made_up_alerts import NOW
from tests.agents.monitor.test_several_wallets import sources_of
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import Moves
from tests.chain.v3_moves import V3Moves

NOBODY_LISTENS = "http://127.0.0.1:9"


async def test_the_demo_wallet_is_watched_with_two_requests_a_poll(
    watchtower: Watchtower, changing: Moves
) -> None:
    async with watchtower.running() as watchman:
        first = await watchman.poll()
        changing.rpc("evm_mine")
        second = await watchman.poll()

        assert first.trouble is None
        assert first.positions == second.positions > 5
        out = {one.position_id for one in watchman.book.current() if one.kind == "out_of_range"}
        assert len(out) == 2
        assert second.requests == 2
        assert (first.block or 0) + 1 == second.block


async def test_what_happened_while_it_was_away_is_told_by_the_next_one(
    watchtower: Watchtower, changing: Moves
) -> None:
    pool = WalkedPool(changing, WETH_USDC_LOW.key)
    spacing = pool.key.tick_spacing
    near = pool.tick // spacing * spacing
    [number] = changing.mint(
        MEDIUM_PROVIDER,
        pool.key,
        [(near - 3 * spacing, near + 3 * spacing)],
        10**12,
        watchtower.wallet,
    )
    async with watchtower.running() as watchman:
        await watchman.poll()
    pool.push(60)
    pool.push(-60)

    async with watchtower.running() as watchman:
        report = await watchman.poll()

    away = [one for one in report.events if one.alert.position_id == v4_position(number)]
    assert [one.kind for one in away if one.alert.kind == AlertKind.OUT_OF_RANGE] == [
        EventKind.OPENED,
        EventKind.RESOLVED,
    ]


async def test_a_chain_that_went_back_is_followed_from_an_earlier_block(
    watchtower: Watchtower, changing: Moves
) -> None:
    pool = WalkedPool(changing, WETH_USDC_LOW.key)
    spacing = pool.key.tick_spacing
    near = pool.tick // spacing * spacing
    [number] = changing.mint(
        MEDIUM_PROVIDER,
        pool.key,
        [(near - 3 * spacing, near + 3 * spacing)],
        10**12,
        watchtower.wallet,
    )
    async with watchtower.running() as watchman:
        await watchman.poll()
        with changing.undone():
            pool.push(60)
            await watchman.poll()
            assert _out_of_range(watchman.book, number) is AlertState.OPEN
        pool.push(1)
        pool.push(1)
        report = await watchman.poll()

        assert report.trouble is None
        assert _out_of_range(watchman.book, number) is AlertState.RESOLVED


async def test_not_seeing_for_several_polls_is_an_alert_until_it_sees_again(
    devnet: DevnetReady, home: Home
) -> None:
    network = network_named("devnet")
    book = AlertStore.open(home, now=NOW)
    quick = RequestLimits(rounds=1, pause_seconds=0.0)
    with Store.in_memory() as store:
        async with (
            RpcClient(network, [NOBODY_LISTENS], limits=quick) as dead,
            RpcClient(network, [devnet.url]) as alive,
        ):
            watch = Watch(Sources(dead, network, store, None, lambda: NOW), [devnet.wallet])
            kinds = []
            for minute in range(4):
                [report] = await poll_once(watch, WatchSettings(), book, NOW + 60 * minute)
                assert (report.block, report.positions) == (None, 0)
                assert report.trouble is not None
                kinds.append([one.alert.kind for one in report.events])
            assert kinds == [[], [], [AlertKind.BLIND], []]
            assert book.current()[0].next_command == "zuno --network devnet doctor"

            seeing = Watch(replace(watch.sources, client=alive), [devnet.wallet])
            [sees] = await poll_once(seeing, WatchSettings(), book, NOW + 300)

    assert sees.resolved_count == 1
    assert sees.opened_count == len(sees.events) - 1
    [blind] = [one for one in book.current() if one.kind == AlertKind.BLIND]
    assert blind.state is AlertState.RESOLVED


class FullStore(Store):
    """A memory on a disk that takes nothing more."""

    def put_many(self, namespace: str, values: Mapping[str, object], *, now: float) -> None:
        if values:
            raise StoreError("Nothing could be saved in zuno.db: database or disk is full.")


async def test_a_full_disk_does_not_blind_it(devnet: DevnetReady, home: Home) -> None:
    network = network_named("devnet")
    book = AlertStore.open(home, now=NOW)
    full = FullStore(Store.in_memory()._connection)
    async with RpcClient(network, [devnet.url]) as client:
        watch = Watch(Sources(client, network, full, None, lambda: NOW), [devnet.wallet])
        for minute in range(2):
            [report] = await poll_once(watch, WatchSettings(), book, NOW + 60 * minute)
            assert report.trouble is None
            assert report.positions > 5


async def test_two_rounds_never_overlap(devnet: DevnetReady, home: Home) -> None:
    network = network_named("devnet")
    book = AlertStore.open(home, now=NOW)
    under_way: list[str] = []
    most = 0
    with Store.in_memory() as store:
        async with RpcClient(network, [devnet.url]) as client:
            sources = Sources(client, network, store, None, lambda: NOW)
            watches = [Watch(sources, [devnet.wallet]), Watch(sources, ["0x" + "77" * 20])]
            for watch in watches:
                read = watch.reader.read

                async def counted(*given: object, read: object = read) -> object:
                    nonlocal most
                    under_way.append("a poll")
                    most = max(most, len(under_way))
                    try:
                        return await read(*given)  # type: ignore[operator]
                    finally:
                        under_way.pop()

                watch.reader.read = counted  # type: ignore[method-assign,assignment]
            watcher = Watcher(watches, WatchSettings(), book, clock=lambda: NOW)
            rounds = await asyncio.gather(*(watcher.poll_all() for _ in range(3)))

    assert most == 1
    assert [len(one) for one in rounds] == [2, 2, 2]


def _everywhere(level: Thresholds, *_: int) -> WatchSettings:
    return WatchSettings(level)


def _on_the_network(level: Thresholds, *_: int) -> WatchSettings:
    return WatchSettings(of_networks={"devnet": level})


def _on_the_positions(level: Thresholds, *refs: PositionRef) -> WatchSettings:
    return WatchSettings(of_positions={("devnet", ref): level for ref in refs})


@pytest.mark.parametrize("settings", [_everywhere, _on_the_network, _on_the_positions])
async def test_a_stop_loss_reads_what_went_in_and_is_told_at_its_level(
    watchtower: Watchtower, settings: Callable[..., WatchSettings]
) -> None:
    async with watchtower.running() as watchman:
        await watchman.poll()
        numbers = watchman.book.state(watchman.watch.places[0]).baselines.keys() - {WALLET}
        sought = [Sought(watchtower.wallet, None, ())]
        [reading] = await watchman.watch.reader.read(sought, numbers.__contains__, NOW)
        losses = reading.losses.shares
        worst = max(losses, key=lambda number: losses[number])
        least = min(losses, key=lambda number: losses[number])
        watchtower.settings = settings(Thresholds(loss=losses[worst] - 1e-9), worst, least)
        report = await watchman.poll()
        later = [await watchman.poll() for _ in range(2)]

    assert losses.keys() == numbers
    assert losses[worst] > 0 > losses[least]
    assert [(one.alert.kind, one.alert.position_id) for one in report.events] == [
        (AlertKind.LOSS_LEVEL, worst)
    ]
    assert [one.requests for one in later] == [2, 2]
    assert [one.events for one in later] == [(), ()]


def _out_of_range(book: AlertStore, number: int) -> AlertState | None:
    return next(
        (
            one.state
            for one in book.current()
            if one.position_id == v4_position(number) and one.kind == AlertKind.OUT_OF_RANGE
        ),
        None,
    )


PAIR = (WETH.address, USDC.address, 3000)
ELSEWHERE = "0x" + "e1" * 20


async def test_it_leaves_its_range_and_its_wallet(
    devnet: DevnetReady, home: Home, changing: Moves
) -> None:
    v3 = V3Moves(changing)
    for account in (MEDIUM_PROVIDER, ARBITRAGEUR):
        v3.approve(account, WETH.address, USDC.address)
    v3.create(MEDIUM_PROVIDER, *PAIR, sqrt_price_at_tick(-195_000))
    ticks = (-195_600, -194_400)
    token_id = v3.mint(MEDIUM_PROVIDER, PAIR, ticks, (10**18, 10**10), NEIGHBOUR.address)
    number = v3_position(token_id)
    book = AlertStore.open(home, now=NOW)
    settings = WatchSettings(everywhere=Thresholds(loss=0.01))
    async with sources_of(devnet) as sources:
        watch = Watch(sources, [NEIGHBOUR.address])

        async def kinds(minute: int) -> set[str]:
            [report] = await poll_once(watch, settings, book, NOW + 60 * minute)
            assert report.block is not None
            about = [one for one in book.current() if one.position_id == number and one.active]
            assert all(one.message.startswith(f"3:{token_id} ") for one in about)
            return {one.kind for one in about}

        assert not {AlertKind.OUT_OF_RANGE, AlertKind.LOSS_LEVEL} & await kinds(0)
        v3.swap(ARBITRAGEUR, (USDC.address, WETH.address), 3000, 10**11)
        assert await kinds(1) >= {AlertKind.OUT_OF_RANGE, AlertKind.LOSS_LEVEL}
        v3.give(NEIGHBOUR, ELSEWHERE, token_id)
        assert await kinds(2) == {AlertKind.OWNER_CHANGED}
    assert not [one for one in book.current() if one.position_id == v4_position(token_id)]


async def test_an_excursion_between_two_polls_is_told(
    devnet: DevnetReady, home: Home, changing: Moves
) -> None:
    v3 = V3Moves(changing)
    for account in (MEDIUM_PROVIDER, ARBITRAGEUR):
        v3.approve(account, WETH.address, USDC.address)
    v3.create(MEDIUM_PROVIDER, *PAIR, sqrt_price_at_tick(-195_000))
    wide = (-887_220, 887_220)
    v3.mint(MEDIUM_PROVIDER, PAIR, wide, (10**20, 10**12), MEDIUM_PROVIDER.address)
    ticks = (-195_060, -194_940)
    token_id = v3.mint(MEDIUM_PROVIDER, PAIR, ticks, (10**17, 10**9), NEIGHBOUR.address)
    book = AlertStore.open(home, now=NOW)
    async with sources_of(devnet) as sources:
        watch = Watch(sources, [NEIGHBOUR.address])
        await poll_once(watch, WatchSettings(), book, NOW)
        v3.swap(ARBITRAGEUR, (USDC.address, WETH.address), 3000, 2 * 10**9)
        v3.swap(ARBITRAGEUR, (WETH.address, USDC.address), 3000, 6 * 10**17)
        await poll_once(watch, WatchSettings(), book, NOW + 60)
        one = await read_one(sources, v3_position(token_id), WorthUnit.USD)
    assert one is not None
    assert one.snapshot.in_range
    about = [one for one in book.current() if one.position_id == v3_position(token_id)]
    assert AlertKind.OUT_OF_RANGE in {one.kind for one in about}
