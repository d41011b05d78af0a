"""The worker: polls network after network, all wallets of one at once, and never itself twice."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from agents.monitor.alerts.alert import (
    Alert,
    AlertEvent,
    AlertKind,
    AlertSubject,
    Change,
    Cleared,
    EventKind,
    Finding,
    Raised,
    Severity,
)
from agents.monitor.alerts.store_page import Failures, Poll, WatchCursor, WatchPlace
from agents.monitor.judge import (
    FollowedPosition,
    depth_references,
    follow_positions,
    judge,
    turn_blocks,
)
from agents.monitor.reader import Reading, Sought, WatchReader, refuse_the_past
from agents.monitor.rules.baseline import WALLET
from agents.monitor.rules.features import Found, NothingAttached, WatchedFeatures
from agents.monitor.rules.risks import RULES
from agents.monitor.rules.thresholds import WatchSettings
from agents.monitor.rules.worth_risks import price_crossings
from chain.base.clean_text import Redactor, clean_text, quote_words
from chain.base.clock import loop_time
from chain.base.errors import error_kind
from chain.base.store import Store, StoreError
from chain.base.units import Unknown
from chain.contracts.networks import Address, Network
from chain.positions.overview import Sources
from chain.prices.ladder import read_prices
from chain.protocols.reference import PositionRef
from chain.rpc.errors import REORG_DEPTH, RpcError
from chain.rpc.records import Block

if TYPE_CHECKING:
    from agents.monitor.alerts.store import AlertStore, WatchState


def failed_again(before: Failures | None, now: float) -> Failures:
    """One failed poll more; a clock that was set back does not make the first lie ahead."""
    if before is None:
        return Failures(1, now)
    return Failures(before.polls + 1, min(before.since, now))


def blindness(network: Network, place: WatchPlace, failures: Failures, error: Exception) -> Raised:
    finding = Finding(
        AlertKind.BLIND,
        Severity.CRITICAL,
        f"{network.title} does not answer: {sentence_of(error)} These positions are not watched"
        " meanwhile.",
        "the chain cannot be read",
        f"zuno --network {network.name} doctor",
        {"failedPolls": failures.polls},
    )
    subject = AlertSubject(network.chain_id, place.wallet_address, None, AlertKind.BLIND)
    return Raised(subject, network.name, finding, None, failures.since)


def sentence_of(error: Exception) -> str:
    """What kept a wallet from being seen, without a secret, whether it was foreseen or not."""
    if isinstance(error, RpcError):
        return error.sentence
    words = quote_words(Redactor().text(clean_text(str(error))))
    return f"The check failed with an unexpected error ({error_kind(error)}: {words})."


class PollReport(Struct, frozen=True):
    """What one poll saw of one wallet on one network, and did."""

    network: str
    chain_id: int
    wallet_address: Address
    block: int | None
    """The head it read; None when it could not."""
    positions: int
    """With liquidity."""
    requests: int
    """HTTP requests to the chain, for all wallets of the network together."""
    events: tuple[AlertEvent, ...]
    """What became of alerts, already committed."""
    trouble: str | None
    """Why not all could be seen or saved, in a sentence; None when all is well."""
    seconds: float

    @property
    def opened_count(self) -> int:
        news = (EventKind.OPENED, EventKind.REOPENED)
        return sum(event.kind in news for event in self.events)

    @property
    def resolved_count(self) -> int:
        return sum(event.kind is EventKind.RESOLVED for event in self.events)


_NO_FEATURES = WatchedFeatures()


class Watch:
    """The wallets of one network, which are read together."""

    def __init__(
        self,
        sources: Sources,
        owners: Sequence[Address],
        features: WatchedFeatures = _NO_FEATURES,
        unknown_settings: Mapping[str, str] | None = None,
    ) -> None:
        """`unknown_settings` are sentences by the setting's name, where it tells of them."""
        self.unknown_settings = unknown_settings
        self.sources = sources
        self.features = features
        self.urgent: Mapping[str, Finding] | None = {}
        """By its label, what no alert tells yet; None where that cannot be read."""
        self.reader = WatchReader(sources)
        chain_id = sources.network.chain_id
        self.places = tuple(WatchPlace(chain_id, owner) for owner in owners)

    def remember_in_memory(self) -> None:
        self.sources = replace(self.sources, store=Store.in_memory())
        self.reader = WatchReader(self.sources)


class _Looked(NamedTuple):
    """What became of the look at one wallet."""

    poll: Poll
    positions: int = 0
    trouble: str | None = None


async def poll_once(
    watch: Watch, settings: WatchSettings, book: AlertStore, now: float
) -> tuple[PollReport, ...]:
    """Look at a network's wallets and write down what changed; a report for each of them.

    A chain that cannot be read is reported, and so is a mistake nobody foresaw. Nothing is told
    twice: alerts and the cursors up to which the chain was read are one commit.
    """
    client, started = watch.sources.client, loop_time()
    before = client.round_trips
    # Before the chain is read: what was approved and is missing does not wait for an endpoint.
    untended = await _tend(watch)
    looks = await _looks(watch, watch.places, settings, book, now)
    try:
        events = await asyncio.to_thread(book.apply, [look.poll for look in looks], now)
    except Exception as error:
        # What was seen cannot be written down: that is told instead of it.
        looks = [
            _blinded(watch, place, settings, book, error=error, now=now) for place in watch.places
        ]
        events = await asyncio.to_thread(book.apply, [look.poll for look in looks], now)
    if any(look.poll.cursor is not None for look in looks):
        watch.urgent = {}
    told = _by_place(events, looks)
    requests, seconds = client.round_trips - before, loop_time() - started
    return tuple(
        PollReport(
            network=watch.sources.network.name,
            chain_id=poll.place.chain_id,
            wallet_address=poll.place.wallet_address,
            block=None if poll.cursor is None else poll.cursor.block,
            positions=positions,
            requests=requests,
            events=tuple(told[poll.place]),
            trouble=book.trouble or trouble or untended,
            seconds=seconds,
        )
        for poll, positions, trouble in looks
    )


async def _tend(watch: Watch) -> str | None:
    """What is urgent waits until an alert is written; else what went wrong."""
    told: Mapping[str, Finding] | None = None
    try:
        attached = watch.features.attached()
        told = {} if attached is None else await attached.tend()
    except Exception as error:  # the chain is looked at all the same
        return sentence_of(error)
    finally:
        before = watch.urgent or {}
        watch.urgent = {**before, **(told or {})} if before or told is not None else None
    return None


class Watcher(Struct, eq=False):
    """Polls all watches; the next round begins only when the last one is over."""

    watches: Sequence[Watch]
    settings: WatchSettings
    book: AlertStore
    clock: Callable[[], float] = time.time
    report: Callable[[PollReport], None] = lambda _: None
    _round: asyncio.Lock = field(default_factory=asyncio.Lock)
    _begin_with: int = 0

    async def poll_all(self) -> tuple[PollReport, ...]:
        """One round over every wallet and network; waits for a round that is under way."""
        reports: list[PollReport] = []
        async with self._round:
            begin = self._begin_with
            for watch in (*self.watches[begin:], *self.watches[:begin]):
                # Should one take so long that the round is ended, the next goes on behind it.
                self._begin_with = (self.watches.index(watch) + 1) % len(self.watches)
                try:
                    polled = await poll_once(watch, self.settings, self.book, self.clock())
                except Exception as error:  # the other networks are looked at all the same
                    polled = _not_looked_at(watch, error)
                for report in polled:
                    self.report(report)
                reports += polled
            self._begin_with = 0
        return tuple(reports)


async def _looks(
    watch: Watch,
    places: Sequence[WatchPlace],
    settings: WatchSettings,
    book: AlertStore,
    now: float,
) -> list[_Looked]:
    """All wallets together; should that fail as nobody foresaw, each by itself."""
    try:
        try:
            return await _look(watch, places, settings, book, now)
        except (StoreError, sqlite3.Error):
            # A full or broken disk must not blind the watch: what it remembers there can be read
            # again, and the book says by itself that it cannot be written.
            watch.remember_in_memory()
            return await _look(watch, places, settings, book, now)
    except Exception as error:
        if len(places) == 1 or isinstance(error, RpcError):
            return [
                _blinded(watch, place, settings, book, error=error, now=now) for place in places
            ]
    looks: list[_Looked] = []
    for place in places:
        looks += await _looks(watch, [place], settings, book, now)
    return looks


async def _look(
    watch: Watch,
    places: Sequence[WatchPlace],
    settings: WatchSettings,
    book: AlertStore,
    now: float,
) -> list[_Looked]:
    network, reader = watch.sources.network, watch.reader
    states = [book.state(place) for place in places]
    sought = [
        Sought(
            place.wallet_address,
            state.cursor,
            state.baselines.keys() - {WALLET},
            depth_references(network, state, settings),
        )
        for place, state in zip(places, states, strict=True)
    ]

    def with_loss(position_id: PositionRef) -> bool:
        return settings.thresholds(network.name, position_id).loss is not None

    readings = await reader.read(sought, with_loss, now)
    followed = [
        _followed(network, reading, state, settings)
        for state, reading in zip(states, readings, strict=True)
    ]
    times = await _times(reader, readings, followed)
    alerts: dict[WatchPlace, list[Alert]] = defaultdict(list)
    for alert in book.current():
        alerts[WatchPlace(alert.chain_id, alert.wallet_address)].append(alert)
    crossings = await _crossings(watch, places[0], book, alerts, readings[0].block)
    source = watch.features.attached()
    attached = NothingAttached() if source is None else await source.look()
    looks: list[_Looked] = []
    for place, state, reading, situations in zip(places, states, readings, followed, strict=True):
        if isinstance(situations, RpcError):
            looks.append(_blinded(watch, place, settings, book, error=situations, now=now))
            continue
        judgment = judge(
            network,
            place,
            reading,
            followed=situations,
            times=times,
            baselines=state.baselines,
            alerts=alerts[place],
            attached=attached,
            of_features=watch.features.alerts,
        )
        head = reading.block
        earlier = _landmarks(state.cursor, head.number)
        later = WatchCursor(head.number, head.hash, head.timestamp, earlier)
        # A price is nobody's in particular: it is told once, with the network's first wallet.
        standing = alerts[place]
        besides = (
            *crossings,
            *_settings(watch, place, standing, head),
            *_news(watch, place, standing, head),
            *_urgent(watch, place, standing, head),
        )
        changes = (*judgment.changes, *(besides if place is watch.places[0] else ()))
        poll = Poll(place, changes, later, judgment.baselines)
        looks.append(_Looked(poll, len(situations), reading.trouble))
    return looks


def _news(
    watch: Watch, place: WatchPlace, alerts: Sequence[Alert], head: Block
) -> Iterator[Change]:
    """What features tell of a wallet, for as long as they tell it."""
    network, at = watch.sources.network, (head.number, float(head.timestamp))
    told = set()
    for item in watch.features.news():
        subject = AlertSubject(
            place.chain_id, place.wallet_address, item.position_id, item.finding.kind, item.label
        )
        told.add(subject)
        yield Raised(subject, network.name, item.finding, *at)
    for alert, resolved in _standing(watch, alerts, Found.AS_NEWS):
        if alert.subject not in told:
            yield Cleared(alert.subject, *at, resolved)


def _standing(watch: Watch, alerts: Sequence[Alert], found: Found) -> Iterator[tuple[Alert, str]]:
    """Alerts of features that stand and are raised in this way, each with what ends it."""
    for alert in alerts:
        feature = watch.features.alerts.get(alert.kind)
        if alert.active and feature is not None and feature.found is found:
            yield alert, feature.resolved


def _settings(
    watch: Watch, place: WatchPlace, alerts: Sequence[Alert], head: Block
) -> Iterator[Change]:
    """What became of settings that are not understood; a monitor's warnings nobody reads."""
    if watch.unknown_settings is None:
        return
    network, at = watch.sources.network, (head.number, float(head.timestamp))
    for name, sentence in watch.unknown_settings.items():
        finding = Finding(
            AlertKind.SETTING_UNKNOWN,
            Severity.WARNING,
            f"Nothing is approved or signed until a setting is fixed. {sentence}",
            f"the setting {name} is not understood",
            "zuno doctor",
            {},
        )
        yield Raised(_labelled(place, finding.kind, name), network.name, finding, *at)
    for alert in alerts:
        name = alert.subject.label
        stands = alert.kind == AlertKind.SETTING_UNKNOWN and alert.active
        if stands and name not in watch.unknown_settings:
            yield Cleared(alert.subject, *at, RULES[AlertKind.SETTING_UNKNOWN].resolved)


def _urgent(
    watch: Watch, place: WatchPlace, alerts: Sequence[Alert], head: Block
) -> Iterator[Change]:
    """What features found in tending; what cannot be read changes nothing."""
    urgent = watch.urgent
    if urgent is None:
        return
    network, at = watch.sources.network, (head.number, float(head.timestamp))
    for label, finding in urgent.items():
        yield Raised(_labelled(place, finding.kind, label), network.name, finding, *at)
    for alert, resolved in _standing(watch, alerts, Found.IN_TENDING):
        if alert.subject.label not in urgent:
            yield Cleared(alert.subject, *at, resolved)


def _labelled(place: WatchPlace, kind: str, name: str) -> AlertSubject:
    return AlertSubject(place.chain_id, place.wallet_address, None, kind, name)


async def _crossings(
    watch: Watch,
    place: WatchPlace,
    book: AlertStore,
    alerts: Mapping[WatchPlace, Sequence[Alert]],
    head: Block,
) -> tuple[Change, ...]:
    """What became of the prices somebody set; one that cannot be read now changes nothing."""
    network, client = watch.sources.network, watch.sources.client
    wanted = await asyncio.to_thread(book.price_alerts, network.chain_id)
    prices: dict[Address, Fraction | None] = {}
    if wanted:
        tokens = tuple(dict.fromkeys(price_alert.token for price_alert in wanted))
        book_of_prices = await read_prices(
            client, network, tokens, coingecko=watch.sources.coingecko
        )
        for token in tokens:
            price = book_of_prices.price(token)
            prices[token] = None if isinstance(price, Unknown) else price.value
    return tuple(
        price_crossings(network, place, wanted, prices, alerts=alerts.get(place, ()), block=head)
    )


def _followed(
    network: Network, reading: Reading, state: WatchState, settings: WatchSettings
) -> dict[PositionRef, FollowedPosition] | RpcError:
    """The error where what was read of this wallet cannot be believed: the others can be."""
    try:
        refuse_the_past(reading.block, state.cursor, live=network.clock == "wall")
        return follow_positions(network, reading, state, settings)
    except RpcError as error:
        return error


async def _times(
    reader: WatchReader,
    readings: Sequence[Reading],
    followed: Sequence[dict[PositionRef, FollowedPosition] | RpcError],
) -> dict[int, int]:
    """When the blocks were made in which a price left a range or came back."""
    head = readings[0].block
    blocks: set[int] = set()
    known = {head.number: head.timestamp}
    for reading, situations in zip(readings, followed, strict=True):
        if reading.ticks is not None and not isinstance(situations, RpcError):
            blocks |= turn_blocks(situations)
            known[reading.ticks.since.number] = reading.ticks.since.timestamp
    return await reader.times(blocks, sorted(known.items())) if blocks else known


def _by_place(
    events: Sequence[AlertEvent], looks: Sequence[_Looked]
) -> dict[WatchPlace, list[AlertEvent]]:
    told: dict[WatchPlace, list[AlertEvent]] = {look.poll.place: [] for look in looks}
    for event in events:
        place = WatchPlace(event.alert.chain_id, event.alert.wallet_address)
        # What waited for the disk may be about a network that was polled before this one.
        told[place if place in told else looks[0].poll.place].append(event)
    return told


def _landmarks(cursor: WatchCursor | None, head: int) -> tuple[tuple[int, str], ...]:
    if cursor is None:
        return ()
    known = ((cursor.block, cursor.block_hash), *cursor.earlier)
    return tuple(landmark for landmark in known if landmark[0] < head)[:REORG_DEPTH]


def _blinded(
    watch: Watch,
    place: WatchPlace,
    settings: WatchSettings,
    book: AlertStore,
    *,
    error: Exception,
    now: float,
) -> _Looked:
    failures = failed_again(book.state(place).failures, now)
    lasting = failures.polls >= settings.blind_polls
    blind = blindness(watch.sources.network, place, failures, error)
    poll = Poll(place, (blind,) if lasting else (), failures=failures)
    return _Looked(poll, trouble=sentence_of(error))


def _not_looked_at(watch: Watch, error: Exception) -> tuple[PollReport, ...]:
    network = watch.sources.network
    return tuple(
        PollReport(
            network=network.name,
            chain_id=network.chain_id,
            wallet_address=place.wallet_address,
            block=None,
            positions=0,
            requests=0,
            events=(),
            trouble=sentence_of(error),
            seconds=0.0,
        )
        for place in watch.places
    )
