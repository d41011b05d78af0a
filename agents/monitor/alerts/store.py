"""The alert book: one durable truth for every process on a home, and what is shown of it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from agents.monitor.alerts import store_page
from agents.monitor.alerts import store_tables as tables
from agents.monitor.alerts.alert import Alert, AlertEvent, AlertMute
from agents.monitor.alerts.state import PriceAlert, read_price_alerts
from agents.monitor.alerts.store_tables import abandon, open_tables, renew_view
from chain.base.errors import ZunoError
from chain.base.home import Home
from chain.base.sqlite import is_damage, transaction
from chain.protocols.reference import PositionRef

EVENTS_AT_ONCE = 1_000


class UnknownAlertError(ZunoError, LookupError):
    """An alert number that the book does not have; a sentence and a next step."""

    def __init__(self, alert_id: int) -> None:
        super().__init__(f"There is no alert {alert_id}. See them all: zuno alerts --all")


class WatchState(NamedTuple):
    """Where the watch over one place stands."""

    cursor: store_page.WatchCursor | None
    """None before the first poll."""
    baselines: Mapping[PositionRef, str]
    """By position: what it is compared with, as a document."""
    failures: store_page.Failures | None = None
    """None when the last poll could see it."""

    def after(self, poll: store_page.Poll) -> WatchState:
        cursor = poll.cursor or self.cursor
        if not poll.baselines:
            return WatchState(cursor, self.baselines, poll.failures)
        baselines = {**self.baselines, **poll.baselines}
        kept = {number: baseline for number, baseline in baselines.items() if baseline is not None}
        return WatchState(cursor, kept, poll.failures)


class AlertStore:
    """Alerts in `zuno.db`, with `alerts.json` as their view; safe for several processes at once.

    Each writing is one transaction, and what a method returns as an event has been committed.
    While nothing can be written, writings wait in memory: `current` shows them, `trouble` says
    why they are not safe yet, `events_after` does not tell them, and the next writing or `retry`
    that gets through takes all of them along.
    """

    def __init__(self, database: Path, view: Path) -> None:
        self._database = database
        self._path = view
        self._view = store_page.View()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._lock = threading.RLock()
        self._truth = store_page.StorePage({}, [], 1)
        self._truth_revision = -1
        self._shown: store_page.StorePage | None = None
        self._waiting: list[store_page.Writing] = []
        self._sorted: tuple[Alert, ...] | None = None
        self._last_shown: tuple[Alert, ...] = ()
        self._last_revision = -1
        self._now = 0.0
        self._states: dict[store_page.WatchPlace, WatchState] = {}
        self._view_is_old = True
        self._damaged: set[int] = set()
        self.trouble: str | None = None
        """Why what is shown is not safe on disk; None when it is. Made for a banner."""
        self.notices: tuple[str, ...] = ()
        """Damage that was found and set aside since the book was opened."""

    @classmethod
    def open(cls, home: Home, *, now: float) -> AlertStore:
        """The book of a home; never fails: a home that cannot be used is told by `trouble`."""
        book = cls(home.database, home.alerts)
        book.retry(now)
        if book._connection is None:
            book._show_view()
        return book

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @property
    def revision(self) -> int:
        """Changes whenever an alert does, whoever changed it; cheap enough for every frame."""
        with self._at_once() as free:
            if free:
                self._refresh()
                self._last_revision = self._truth_revision + len(self._waiting)
            return self._last_revision

    def current(self) -> tuple[Alert, ...]:
        """All alerts, what stands first; the same tuple again until something changes."""
        with self._at_once() as free:
            if free:
                self._refresh()
                if self._sorted is None:
                    self._last_shown = store_page.in_order(
                        (self._shown or self._truth).alerts.values()
                    )
                    self._sorted = self._last_shown
            return self._last_shown

    def price_alerts(self, chain_id: int) -> tuple[PriceAlert, ...]:
        """The prices somebody wants to be told of; none while they cannot be read."""
        try:
            return tuple(
                alert for alert in read_price_alerts(self._database) if alert.chain_id == chain_id
            )
        except (OSError, sqlite3.Error):
            return ()

    def find(self, alert_id: int) -> Alert:
        for alert in self.current():
            if alert.id == alert_id:
                return alert
        raise UnknownAlertError(alert_id)

    def state(self, place: store_page.WatchPlace) -> WatchState:
        """The cursor and baselines of a place, as the last poll left them."""
        with self._lock:
            kept = self._states.get(place)
            if self._connection is None or self._waiting:
                return kept or WatchState(None, {})
            try:
                cursor = tables.read_cursor(self._connection, place)
                # Another process may have polled since: its cursor differs from the one kept.
                if kept is None or kept.cursor != cursor:
                    kept = WatchState(cursor, tables.read_baselines(self._connection, place))
                kept = kept._replace(failures=tables.read_failures(self._connection, place))
            except sqlite3.Error as error:
                self._note(error)
                return kept or WatchState(None, {})
            self._states[place] = kept
            return kept

    def apply(self, polls: Sequence[store_page.Poll], now: float) -> tuple[AlertEvent, ...]:
        """Write the polls' changes, cursors and baselines together; the events they caused."""
        with self._lock:
            before = [self.state(poll.place) for poll in polls]

            def write(page: store_page.StorePage) -> None:
                for poll in polls:
                    page.poll(poll, now)
                # Last, so that what is over by now is not told again.
                page.end_mutes(now)

            events = self._write(write, now)
            for poll, state in zip(polls, before, strict=True):
                self._states[poll.place] = state.after(poll)
            return events

    def ack(self, alert_id: int, now: float) -> Alert:
        """Note that a person knows; raises `UnknownAlertError`."""
        with self._lock:
            self.find(alert_id)
            self._write(lambda page: page.ack(alert_id, now), now)
            return self.find(alert_id)

    def ack_all(self, alert_ids: Collection[int], now: float) -> tuple[Alert, ...]:
        """Note that a person knows of all these, in one writing."""
        with self._lock:

            def write(page: store_page.StorePage) -> None:
                for alert_id in alert_ids:
                    page.ack(alert_id, now)

            self._write(write, now)
            return tuple(alert for alert in self.current() if alert.id in alert_ids)

    def mute(self, mute: AlertMute, now: float) -> tuple[Alert, ...]:
        """Silence all that match, now and later, until the mute ends; those it matches now."""
        with self._lock:
            self._write(lambda page: page.mute(mute, now), now)
            return tuple(alert for alert in self.current() if mute.matches(alert.subject))

    def events_after(self, number: int, limit: int = EVENTS_AT_ONCE) -> tuple[AlertEvent, ...]:
        """What happened to alerts after the event of this number, oldest first: 0 for all.

        An event that no longer reads is left out, and said in `notices`.
        """
        with self._lock:
            if self._connection is None:
                return ()
            try:
                found = tables.read_events(self._connection, number, limit)
            except sqlite3.Error as error:
                self._note(error)
                return ()
            self._note_damaged(found.damaged)
            return found.events

    def holds_event(self, number: int) -> bool:
        """Whether an event of this number was ever written here; so, too, while nobody can tell."""
        with self._lock:
            if self._connection is None:
                return True
            try:
                return tables.holds_event(self._connection, number)
            except sqlite3.Error as error:
                self._note(error)
                return True

    def retry(self, now: float) -> tuple[AlertEvent, ...]:
        """Write what waits and mend the view, where that is possible now."""
        with self._lock:
            self._now = now
            try:
                try:
                    return self._flush(now)
                except sqlite3.DatabaseError as error:
                    if not is_damage(error) or self._connection is None:
                        raise
                    self._connection.close()
                    self._connection = None
                    told = abandon(self._database, self._inode, now=now)
                    self.notices += () if told is None else (told,)
                    return self._flush(now)
            except (OSError, sqlite3.Error, tables.NewerStoreError) as error:
                self._note(error)
                self._show_waiting()
                return ()

    @contextmanager
    def _at_once(self) -> Iterator[bool]:
        """Whether the book is free: a screen does not wait for a disk, it shows what it knew."""
        free = self._lock.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                self._lock.release()

    def _write(self, writing: store_page.Writing, now: float) -> tuple[AlertEvent, ...]:
        self._waiting.append(writing)
        try:
            return self.retry(now)
        except Exception:
            # A writing that fails by itself must not hold up all that come after it.
            self._waiting.remove(writing)
            raise

    def _flush(self, now: float) -> tuple[AlertEvent, ...]:
        connection = self._connected(now)
        events: tuple[AlertEvent, ...] = ()
        if self._waiting:
            with transaction(connection):
                self._load(connection)
                page = _copy(self._truth)
                for writing in self._waiting:
                    writing(page)
                events = tables.write_page(connection, page, now)
                revision = tables.read_revision(connection)
            self._waiting.clear()
            self._view_is_old |= revision != self._truth_revision
            self._truth = store_page.StorePage(page.alerts, page.mutes, page.next_id)
            self._truth_revision, self._shown, self._sorted = revision, None, None
        if self._view_is_old:
            renew_view(connection, self._path, self._view, self._truth, self._truth_revision)
            self._view_is_old = False
        self.trouble = None
        return events

    def _connected(self, now: float) -> sqlite3.Connection:
        if self._connection is not None and not self._replaced():
            return self._connection
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        known = list(self._truth.alerts.values())
        opened = open_tables(self._database, self._path, known, now=now)
        self._connection = opened.connection
        self.notices += opened.notices
        self._inode = self._database.stat().st_ino
        self._truth_revision = -1
        self._view_is_old = True
        self._load(self._connection)
        return self._connection

    def _replaced(self) -> bool:
        """Whether the file was moved away since, as a process does that finds it damaged."""
        try:
            return self._database.stat().st_ino != self._inode
        except FileNotFoundError:
            return True

    def _refresh(self) -> None:
        if self._connection is None:
            return
        try:
            self._load(self._connected(self._now))
        except (OSError, sqlite3.Error, tables.NewerStoreError) as error:
            self._note(error)

    def _load(self, connection: sqlite3.Connection) -> None:
        revision = tables.read_revision(connection)
        if revision == self._truth_revision:
            return
        self._truth = tables.read_page(connection)
        self._truth_revision, self._sorted = revision, None
        if self._waiting:
            self._show_waiting()

    def _show_waiting(self) -> None:
        page = _copy(self._truth)
        for writing in self._waiting:
            writing(page)
        self._shown, self._sorted = page, None

    def _show_view(self) -> None:
        """Without the database the view still tells what was known."""
        try:
            alerts = store_page.read_view(self._path) or []
        except (OSError, store_page.AlertDocumentError):
            return
        number = 1 + max((alert.id for alert in alerts), default=0)
        self._truth = store_page.StorePage({alert.subject: alert for alert in alerts}, [], number)
        self._show_waiting()

    def _note_damaged(self, numbers: tuple[int, ...]) -> None:
        for number in numbers:
            if number not in self._damaged:
                self._damaged.add(number)
                self.notices += (
                    f"Event {number} in zuno.db is damaged and was left out"
                    f" ({len(self._damaged)} so far). See open alerts: zuno alerts",
                )

    def _note(self, error: Exception) -> None:
        self.trouble = (
            f"Alerts cannot be saved in {self._database.parent}: {error}. They are kept in memory"
            " until they can: free some disk space, or choose another home with --home DIR."
        )


def _copy(page: store_page.StorePage) -> store_page.StorePage:
    return store_page.StorePage(dict(page.alerts), list(page.mutes), page.next_id)
