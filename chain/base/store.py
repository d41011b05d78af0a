"""What zuno remembers between runs: a small key-value table in `zuno.db`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec import DecodeError, ValidationError, convert
from msgspec.json import Decoder

from chain.base.errors import ZunoError
from chain.base.sqlite import connect, is_damage, open_database, set_database_aside, transaction

T = TypeVar("T")
SCHEMA_VERSION = 1

TABLE = """
CREATE TABLE IF NOT EXISTS remembered (
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    written_at REAL NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID
"""

_WRITE = """
INSERT INTO remembered VALUES (?, ?, ?, ?) ON CONFLICT (namespace, key)
DO UPDATE SET value = excluded.value, written_at = excluded.written_at
"""


class StoreError(ZunoError):
    """The database cannot be read or written; the message says what to do."""


class Store:
    """Facts that never change and cursors that only advance, shared by every process on one home.

    Several processes may hold one open at once: each write is one transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, path: Path, *, now: float) -> tuple[Store, Path | None]:
        """Open or create the database; a corrupt one is set aside and its new name returned."""
        try:
            return cls(_connect(path)), None
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise StoreError(f"{path} cannot be opened: {error}. Choose --home DIR.") from error
            aside = set_database_aside(path, now=now)
            return cls(_connect(path)), aside

    @classmethod
    def in_memory(cls) -> Store:
        connection = connect(":memory:")
        connection.execute(TABLE)
        return cls(connection)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def get(self, namespace: str, key: str) -> object | None:
        row = self._connection.execute(
            "SELECT value FROM remembered WHERE namespace = ? AND key = ?", (namespace, key)
        ).fetchone()
        return None if row is None else _loaded(row[0])

    def read(self, kind: type[T], namespace: str, key: str) -> T | None:
        """A value of this type; None where there is none, or none that reads as one."""
        return read_as(kind, self.get(namespace, key))

    def get_many(self, namespace: str, keys: Iterable[str]) -> dict[str, object]:
        """The values of those keys that are remembered."""
        return {key: _loaded(text) for key, text in self._texts(namespace, keys)}

    def _texts(self, namespace: str, keys: Iterable[str]) -> sqlite3.Cursor:
        return self._connection.execute(
            "SELECT key, value FROM remembered WHERE namespace = ?"
            " AND key IN (SELECT value FROM json_each(?))",
            (namespace, json.dumps(list(keys))),
        )

    def read_many(self, kind: type[T], namespace: str, keys: Iterable[str]) -> dict[str, T]:
        """Those of the values that are remembered and of this type."""
        decoder, found = Decoder(kind), dict[str, T]()
        for key, text in self._texts(namespace, keys):
            with suppress(DecodeError):
                found[key] = decoder.decode(text)
        return found

    def items(self, namespace: str) -> dict[str, object]:
        rows = self._connection.execute(
            "SELECT key, value FROM remembered WHERE namespace = ? ORDER BY key", (namespace,)
        )
        return {key: _loaded(value) for key, value in rows}

    def written_at(self, namespace: str, key: str) -> float | None:
        """When this key was last written, by the clock of whoever wrote it."""
        row = self._connection.execute(
            "SELECT written_at FROM remembered WHERE namespace = ? AND key = ?", (namespace, key)
        ).fetchone()
        return None if row is None else float(row[0])

    def put(self, namespace: str, key: str, value: object, *, now: float) -> None:
        self.put_many(namespace, {key: value}, now=now)

    def put_many(self, namespace: str, values: Mapping[str, object], *, now: float) -> None:
        """Write all of these or none."""
        if not values:
            return
        rows = [(namespace, key, json.dumps(value), now) for key, value in values.items()]
        try:
            with transaction(self._connection):
                self._connection.executemany(_WRITE, rows)
        except sqlite3.Error as error:
            raise StoreError(f"Nothing could be saved: {error}.") from error

    def change(
        self, namespace: str, key: str, made: Callable[[object | None], object], *, now: float
    ) -> None:
        """Write what is made of the value there, with no other writer in between.

        What `made` raises leaves the value as it was.
        """
        try:
            with transaction(self._connection):
                value = json.dumps(made(self.get(namespace, key)))
                self._connection.execute(_WRITE, (namespace, key, value, now))
        except sqlite3.Error as error:
            raise StoreError(f"Nothing could be saved: {error}.") from error

    def absorb(self, other: Store, *, now: float) -> None:
        """Remember everything that another store does, in place of what was remembered here."""
        rows = other._connection.execute("SELECT namespace, key, value FROM remembered").fetchall()
        by_namespace: dict[str, dict[str, object]] = {}
        for namespace, key, value in rows:
            by_namespace.setdefault(namespace, {})[key] = _loaded(value)
        for namespace, values in by_namespace.items():
            self.put_many(namespace, values, now=now)

    def forget(self, namespace: str) -> None:
        self._connection.execute("DELETE FROM remembered WHERE namespace = ?", (namespace,))

    def forget_before(self, namespace: str, moment: float) -> int:
        """Forget what was last written before a moment; how many keys that were."""
        try:
            return self._connection.execute(
                "DELETE FROM remembered WHERE namespace = ? AND written_at < ?", (namespace, moment)
            ).rowcount
        except sqlite3.Error as error:
            raise StoreError(f"Nothing could be forgotten: {error}.") from error

    def forget_key(self, namespace: str, key: str) -> bool:
        """Whether there was anything to forget."""
        gone = self._connection.execute(
            "DELETE FROM remembered WHERE namespace = ? AND key = ?", (namespace, key)
        )
        return gone.rowcount > 0


def _connect(path: Path) -> sqlite3.Connection:
    connection = open_database(path)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise StoreError(f"{path} was written by a newer zuno. Update zuno to read it.")
        connection.execute(TABLE)
        if version != SCHEMA_VERSION:
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def read_as(kind: type[T], value: object) -> T | None:
    """What was remembered as this type; None for what was written otherwise or changed since."""
    try:
        return convert(value, kind, str_keys=True)
    except ValidationError:
        return None


def _loaded(text: str) -> object:
    value: object = json.loads(text)
    return value
