"""The monitor as a whole: wait for the turn to poll, look round after round, send what happens."""

import asyncio
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Literal, Protocol

from msgspec.structs import replace

from agents.monitor import heartbeat
from agents.monitor.alerts.alert import Alert
from agents.monitor.alerts.state import MonitorState, UnreadableError
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.channel import Channel
from agents.monitor.deliver.delivery import Delivery, unclickable
from agents.monitor.poll import PollReport
from chain.base.clean_text import Redactor, clean_text, quote_words
from chain.base.clock import loop_time
from chain.base.errors import error_kind
from chain.base.home import Home

MOST_NAMED = 8


class Unsaved:
    """What stands in the book's memory alone, each told once while the trouble lasts.

    Such alerts are no events yet; when the book can be written again they become some, and are
    told a second time with their numbers.
    """

    def __init__(self) -> None:
        self._told: frozenset[tuple[int, int]] = frozenset()
        self._troubled = False

    def news(self, book: AlertStore) -> str | None:
        """What to tell after a round, if anything."""
        standing = [alert for alert in book.current() if alert.active]
        fresh = [alert for alert in standing if _episode(alert) not in self._told]
        self._told = frozenset(map(_episode, standing))
        if book.trouble is None:
            self._troubled = False
            return None
        if self._troubled and not fresh:
            return None
        self._troubled = True
        lines = [book.trouble, *(f"{alert.severity.upper()}: {alert.message}" for alert in fresh)]
        more = len(lines) - 1 - MOST_NAMED
        if more > 0:
            lines[MOST_NAMED + 1 :] = [f"and {more} more: zuno alerts"]
        return "\n".join(map(unclickable, lines))


def _episode(alert: Alert) -> tuple[int, int]:
    return alert.id, alert.episode


TURN_SECONDS = 1.0
"""How often a waiting monitor tries to take over."""

ROUND_SECONDS = 900.0
"""The first round may read years of logs; one that takes longer is stuck and is begun anew."""

LAST_LOOK_SECONDS = 3.0
"""How long a round may still take when we are to end."""

SETTLE_SECONDS = 60.0

FAILED_ROUNDS = 3
"""Rounds in a row that failed as a whole after which every channel is told."""
_FAILED_ROUNDS_KEY = "failed-rounds"


class WatchlistSource(Protocol):
    """What is watched; asked before every round, so that changed settings count from then on."""

    @property
    def interval_seconds(self) -> float: ...

    def channels(self) -> tuple[Channel, ...]: ...

    async def look(self) -> tuple[PollReport, ...]:
        """Poll every wallet on every network once and write what is found into the book.

        What cannot be read is a report's trouble, not an exception.
        """

    async def new_block(self) -> None:
        """Until a block is announced; for ever where nobody announces any."""


async def run_monitor(
    home: Home,
    book: AlertStore,
    watchlist: WatchlistSource,
    *,
    tell: Callable[[heartbeat.Note], None],
    stop: asyncio.Event,
    clock: Callable[[], float] = time.time,
    once: bool = False,
) -> heartbeat.Beat | None:
    """Watch until `stop` is set; the last heartbeat, or None if it never was our turn.

    One process polls on a home. While another does, this waits, and takes over within a second
    of its end: a desk can run it beside a daemon and need not know which of them polls. It
    prints nothing: everything goes to `tell`, on the event loop it runs in. The book and the
    lookout stay the caller's to close. With `once` it looks once if nobody else polls, sends what
    waits, and ends.
    """
    monitor = _Monitor(home, book, watchlist, tell=tell, stop=stop, clock=clock)
    return await monitor.run(once=once)


class _Monitor:
    def __init__(
        self,
        home: Home,
        book: AlertStore,
        watchlist: WatchlistSource,
        *,
        tell: Callable[[heartbeat.Note], None],
        stop: asyncio.Event,
        clock: Callable[[], float],
    ) -> None:
        self._home = home
        self._book = book
        self._watchlist = watchlist
        self._tell = tell
        self._stop = stop
        self._clock = clock
        self._me = heartbeat.Holder.myself(now=clock())
        self._lock = heartbeat.PollingLock(home.monitor_lock, self._me)
        self._beat: heartbeat.Beat | None = None
        self._notices_told = len(book.notices)
        self._failed: str | None = None
        """Why the last round saw nothing at all."""

    async def run(self, *, once: bool) -> heartbeat.Beat | None:
        if not await self._turn(once=once):
            return None
        try:
            self._tell(heartbeat.TurnTaken())
            with closing(MonitorState(self._home.database)) as notebook:
                await self._polling(notebook, once=once)
        finally:
            self._lock.release()
        return self._beat

    async def _turn(self, *, once: bool) -> bool:
        told: heartbeat.Holder | None = None
        while not self._stop.is_set():
            try:
                if self._lock.take():
                    return True
            except OSError as error:
                self._tell(
                    heartbeat.Troubled(
                        f"{self._home.monitor_lock} cannot be written ({error.strerror}): "
                        "a second monitor on this home would not be noticed."
                    )
                )
                return True
            holder = heartbeat.current_holder(self._home.monitor_lock)
            if holder is not None and holder != told:
                told = holder
                self._tell(heartbeat.WaitingForTurn(holder))
            if once:
                return False
            await self._pause(TURN_SECONDS)
        return False

    async def _polling(self, notebook: MonitorState, *, once: bool) -> None:
        delivery = Delivery(self._book, notebook, self._clock, self._tell)
        unsaved = Unsaved()
        self._write_beat(notebook, (), None)
        try:
            while not self._stop.is_set():
                began = loop_time()
                await delivery.use(self._watchlist.channels())
                await self._round(notebook, began)
                if blind := self._blind_rounds(notebook):
                    delivery.warn(blind, about="rounds")
                if news := unsaved.news(self._book):
                    delivery.warn(news)
                delivery.wake()
                if once:
                    return await delivery.settle(most_seconds=SETTLE_SECONDS)
                await self._rest(loop_time() - began)
                delivery.check()
        except asyncio.CancelledError:
            # Whoever cancels us cannot wait; who can, sets `stop`.
            await delivery.close(patience=0)
            raise
        finally:
            await delivery.close()

    async def _round(self, notebook: MonitorState, began: float) -> None:
        looking = asyncio.create_task(self._look(), name="looking")
        stopping = asyncio.create_task(self._stop.wait(), name="stopping")
        try:
            await self._watch_over(looking, stopping, notebook)
        finally:
            stopping.cancel()
            # A poll writes all it found or nothing: the next monitor looks again from there.
            looking.cancel()
            await asyncio.gather(looking, stopping, return_exceptions=True)
        if looking.cancelled():
            return
        reports, trouble = looking.result()
        self._failed = trouble
        self._book.retry(self._clock())
        trouble = trouble or self._book.trouble
        beat = self._write_beat(notebook, tuple(map(heartbeat.sight_of, reports)), trouble)
        if beat.trouble is None:
            beat = replace(beat, trouble=notebook.trouble)
        self._tell(heartbeat.RoundEnded(beat, reports, loop_time() - began))
        for notice in self._book.notices[self._notices_told :]:
            self._tell(heartbeat.Troubled(notice))
        self._notices_told = len(self._book.notices)

    def _blind_rounds(self, notebook: MonitorState) -> str | None:
        """What to tell when round after round fails as a whole, so that no wallet has an alert."""
        now = self._clock()
        with suppress(UnreadableError):
            before = notebook.get(heartbeat.NAMESPACE, _FAILED_ROUNDS_KEY, now=now)
            failed = 0 if self._failed is None else 1 + (before if isinstance(before, int) else 0)
            if failed != (before or 0):
                notebook.put(heartbeat.NAMESPACE, _FAILED_ROUNDS_KEY, failed, now=now)
            if failed == FAILED_ROUNDS:
                return unclickable(f"{self._failed} Nobody is watching meanwhile.")
        return None

    async def _watch_over(
        self,
        looking: asyncio.Task[tuple[tuple[PollReport, ...], str | None]],
        stopping: asyncio.Task[Literal[True]],
        notebook: MonitorState,
    ) -> None:
        """Wait for a look to end, or for a moment more once we are to stop."""
        while not looking.done():
            await asyncio.wait(
                (looking, stopping),
                timeout=self._watchlist.interval_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if stopping.done():
                await asyncio.wait([looking], timeout=LAST_LOOK_SECONDS)
                return
            if not looking.done() and self._beat is not None:
                # A long look is no death.
                self._write_beat(notebook, self._beat.sights, self._beat.trouble)

    async def _look(self) -> tuple[tuple[PollReport, ...], str | None]:
        try:
            async with asyncio.timeout(ROUND_SECONDS):
                return await self._watchlist.look(), None
        except TimeoutError:
            return (), f"A round took longer than {ROUND_SECONDS:.0f} s and was started again."
        except Exception as error:
            # The watch outlives a mistake in it, and says so after every round.
            words = quote_words(Redactor().text(clean_text(str(error))))
            return (), f"A round failed with an unexpected error ({error_kind(error)}: {words})."

    def _write_beat(
        self, notebook: MonitorState, sights: tuple[heartbeat.Sight, ...], trouble: str | None
    ) -> heartbeat.Beat:
        self._beat = heartbeat.Beat(
            at=self._clock(),
            pid=self._me.pid,
            host=self._me.host,
            interval_seconds=self._watchlist.interval_seconds,
            sights=sights,
            trouble=trouble,
        )
        heartbeat.write_beat(notebook, self._beat)
        return self._beat

    async def _rest(self, looked_seconds: float) -> None:
        """Until the next round is due, or while all is well until a new block is announced."""
        left = self._watchlist.interval_seconds - looked_seconds
        # Announced blocks never make it look for more than half of the time.
        await self._pause(min(looked_seconds, left))
        left -= looked_seconds
        if left <= 0 or self._stop.is_set():
            return
        beat = self._beat
        if beat is None or beat.trouble or any(sight.trouble for sight in beat.sights):
            await self._pause(left)
            return
        waiting = [
            asyncio.create_task(self._stop.wait(), name="stopping"),
            asyncio.create_task(self._watchlist.new_block(), name="new block"),
        ]
        try:
            await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                await self._stop.wait()
