"""Opening the book on disk: what is corrupt is set aside and said, and what is known put back."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agents.monitor.alerts import store_tables as tables
from agents.monitor.alerts.store_page import (
    AlertDocumentError,
    StorePage,
    View,
    drop_leftovers,
    read_view,
)
from chain.base.home import set_aside, write_atomically
from chain.base.locks import locked
from chain.base.sqlite import is_damage, set_database_aside, transaction

if TYPE_CHECKING:
    from agents.monitor.alerts.alert import Alert


class OpenedStore(NamedTuple):
    connection: sqlite3.Connection
    notices: tuple[str, ...]
    """What was found damaged, and where it went."""


def open_tables(database: Path, view: Path, known: Collection[Alert], *, now: float) -> OpenedStore:
    """The tables, with the alerts put back that are `known`, or told by the view, and lost."""
    notices: list[str] = []
    try:
        connection = tables.connect(database)
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
    with locked(database.parent):
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
        if tables.read_revision(connection) != revision:
            page = tables.read_page(connection)
        drop_leftovers(path)
        content = view.render(page.alerts.values())
        # Whoever only opens the book to read it finds the file as it should be.
        if not path.exists() or path.read_bytes() != content:
            write_atomically(path, content)


def _anew(database: Path, notices: list[str], now: float) -> sqlite3.Connection:
    with locked(database.parent):
        # Another process may have seen the same damage and mended it meanwhile.
        try:
            return tables.connect(database)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            notices.append(_set_aside(database, now))
        return tables.connect(database)


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
        page = tables.read_page(connection)
        if page.alerts or page.next_id > 1:
            return
        page.touched.update((one.subject, one) for one in alerts)
        page.next_id = 1 + max(one.id for one in alerts)
        tables.write_page(connection, page, 0.0)
    notices.append(f"{len(alerts)} alerts that zuno.db had lost were put back.")
