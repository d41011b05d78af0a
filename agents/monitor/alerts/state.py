"""What the monitor keeps in `zuno.db` beside the alerts; in memory while it cannot."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from chain.base.store import Store, StoreError


class UnreadableError(Exception):
    """What is kept cannot be read now."""


class MonitorState:
    """Small values of a long life: written at once, or else with the next one that can be.

    The database may be full, read-only, or be moved away by whoever finds it damaged; none of
    these may end the watch, so `trouble` says why instead.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._store: Store | None = None
        self._inode: int | None = None
        self._values: dict[tuple[str, str], object] = {}
        self._unsaved: set[tuple[str, str]] = set()
        self.trouble: str | None = None

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def get(self, namespace: str, key: str, *, now: float) -> object | None:
        """What is kept; None when nothing is, `UnreadableError` when nobody can tell."""
        if (namespace, key) in self._values:
            return self._values[namespace, key]
        try:
            return self._opened(now).get(namespace, key)
        except (OSError, sqlite3.Error, StoreError) as error:
            self.trouble = str(error)
            raise UnreadableError(self.trouble) from error

    def put(self, namespace: str, key: str, value: object, *, now: float) -> None:
        self._values[namespace, key] = value
        self._unsaved.add((namespace, key))
        try:
            store = self._opened(now)
            for place in sorted(self._unsaved):
                store.put(*place, self._values[place], now=now)
                self._unsaved.discard(place)
            self.trouble = None
        except (OSError, sqlite3.Error, StoreError) as error:
            self.trouble = str(error)

    def _opened(self, now: float) -> Store:
        if self._store is not None and self._inode_now() == self._inode:
            return self._store
        self.close()
        self._store, _ = Store.open(self._database, now=now)
        self._inode = self._inode_now()
        # Another file than before holds none of it yet.
        self._unsaved |= self._values.keys()
        return self._store

    def _inode_now(self) -> int | None:
        try:
            return self._database.stat().st_ino
        except FileNotFoundError:
            return None
