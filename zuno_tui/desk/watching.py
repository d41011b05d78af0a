"""Alerts at the desk: the book everybody writes to, and the monitor when nobody else runs it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from agents.monitor.alert import EventKind
from agents.monitor.book import AlertBook
from agents.monitor.heartbeat import last_beat
from agents.monitor.life import Mute
from agents.monitor.notes import RoundEnded, Troubled, TurnTaken, WaitingForTurn
from agents.monitor.service import run_monitor
from zuno_tui.desk.alert_rows import alert_row
from zuno_tui.desk.events import AlertRaised, AlertsChanged, Said
from zuno_tui.desk.faults import fault_words
from zuno_tui.desk.views import AlertsView
from zuno_tui.phrases.phrase_error import PhraseError
from zuno_tui.settings import Flags
from zuno_tui.watch.lookout import Chosen, HomeLookout
from zuno_tui.words import age_text

if TYPE_CHECKING:
    from agents.monitor.alert import Alert
    from agents.monitor.notes import Note
    from zuno_tui.desk.bench import Bench
    from zuno_tui.desk.intents import Acknowledge
    from zuno_tui.desk.intents import Mute as AskedMute

_BETWEEN_LOOKS = 0.3
_BETWEEN_BEATS = 5.0
_EMBEDDED_INTERVAL = 5.0
"""Seconds: where a minute passes in one, the usual interval would be an hour."""
_LAST_MOMENTS = 1.5
_COARSE_SECONDS = 15.0
_RAISING = frozenset((EventKind.OPENED, EventKind.REOPENED, EventKind.RISEN))
_MOST_ROWS = 200


class Watching:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._book = AlertBook.open(bench.session.home, now=bench.clock())
        self._view = AlertsView()
        self._alerts: tuple[Alert, ...] = ()
        """What the rows were drawn from; the book gives the same again until something changes."""
        self._watched_by: Literal["desk", "daemon", "nobody"] = "nobody"
        self._last_seen: float | None = None
        self._trouble: str | None = None
        self._stop = asyncio.Event()
        self._events = _newest_event(self._book)

    async def run(self) -> None:
        """Until cancelled: watch beside or instead of a daemon, and tell what changes."""
        monitor = asyncio.create_task(self._monitor(), name="zuno monitor")
        try:
            for notice in self._book.notices:
                self._bench.tell(Said(notice, "warn"))
            while True:
                self._look()
                await asyncio.sleep(_BETWEEN_LOOKS)
        finally:
            self._stop.set()
            with suppress(TimeoutError, asyncio.CancelledError):
                await asyncio.wait_for(monitor, _LAST_MOMENTS)
            self._book.close()

    def acknowledge(self, asked: Acknowledge) -> None:
        alert = self._book.ack(_number(asked.alert_id), self._bench.clock())
        self._said(alert, "acknowledged", asked.twin)

    def mute(self, asked: AskedMute) -> None:
        now = self._bench.clock()
        alert = self._book.find(_number(asked.alert_id))
        self._book.mute(Mute.of(alert.subject, now + asked.seconds), now)
        self._said(alert, f"muted for {age_text(asked.seconds)}", asked.twin)

    def _said(self, alert: Alert, done: str, twin: str) -> None:
        self._look()
        trouble = self._book.trouble
        words = f"Alert {alert.id} is {done}."
        self._bench.tell(Said(words if trouble is None else f"{words} {trouble}", twin=twin))

    async def _monitor(self) -> None:
        try:
            await self._watch()
        except Exception as error:  # without a watch the rest of the desk goes on
            self._watched_by, self._trouble = "nobody", fault_words(error)

    async def _watch(self) -> None:
        bench, session = self._bench, self._bench.session
        flags = bench.opening.flags or _own_flags(bench)
        interval = _EMBEDDED_INTERVAL if session.network.clock == "head" else None
        chosen = Chosen(session.home, flags, bench.opening.environment, interval)
        lookout = HomeLookout(chosen, self._book, tell=self._hear, clock=bench.clock)
        try:
            await run_monitor(
                session.home,
                self._book,
                lookout,
                tell=self._hear,
                stop=self._stop,
                clock=bench.clock,
            )
        finally:
            await lookout.close()

    def _hear(self, note: Note) -> None:
        match note:
            case TurnTaken():
                self._watched_by = "desk"
            case WaitingForTurn():
                self._watched_by = "daemon"
            case RoundEnded(beat=beat):
                self._last_seen, self._trouble = beat.at, beat.trouble
            case Troubled(sentence=sentence):
                self._trouble = sentence

    def _look(self) -> None:
        """Told when an alert changed, whoever changed it, or when the watch itself did."""
        if self._watched_by == "daemon":
            self._see_daemon()
        view = self._drawn()
        changed = view.revision != self._view.revision
        if changed or _differs(self._view, view):
            self._view = view
            self._bench.tell(AlertsChanged(view))
        if changed:
            self._raise()

    def _raise(self) -> None:
        now, network = self._bench.clock(), self._bench.session.network
        for event in self._book.events_after(self._events):
            self._events = event.number
            told = self._is_ours(event.alert) and not event.alert.muted(now)
            if told and event.kind in _RAISING:
                self._bench.tell(AlertRaised(alert_row(event.alert, network)))

    def _drawn(self) -> AlertsView:
        revision, network = self._book.revision, self._bench.session.network
        rows = self._view.rows
        # While another thread writes, the book may tell the new revision and the old alerts.
        if (alerts := self._book.current()) is not self._alerts:
            self._alerts = alerts
            ours = [one for one in alerts if self._is_ours(one)]
            rows = tuple(alert_row(one, network) for one in ours[:_MOST_ROWS])
        return AlertsView(
            rows=rows,
            revision=revision,
            watched_by=self._watched_by,
            last_seen=self._last_seen,
            trouble=self._book.trouble or self._trouble,
        )

    def _see_daemon(self) -> None:
        now = self._bench.clock()
        if self._last_seen is None or now - self._last_seen >= _BETWEEN_BEATS:
            beat = last_beat(self._bench.sources.store)
            if beat is not None:
                self._last_seen, self._trouble = beat.at, beat.trouble

    def _is_ours(self, alert: Alert) -> bool:
        network = self._bench.session.network
        return alert.chain_id == network.chain_id and alert.wallet_address == self._bench.wallet


def _differs(before: AlertsView, after: AlertsView) -> bool:
    """That the watch was seen once more is only worth telling now and then."""
    if before.last_seen is None or after.last_seen is None:
        return before != after
    later = after.last_seen - before.last_seen
    return later >= _COARSE_SECONDS or replace(before, last_seen=after.last_seen) != after


def _own_flags(bench: Bench) -> Flags:
    """What this desk looks at is watched, where no flags of its own say what else is."""
    session = bench.session
    return Flags(session.network.name, ",".join(session.endpoints), bench.wallet)


def _number(alert_id: str) -> int:
    digits = alert_id.removeprefix("#")
    if not digits.isascii() or not digits.isdigit():
        raise PhraseError(f"{alert_id!r} is not an alert's number, like 3. See them: alerts", "")
    return int(digits)


def _newest_event(book: AlertBook) -> int:
    """What happened before the desk opened rings no bell."""
    number = 0
    while events := book.events_after(number):
        number = events[-1].number
    return number
