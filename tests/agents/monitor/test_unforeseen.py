"""A mistake nobody foresaw blinds one wallet on one network, and is told like any blindness."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from agents.monitor import poll as worker
from agents.monitor.alerts.alert import AlertKind, AlertState, Finding, Severity
from agents.monitor.alerts.store import AlertStore
from agents.monitor.alerts.store_page import Poll
from agents.monitor.judge import judge
from agents.monitor.poll import Watch, Watcher, poll_once
from agents.monitor.reader import Reading, Sought, WatchReader
from agents.monitor.rules.features import (
    Attached,
    FeatureAlert,
    Found,
    NothingAttached,
    WatchedFeatures,
)
from agents.monitor.rules.thresholds import WatchSettings
from chain.base.home import Home
from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from chain.rpc.requests import RequestLimits
from tests.agents.monitor.made_up_alerts import NOW

OTHER = "0x" + "77" * 20
NOBODY_LISTENS = "http://127.0.0.1:9"


class PoisonError(Exception):
    """What no code expects; its words hold a secret."""

    def __init__(self) -> None:
        super().__init__("at https://rpc.example/v2/CANARY")


def poisoned(reader: WatchReader, wallet: str) -> None:
    """Make every read fail that this wallet is part of."""
    read = reader.read

    async def fails(sought: Sequence[Sought], *others: object) -> tuple[Reading, ...]:
        if wallet in {one.owner for one in sought}:
            raise PoisonError
        return await read(sought, *others)  # type: ignore[arg-type]

    reader.read = fails  # type: ignore[method-assign,assignment]


def blind_wallets(book: AlertStore) -> set[str]:
    return {
        one.wallet_address
        for one in book.current()
        if one.kind == AlertKind.BLIND and one.active and one.severity is Severity.CRITICAL
    }


@pytest.mark.parametrize("where", ["reading", "judging"])
async def test_one_wallet_is_blind_the_other_is_watched_and_it_is_an_alert(
    devnet: DevnetReady, home: Home, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    network, book = network_named("devnet"), AlertStore.open(home, now=NOW)
    with Store.in_memory() as store:
        async with RpcClient(network, [devnet.url]) as client:
            watch = Watch(
                Sources(client, network, store, None, lambda: NOW), [OTHER, devnet.wallet]
            )
            if where == "reading":
                poisoned(watch.reader, OTHER)
            else:
                monkeypatch.setattr(worker, "judge", _fails_for(OTHER))
            polls = [
                await poll_once(watch, WatchSettings(), book, NOW + 60 * minute)
                for minute in range(3)
            ]

    for other, mine in polls:
        assert (other.block, mine.trouble) == (None, None)
        assert mine.block is not None
        assert "PoisonError" in str(other.trouble)
        assert "CANARY" not in str(other.trouble)
    assert [len(other.events) for other, _ in polls] == [0, 0, 1]
    assert blind_wallets(book) == {OTHER}
    assert "CANARY" not in "".join(one.message for one in book.current())


def _fails_for(wallet: str) -> object:
    def judging(network: object, place: object, *others: object, **named: object) -> object:
        if wallet in str(place):
            raise PoisonError
        return judge(network, place, *others, **named)  # type: ignore[arg-type]

    return judging


async def test_the_other_networks_are_looked_at_all_the_same(
    devnet: DevnetReady, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, book = network_named("devnet"), AlertStore.open(home, now=NOW)
    apply = AlertStore.apply

    def unwritable(self: AlertStore, polls: Sequence[Poll], now: float) -> object:
        if polls[0].place.wallet_address == OTHER:
            raise PoisonError
        return apply(self, polls, now)

    monkeypatch.setattr(AlertStore, "apply", unwritable)
    with Store.in_memory() as store:
        async with RpcClient(network, [devnet.url]) as client:
            sources = Sources(client, network, store, None, lambda: NOW)
            watches = [Watch(sources, [OTHER]), Watch(sources, [devnet.wallet])]
            watcher = Watcher(watches, WatchSettings(), book, clock=lambda: NOW)
            broken, whole = await watcher.poll_all()

    assert (broken.block, broken.wallet_address) == (None, OTHER)
    assert (broken.positions, broken.requests, broken.events) == (0, 0, ())
    assert "PoisonError" in str(broken.trouble)
    assert whole.block is not None


async def test_a_network_that_never_answers_does_not_keep_the_others_from_being_looked_at(
    devnet: DevnetReady, home: Home
) -> None:
    network, book = network_named("devnet"), AlertStore.open(home, now=NOW)
    seen: list[str] = []
    with Store.in_memory() as store:
        async with RpcClient(network, [devnet.url]) as client:
            sources = Sources(client, network, store, None, lambda: NOW)
            watches = [Watch(sources, [OTHER]), Watch(sources, [devnet.wallet])]

            async def for_ever(*_: object) -> tuple[Reading, ...]:
                await asyncio.Event().wait()
                return ()

            watches[0].reader.read = for_ever  # type: ignore[method-assign,assignment]
            watcher = Watcher(
                watches,
                WatchSettings(),
                book,
                clock=lambda: NOW,
                report=lambda report: seen.append(report.wallet_address),
            )
            for seconds in (60, 90):
                with suppress(TimeoutError):
                    await asyncio.wait_for(watcher.poll_all(), seconds)

    assert seen == [devnet.wallet]


async def test_looks_from_cron_count_together_until_blindness_is_told(
    devnet: DevnetReady, home: Home
) -> None:
    """Each look is a process of its own: what it counts is kept in the home."""
    network = network_named("devnet")
    quick = RequestLimits(connect_seconds=0.2, rounds=1, pause_seconds=0.0)

    async def look(url: str, minute: int) -> list[str]:
        book = AlertStore.open(home, now=NOW)
        with Store.in_memory() as store:
            async with RpcClient(network, [url], limits=quick) as client:
                sources = Sources(client, network, store, None, lambda: NOW)
                watch = Watch(sources, [devnet.wallet])
                [report] = await poll_once(watch, WatchSettings(), book, NOW + 60 * minute)
        book.close()
        return [one.alert.kind for one in report.events if one.alert.kind == AlertKind.BLIND]

    dead = [await look(NOBODY_LISTENS, minute) for minute in range(2)]
    await look(devnet.url, 2)
    dead += [await look(NOBODY_LISTENS, minute) for minute in range(3, 6)]
    book = AlertStore.open(home, now=NOW)
    [blind] = [one for one in book.current() if one.kind == AlertKind.BLIND]
    book.close()

    assert dead == [[], [], [], [], [AlertKind.BLIND]]
    assert blind.numbers["failedPolls"] == 3
    assert blind.since == NOW + 180
    await look(devnet.url, 6)
    book = AlertStore.open(home, now=NOW)
    assert [one.state for one in book.current() if one.kind == AlertKind.BLIND] == [
        AlertState.RESOLVED
    ]
    book.close()


async def test_volatility_and_gas_are_renewed_though_the_clock_was_set_back(
    devnet: DevnetReady, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, book = network_named("devnet"), AlertStore.open(home, now=NOW)
    with Store.in_memory() as store:
        async with RpcClient(network, [devnet.url]) as client:
            watch = Watch(Sources(client, network, store, None, lambda: NOW), [devnet.wallet])
            renewed: list[float] = []
            read = watch.reader._read_volatilities

            async def counted(pools: object, head: object, now: float) -> object:
                renewed.append(now)
                return await read(pools, head, now)  # type: ignore[arg-type]

            monkeypatch.setattr(watch.reader, "_read_volatilities", counted)
            for now in (NOW, NOW + 60, NOW - 86_400, NOW - 86_340):
                await poll_once(watch, WatchSettings(), book, now)

    assert renewed == [NOW, NOW - 86_400]


OF_VENUE = {"bare": FeatureAlert("it has its stop", Found.IN_TENDING)}
BARE = Finding(
    "bare", Severity.CRITICAL, "It was closed for want of a stop.", "no stop", "zuno doctor", {}
)


class VenueWithTrouble:
    """Tells of a trade without a stop, once; or breaks as nobody foresaw."""

    def __init__(self) -> None:
        self.tended, self.breaks = 0, False

    async def tend(self) -> dict[str, Finding]:
        self.tended += 1
        if self.breaks:
            raise PoisonError
        return {"plan_1": BARE} if self.tended == 1 else {}

    async def look(self) -> Attached:
        return NothingAttached()


async def test_trades_are_tended_and_told_of_though_the_chain_was_unread(
    devnet: DevnetReady, home: Home
) -> None:
    network, book = network_named("devnet"), AlertStore.open(home, now=NOW)
    venue = VenueWithTrouble()
    with Store.in_memory() as store:
        async with RpcClient(network, [devnet.url]) as client:
            sources = Sources(client, network, store, None, lambda: NOW)
            watch = Watch(sources, [devnet.wallet], WatchedFeatures(OF_VENUE, lambda: venue))
            read = watch.reader.read
            poisoned(watch.reader, devnet.wallet)
            await poll_once(watch, WatchSettings(), book, NOW)
            assert venue.tended == 1
            assert not book.current()
            watch.reader.read = read  # type: ignore[method-assign]
            await poll_once(watch, WatchSettings(), book, NOW + 60)
            told = [one.message for one in book.current() if one.active]
            venue.breaks = True
            [broken] = await poll_once(watch, WatchSettings(), book, NOW + 120)
    book.close()

    assert "It was closed for want of a stop." in told
    assert broken.block is not None, "the chain is looked at all the same"
    assert broken.trouble is not None
    assert "CANARY" not in broken.trouble
