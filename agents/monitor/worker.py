"""The worker: polls every wallet on every network, one after the other, and never itself twice."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agents.monitor.alert import AlertKind, EventKind, Finding, Severity, Subject
from agents.monitor.baseline import WALLET, Baselines
from agents.monitor.book_page import Cursor, Place, Poll
from agents.monitor.judging import follow_positions, judge, turn_blocks
from agents.monitor.life import Raised
from agents.monitor.watching import WatchReader
from chain.rpc.errors import RpcError
from chain.store import Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agents.monitor.alert import AlertEvent
    from agents.monitor.book import AlertBook
    from agents.monitor.thresholds import WatchSettings
    from chain.networks import Address
    from chain.overview import Sources

_LANDMARKS = 8
"""Earlier blocks that are remembered, to go on from one of them after a reorganisation."""


@dataclass(frozen=True, slots=True)
class PollReport:
    """What one poll of one wallet on one network saw and did."""

    network: str
    chain_id: int
    wallet_address: Address
    block: int | None
    """The head it read; None when it could not."""
    positions: int
    """With liquidity."""
    requests: int
    """HTTP requests to the chain."""
    events: tuple[AlertEvent, ...]
    """What became of alerts, already committed."""
    trouble: str | None
    """Why not all could be seen or saved, in a sentence; None when all is well."""
    seconds: float

    @property
    def opened(self) -> int:
        news = (EventKind.OPENED, EventKind.REOPENED)
        return sum(one.kind in news for one in self.events)

    @property
    def resolved(self) -> int:
        return sum(one.kind is EventKind.RESOLVED for one in self.events)


@dataclass(slots=True)
class Watch:
    """One wallet on one network, and what is remembered of it between polls."""

    sources: Sources
    wallet_address: Address
    reader: WatchReader = field(init=False)
    baselines: Baselines = field(default_factory=Baselines)
    failures: int = 0
    """Polls in a row that could not see the chain."""
    failing_since: float | None = None

    def __post_init__(self) -> None:
        self.reader = WatchReader(self.sources, self.wallet_address)

    def remember_in_memory(self) -> None:
        self.sources = replace(self.sources, store=Store.in_memory())
        self.reader = WatchReader(self.sources, self.wallet_address)

    @property
    def place(self) -> Place:
        return Place(self.sources.network.chain_id, self.wallet_address)


async def poll_once(
    watch: Watch, settings: WatchSettings, book: AlertBook, now: float
) -> PollReport:
    """Look at one wallet and write down what changed; a chain that cannot be read is reported.

    Nothing is told twice: alerts and the cursor up to which the chain was read are one commit.
    """
    client, started = watch.sources.client, time.monotonic()
    before = client.round_trips
    block, positions, trouble = None, 0, None
    try:
        try:
            poll, positions, trouble = await _poll(watch, settings, book, now)
        except (StoreError, sqlite3.Error):
            # A full or broken disk must not blind the watch: what it remembers there can be read
            # again, and the book says by itself that it cannot be written.
            watch.remember_in_memory()
            poll, positions, trouble = await _poll(watch, settings, book, now)
        block = None if poll.cursor is None else poll.cursor.block
    except RpcError as error:
        watch.failures += 1
        watch.failing_since = now if watch.failing_since is None else watch.failing_since
        trouble = str(error).splitlines()[0]
        poll = Poll(watch.place, _blindness(watch, settings, error, now))
    else:
        watch.failures, watch.failing_since = 0, None
    events = await asyncio.to_thread(book.apply, poll, now)
    return PollReport(
        network=watch.sources.network.name,
        chain_id=watch.place.chain_id,
        wallet_address=watch.wallet_address,
        block=block,
        positions=positions,
        requests=client.round_trips - before,
        events=events,
        trouble=book.trouble or trouble,
        seconds=time.monotonic() - started,
    )


class Watcher:
    """Polls all watches at an interval; the next round begins only when the last one is over."""

    def __init__(
        self,
        watches: Sequence[Watch],
        settings: WatchSettings,
        book: AlertBook,
        *,
        clock: Callable[[], float] = time.time,
        report: Callable[[PollReport], None] = lambda _: None,
    ) -> None:
        self._watches = tuple(watches)
        self._settings = settings
        self._book = book
        self._clock = clock
        self._report = report
        self._round = asyncio.Lock()

    async def poll_all(self) -> tuple[PollReport, ...]:
        """One round over every wallet and network; waits for a round that is under way."""
        reports: list[PollReport] = []
        async with self._round:
            for watch in self._watches:
                report = await poll_once(watch, self._settings, self._book, self._clock())
                self._report(report)
                reports.append(report)
        return tuple(reports)

    async def run(self, stop: asyncio.Event) -> None:
        """Rounds until `stop` is set, with the interval between one's end and the next's start."""
        while not stop.is_set():
            await self.poll_all()
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._settings.interval_seconds)


async def _poll(
    watch: Watch, settings: WatchSettings, book: AlertBook, now: float
) -> tuple[Poll, int, str | None]:
    network, place = watch.sources.network, watch.place
    state = book.state(place)
    alerts = book.current()
    cursor = state.cursor
    with_loss = {
        number
        for (name, number), one in settings.of_positions.items()
        if one.loss is not None and name in (None, network.name)
    }
    watched = state.baselines.keys() - {WALLET}
    reading = await watch.reader.read(cursor, watched, with_loss, now)
    followed = follow_positions(network, reading, state, settings, watch.baselines)
    head = reading.block
    times = {head.number: head.timestamp}
    blocks = turn_blocks(followed)
    if blocks and reading.ticks is not None:
        since = reading.ticks.since
        times = await watch.reader.times(
            blocks, ((since.number, since.timestamp), (head.number, head.timestamp))
        )
    judgment = judge(
        network,
        place,
        reading,
        followed=followed,
        times=times,
        baselines=state.baselines,
        alerts=alerts,
    )
    later = Cursor(head.number, head.hash, head.timestamp, _landmarks(cursor, head.number))
    poll = Poll(place, judgment.changes, later, judgment.baselines)
    return poll, len(followed), reading.trouble


def _landmarks(cursor: Cursor | None, head: int) -> tuple[tuple[int, str], ...]:
    if cursor is None:
        return ()
    known = ((cursor.block, cursor.block_hash), *cursor.earlier)
    return tuple(one for one in known if one[0] < head)[:_LANDMARKS]


def _blindness(
    watch: Watch, settings: WatchSettings, error: RpcError, now: float
) -> tuple[Raised, ...]:
    """ "I cannot see" is an alert too, once it has lasted."""
    if watch.failures < settings.blind_polls:
        return ()
    network = watch.sources.network
    since = now if watch.failing_since is None else watch.failing_since
    finding = Finding(
        AlertKind.BLIND,
        Severity.CRITICAL,
        f"{network.title} cannot be read for {(now - since) / 60:.0f} min: {error.sentence}"
        " Nobody is watching these positions meanwhile.",
        "the chain cannot be read",
        f"zuno --network {network.name} doctor",
        {"failedPolls": watch.failures},
    )
    subject = Subject(network.chain_id, watch.wallet_address, None, AlertKind.BLIND)
    return (Raised(subject, network.name, finding, None, since),)
