"""The alert book's tables in `zuno.db`: opened, set aside when corrupt, read and written."""

import json
import sqlite3
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import to_builtins

from agents.monitor.alerts.alert import (
    Alert,
    AlertEvent,
    AlertMute,
    AlertSubject,
    EventKind,
    alert_document,
)
from agents.monitor.alerts.store_page import (
    AlertDocumentError,
    Failures,
    StorePage,
    View,
    WatchCursor,
    WatchPlace,
    drop_leftovers,
    read_alert,
    read_view,
)
from chain.base.home import hold_lock, set_aside, write_atomically
from chain.base.sqlite import is_damage, open_database, set_database_aside, transaction
from chain.base.store import read_as
from chain.protocols.reference import PositionRef, stored_position

ALERTS_VERSION = 2
_NUMBERED_POSITIONS = 1
"""The version in which a position was a number, and one of v3 a number below zero."""
MOST_EVENTS = 200_000
"""Older events are forgotten: months of a large service, years of a person."""

_SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS alert_book (
        version INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        next_id INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS alerts (
        id INTEGER PRIMARY KEY,
        subject TEXT NOT NULL UNIQUE,
        document TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS alert_events (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        document TEXT NOT NULL,
        at REAL NOT NULL
    )
    """,
    "CREATE TABLE IF NOT EXISTS alert_mutes (until REAL NOT NULL, pattern TEXT NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS alert_cursors (
        place TEXT PRIMARY KEY,
        document TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS alert_baselines (
        place TEXT NOT NULL,
        position TEXT NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (place, position)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS alert_failures (
        place TEXT PRIMARY KEY,
        polls INTEGER NOT NULL,
        since REAL NOT NULL
    ) WITHOUT ROWID
    """,
)


class NewerStoreError(Exception):
    """The alerts were written by a zuno that knows more than this one."""


def connect(path: Path) -> sqlite3.Connection:
    """Open or create the tables; every commit is on disk before it returns."""
    # The desk writes from worker threads; the book's own lock keeps them one at a time.
    connection = open_database(path, any_thread=True)
    try:
        with transaction(connection):
            for statement in _SCHEMA:
                connection.execute(statement)
            row = connection.execute("SELECT version FROM alert_book").fetchone()
            if row is None:
                connection.execute("INSERT INTO alert_book VALUES (?, 0, 1)", (ALERTS_VERSION,))
            elif row[0] == _NUMBERED_POSITIONS:
                _name_positions(connection)
            elif row[0] != ALERTS_VERSION:
                age = "a newer" if row[0] > ALERTS_VERSION else "an older"
                raise NewerStoreError(f"The alerts were written by {age} zuno.")
    except BaseException:
        connection.close()
        raise
    return connection


def _name_positions(connection: sqlite3.Connection) -> None:
    """Put positions' names where numbers stood."""
    connection.execute(
        "UPDATE alert_baselines SET position = '3:' || substr(position, 2) WHERE position LIKE '-%'"
    )
    connection.execute(
        "UPDATE alerts SET subject = replace(subject, '/-', '/3:') WHERE subject GLOB '*/0x*/-*/*'"
    )
    connection.execute("UPDATE alert_book SET version = ?", (ALERTS_VERSION,))


def read_revision(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT revision FROM alert_book").fetchone()[0])


def read_page(connection: sqlite3.Connection) -> StorePage:
    next_id = int(connection.execute("SELECT next_id FROM alert_book").fetchone()[0])
    rows = connection.execute("SELECT document FROM alerts ORDER BY id")
    patterns = connection.execute("SELECT until, pattern FROM alert_mutes")
    try:
        alerts = [read_alert(json.loads(document)) for (document,) in rows]
        mutes = [_mute(until, json.loads(pattern)) for until, pattern in patterns]
    except ValueError as error:
        raise sqlite3.DatabaseError(f"an alert does not read: {error}") from error
    return StorePage({alert.subject: alert for alert in alerts}, mutes, next_id)


class ReadEvents(NamedTuple):
    events: tuple[AlertEvent, ...]
    damaged: tuple[int, ...]
    """Numbers of those in between that do not read."""


def read_events(connection: sqlite3.Connection, after: int, limit: int) -> ReadEvents:
    """The next so many that read; there are none left when fewer come."""
    events: list[AlertEvent] = []
    damaged: list[int] = []
    while len(events) < limit:
        rows = connection.execute(
            "SELECT number, kind, document, at FROM alert_events WHERE number > ?"
            " ORDER BY number LIMIT ?",
            (after, limit - len(events)),
        ).fetchall()
        if not rows:
            break
        for number, kind, document, at in rows:
            after = number
            try:
                alert = read_alert(json.loads(document))
                events.append(AlertEvent(number, EventKind(kind), alert, float(at)))
            except (ValueError, TypeError, OverflowError):
                damaged.append(number)
    return ReadEvents(tuple(events), tuple(damaged))


def holds_event(connection: sqlite3.Connection, number: int) -> bool:
    row = connection.execute("SELECT 1 FROM alert_events WHERE number = ?", (number,)).fetchone()
    return row is not None


def read_cursor(connection: sqlite3.Connection, place: WatchPlace) -> WatchCursor | None:
    row = connection.execute(
        "SELECT document FROM alert_cursors WHERE place = ?", (_place(place),)
    ).fetchone()
    return None if row is None else read_as(WatchCursor, _read_json(row[0]))


def read_baselines(connection: sqlite3.Connection, place: WatchPlace) -> dict[PositionRef, str]:
    rows = connection.execute(
        "SELECT position, document FROM alert_baselines WHERE place = ?", (_place(place),)
    )
    return {stored_position(position): document for position, document in rows}


def read_failures(connection: sqlite3.Connection, place: WatchPlace) -> Failures | None:
    row = connection.execute(
        "SELECT polls, since FROM alert_failures WHERE place = ?", (_place(place),)
    ).fetchone()
    return None if row is None else Failures(int(row[0]), float(row[1]))


def write_page(
    connection: sqlite3.Connection, page: StorePage, now: float
) -> tuple[AlertEvent, ...]:
    """What a page changed, inside the caller's transaction; the events with their numbers."""
    write_alerts(connection, page.touched.values())
    events = []
    for kind, alert in page.events:
        cursor = connection.execute(
            "INSERT INTO alert_events (kind, document, at) VALUES (?, ?, ?)",
            (kind.value, _document(alert), now),
        )
        events.append(AlertEvent(int(cursor.lastrowid or 0), kind, alert, now))
    if events:
        oldest = events[-1].number - MOST_EVENTS
        connection.execute("DELETE FROM alert_events WHERE number <= ?", (oldest,))
    connection.execute("DELETE FROM alert_mutes WHERE until <= ?", (now,))
    connection.executemany(
        "INSERT INTO alert_mutes VALUES (?, ?)",
        [(mute.until, _pattern(mute)) for mute in page.new_mutes if mute.until > now],
    )
    for poll in page.polls:
        place = _place(poll.place)
        if poll.cursor is not None:
            connection.execute(
                "INSERT OR REPLACE INTO alert_cursors VALUES (?, ?)",
                (place, json.dumps(to_builtins(poll.cursor))),
            )
        if poll.failures is None:
            connection.execute("DELETE FROM alert_failures WHERE place = ?", (place,))
        else:
            connection.execute(
                "INSERT OR REPLACE INTO alert_failures VALUES (?, ?, ?)", (place, *poll.failures)
            )
        gone = [position for position, baseline in poll.baselines.items() if baseline is None]
        connection.executemany(
            "DELETE FROM alert_baselines WHERE place = ? AND position = ?",
            [(place, str(position)) for position in gone],
        )
        connection.executemany(
            "INSERT OR REPLACE INTO alert_baselines VALUES (?, ?, ?)",
            [
                (place, str(position), baseline)
                for position, baseline in poll.baselines.items()
                if baseline is not None
            ],
        )
    if page.touched or page.new_mutes:
        connection.execute("UPDATE alert_book SET revision = revision + 1")
    connection.execute("UPDATE alert_book SET next_id = max(next_id, ?)", (page.next_id,))
    return tuple(events)


def write_alerts(connection: sqlite3.Connection, alerts: Iterable[Alert]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO alerts VALUES (?, ?, ?)",
        [(alert.id, _subject(alert.subject), _document(alert)) for alert in alerts],
    )


def _read_json(text: str) -> object:
    """None for what is damaged: the place or position it was about is met anew."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _document(alert: Alert) -> str:
    return json.dumps(alert_document(alert), ensure_ascii=False)


def _subject(subject: AlertSubject) -> str:
    position = "" if subject.position_id is None else subject.position_id
    label = f"/{subject.label}" if subject.label else ""
    return f"{subject.chain_id}/{subject.wallet_address}/{position}/{subject.kind}{label}"


def _place(place: WatchPlace) -> str:
    return f"{place.chain_id}/{place.wallet_address}"


def _pattern(mute: AlertMute) -> str:
    kind = mute.kind
    position = None if mute.position_id is None else str(mute.position_id)
    return json.dumps([mute.chain_id, mute.wallet_address, position, kind])


def _mute(until: float, pattern: object) -> AlertMute:
    if not isinstance(pattern, list) or len(pattern) != 4:
        raise AlertDocumentError("A mute names four things.")
    chain_id, wallet, position, kind = pattern
    ref = None if position is None else stored_position(str(position))
    return AlertMute(until, chain_id, wallet, ref, None if kind is None else str(kind))


class OpenedStore(NamedTuple):
    connection: sqlite3.Connection
    notices: tuple[str, ...]
    """What was found damaged, and where it went."""


def open_tables(database: Path, view: Path, known: Collection[Alert], *, now: float) -> OpenedStore:
    """The tables, with the alerts put back that are `known`, or told by the view, and lost."""
    notices: list[str] = []
    try:
        connection = connect(database)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        connection = _anew(database, notices, now)
    try:
        told = known or _alerts_in_view(view, notices, now)
        if told:
            _put_back(connection, told, notices)
    except BaseException:
        connection.close()
        raise
    return OpenedStore(connection, tuple(notices))


def abandon(database: Path, inode: int, *, now: float) -> str | None:
    """Set a damaged database aside, unless somebody already has; says where it is kept."""
    with hold_lock(database.parent):
        if not database.exists() or database.stat().st_ino != inode:
            return None
        return _set_aside(database, now)


def renew_view(
    connection: sqlite3.Connection, path: Path, view: View, page: StorePage, revision: int
) -> None:
    """Make the file tell what the tables tell, under their lock: never older after newer.

    The page is what they told at that revision; if somebody wrote since, they are read again.
    """
    with transaction(connection):
        if read_revision(connection) != revision:
            page = read_page(connection)
        drop_leftovers(path)
        content = view.render(page.alerts.values())
        # Whoever only opens the book to read it finds the file as it should be.
        if not path.exists() or path.read_bytes() != content:
            write_atomically(path, content)


def _anew(database: Path, notices: list[str], now: float) -> sqlite3.Connection:
    with hold_lock(database.parent):
        # Another process may have seen the same damage and mended it meanwhile.
        try:
            return connect(database)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            notices.append(_set_aside(database, now))
        return connect(database)


def _set_aside(database: Path, now: float) -> str:
    aside = set_database_aside(database, now=now)
    return f"zuno.db was damaged. It was kept as {aside.name} and a new one was started."


def _alerts_in_view(view: Path, notices: list[str], now: float) -> list[Alert]:
    try:
        return read_view(view) or []
    except AlertDocumentError:
        aside = set_aside(view, now=now)
        notices.append(f"alerts.json was damaged. It was kept as {aside.name} and written again.")
        return []


def _put_back(
    connection: sqlite3.Connection, alerts: Collection[Alert], notices: list[str]
) -> None:
    with transaction(connection):
        page = read_page(connection)
        if page.alerts or page.next_id > 1:
            return
        page.touched.update((alert.subject, alert) for alert in alerts)
        page.next_id = 1 + max(alert.id for alert in alerts)
        write_page(connection, page, 0.0)
    notices.append(f"{len(alerts)} alerts that zuno.db had lost were put back.")
