"""What `zuno.db` keeps beside the alerts: the monitor's state, and prices a person asked for."""

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeAlias, cast

from msgspec import Struct, field

from chain.base.sqlite import open_database, transaction
from chain.base.store import Store, StoreError
from chain.contracts.networks import Address


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


PriceSide: TypeAlias = Literal["below", "above"]

_TABLE = """
    CREATE TABLE IF NOT EXISTS price_alerts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chain_id INTEGER NOT NULL,
        token TEXT NOT NULL,
        symbol TEXT NOT NULL,
        side TEXT NOT NULL,
        level TEXT NOT NULL,
        created_at REAL NOT NULL,
        UNIQUE (chain_id, token, side, level)
    )
"""
_COLUMNS = "id, chain_id, token, symbol, side, level, created_at"


class PriceAlert(Struct, frozen=True, rename="camel"):
    """One price of one token, to be told once for every time it is crossed."""

    id: int
    chain_id: int
    token: Address = field(name="address")
    symbol: str
    side: PriceSide
    level: str
    """US dollars, as digits."""
    created_at: float

    @property
    def words(self) -> str:
        return f"{self.symbol} {self.side} {self.level}"

    @property
    def dollars(self) -> Fraction:
        return Fraction(self.level)


class UnknownPriceAlertError(LookupError):
    """A number that no price alert has; a sentence and a next step."""

    def __init__(self, number: int) -> None:
        super().__init__(f"There is no price alert {number}. See them all: zuno alert")


def read_price_alerts(database: Path) -> tuple[PriceAlert, ...]:
    with closing(_opened(database)) as connection:
        return tuple(
            PriceAlert(number, chain_id, token, symbol, cast("PriceSide", side), level, created_at)
            for number, chain_id, token, symbol, side, level, created_at in connection.execute(
                f"SELECT {_COLUMNS} FROM price_alerts ORDER BY id"  # noqa: S608 - our own columns
            )
        )


def keep_price_alert(
    database: Path,
    *,
    chain_id: int,
    token: Address,
    symbol: str,
    side: PriceSide,
    level: str,
    now: float,
) -> PriceAlert:
    """The one that was kept; the same price of the same token is kept once."""
    with closing(_opened(database)) as connection, transaction(connection):
        connection.execute(
            "INSERT OR IGNORE INTO price_alerts (chain_id, token, symbol, side, level, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (chain_id, token, symbol, side, level, now),
        )
    alerts = read_price_alerts(database)
    wanted = (chain_id, token, side, level)
    return next(
        alert
        for alert in alerts
        if (alert.chain_id, alert.token, alert.side, alert.level) == wanted
    )


def drop_price_alert(database: Path, number: int) -> PriceAlert:
    found = next((alert for alert in read_price_alerts(database) if alert.id == number), None)
    if found is None:
        raise UnknownPriceAlertError(number)
    with closing(_opened(database)) as connection, transaction(connection):
        connection.execute("DELETE FROM price_alerts WHERE id = ?", (number,))
    return found


def _opened(database: Path) -> sqlite3.Connection:
    connection = open_database(database)
    connection.execute(_TABLE)
    return connection
