"""What is sent to a venue, on disk before it is sent, so that a crash forgets none.

An order is written down as `intended` with all others of its plan, becomes `sending` before the
first byte leaves, and `acknowledged` once the venue has answered. What is found between on the
next start is asked for by its own name: the venue knows whether it has it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from chain.base.sqlite import open_versioned, transaction
from chain.exchange.orders.hedge import HedgeStart
from chain.exchange.orders.order import OrderProgress, VenueOrder, answer_fault
from chain.prices.market_http import MarketError

_VERSION = 2
"""Of the tables below; a change to them needs a migration."""
_TABLES = (
    """
CREATE TABLE IF NOT EXISTS begun (
    plan_id TEXT PRIMARY KEY,
    venue TEXT NOT NULL
)""",
    """
CREATE TABLE IF NOT EXISTS sent_order (
    client_id TEXT PRIMARY KEY,
    plan_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    venue TEXT NOT NULL,
    body BLOB NOT NULL,
    state TEXT NOT NULL,
    answer BLOB,
    changed_at REAL NOT NULL
)""",
    """
CREATE TABLE IF NOT EXISTS hedge (
    plan_id TEXT PRIMARY KEY,
    body BLOB NOT NULL
)""",
    """
CREATE TABLE IF NOT EXISTS key_end (
    venue TEXT PRIMARY KEY,
    ends_at REAL,
    looked_at REAL NOT NULL,
    chain_id INTEGER NOT NULL
)""",
    """
CREATE TABLE IF NOT EXISTS resting (
    host TEXT PRIMARY KEY,
    until REAL NOT NULL
)""",
    """
CREATE TABLE IF NOT EXISTS urgent (
    plan_id TEXT PRIMARY KEY,
    words TEXT NOT NULL
)""",
)


class JournalState(StrEnum):
    INTENDED = "intended"
    SENDING = "sending"
    """The venue may have it or not."""
    ACKNOWLEDGED = "acknowledged"
    ABANDONED = "abandoned"
    """The venue never had it, and it will not be sent any more."""


class JournalEntry(Struct, frozen=True):
    plan_id: str
    venue: str
    order: VenueOrder
    state: JournalState
    changed_at: float
    answer: OrderProgress | None = None


class KeyEnd(Struct, frozen=True):
    """Until when a venue takes what our key signs, and when that was asked."""

    venue: str
    ends_at: float | None
    """By the wall's clock; None where the venue sets no end."""
    looked_at: float
    chain_id: int
    """Of the network whose watch asked, which tells of it."""


class AlreadySentError(Exception):
    """The plan was applied already: applying it again sends nothing."""


class TradeJournal:
    """One file for every venue; each change is on disk when it returns."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        for table in _TABLES:
            connection.execute(table)
        if self._kept_approvals():
            connection.execute(
                "INSERT OR IGNORE INTO begun"
                " SELECT plan_id, venue FROM approval WHERE used_at IS NOT NULL"
            )

    @classmethod
    def open(cls, path: Path) -> TradeJournal:
        return cls(open_versioned(path, _VERSION))

    def __enter__(self) -> TradeJournal:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def was_approved_before(self, plan_id: str) -> bool:
        """Whether an earlier version approved it, which kept its approvals here."""
        row = "SELECT 1 FROM approval WHERE plan_id = ?"
        return self._kept_approvals() and self._has(row, plan_id)

    def has_begun(self, plan_id: str) -> bool:
        """Whether anything of it was sent, or written down to be."""
        return self._has("SELECT 1 FROM begun WHERE plan_id = ?", plan_id)

    def begin(
        self,
        plan_id: str,
        venue: str,
        orders: Sequence[VenueOrder],
        now: float,
        hedge: HedgeStart | None = None,
    ) -> None:
        """Write a plan's orders down with what they hedge, once: all or nothing."""
        with transaction(self._connection):
            if self.has_begun(plan_id):
                raise AlreadySentError(f"{plan_id} was applied already.")
            self._connection.execute("INSERT INTO begun VALUES (?, ?)", (plan_id, venue))
            self._connection.executemany(
                "INSERT INTO sent_order VALUES (?, ?, ?, ?, ?, ?, NULL, ?)",
                [
                    (
                        order.client_id,
                        plan_id,
                        place,
                        venue,
                        msgspec.json.encode(order),
                        JournalState.INTENDED,
                        now,
                    )
                    for place, order in enumerate(orders)
                ],
            )
            if hedge is not None:
                self._connection.execute(
                    "INSERT INTO hedge VALUES (?, ?)",
                    (plan_id, msgspec.json.encode(replace(hedge, time=now))),
                )

    def mark(
        self, client_id: str, state: JournalState, now: float, answer: OrderProgress | None = None
    ) -> None:
        """A MarketError where the answer cannot be of this order: then nothing is written down."""
        with transaction(self._connection):
            if answer is not None:
                self._refuse_untrue(client_id, answer)
            self._connection.execute(
                "UPDATE sent_order SET state = ?, answer = ?, changed_at = ? WHERE client_id = ?",
                (state, None if answer is None else msgspec.json.encode(answer), now, client_id),
            )

    def _refuse_untrue(self, client_id: str, answer: OrderProgress) -> None:
        row = self._connection.execute(
            "SELECT body FROM sent_order WHERE client_id = ?", (client_id,)
        ).fetchone()
        known = answer.order if row is None else msgspec.json.decode(row[0], type=VenueOrder)
        fault = answer_fault(known, answer)
        if row is None or fault:
            fault = fault or "is of an order that was never sent"
            raise MarketError(f"the venue's answer about {client_id} {fault}")

    def resize(self, order: VenueOrder) -> None:
        """What was written down and not yet sent becomes smaller, under the same name."""
        with transaction(self._connection):
            self._connection.execute(
                "UPDATE sent_order SET body = ? WHERE client_id = ? AND state = ?",
                (msgspec.json.encode(order), order.client_id, JournalState.INTENDED),
            )

    def add(
        self,
        entry: JournalEntry,
        order: VenueOrder,
        now: float,
        *,
        in_place_of: OrderProgress | None = None,
    ) -> None:
        """One more order of the same plan, not yet sent; what it stands in for has ended."""
        with transaction(self._connection):
            if in_place_of is not None:
                self._connection.execute(
                    "UPDATE sent_order SET state = ?, answer = ?, changed_at = ?"
                    " WHERE client_id = ?",
                    (
                        JournalState.ACKNOWLEDGED,
                        msgspec.json.encode(in_place_of),
                        now,
                        in_place_of.order.client_id,
                    ),
                )
            self._connection.execute(
                "INSERT INTO sent_order SELECT ?, plan_id, MAX(place) + 1, venue, ?, ?, NULL, ?"
                " FROM sent_order WHERE plan_id = ?",
                (
                    order.client_id,
                    msgspec.json.encode(order),
                    JournalState.INTENDED,
                    now,
                    entry.plan_id,
                ),
            )

    def entries(self, plan_id: str | None = None) -> tuple[JournalEntry, ...]:
        """In the order in which they are sent."""
        rows = self._connection.execute(
            "SELECT plan_id, venue, body, state, changed_at, answer FROM sent_order"
            " WHERE ? IS NULL OR plan_id = ? ORDER BY rowid",
            (plan_id, plan_id),
        )
        return tuple(
            JournalEntry(
                plan,
                venue,
                msgspec.json.decode(body, type=VenueOrder),
                JournalState(state),
                changed_at,
                None if answer is None else msgspec.json.decode(answer, type=OrderProgress),
            )
            for plan, venue, body, state, changed_at, answer in rows
        )

    def urge(self, plan_id: str, words: str) -> None:
        """Something that happened once, kept for whoever watches: it may be another process."""
        with transaction(self._connection):
            self._connection.execute(
                "INSERT OR REPLACE INTO urgent VALUES (?, ?)", (plan_id, words)
            )

    def take_urgent(self) -> dict[str, str]:
        """By plan; each is told once."""
        with transaction(self._connection):
            rows = self._connection.execute("SELECT plan_id, words FROM urgent").fetchall()
            self._connection.execute("DELETE FROM urgent")
        return dict(rows)

    def key_ends(self) -> dict[str, KeyEnd]:
        rows = self._connection.execute("SELECT venue, ends_at, looked_at, chain_id FROM key_end")
        return {row[0]: KeyEnd(*row) for row in rows}

    def keep_key_end(self, end: KeyEnd) -> None:
        with transaction(self._connection):
            self._connection.execute(
                "INSERT OR REPLACE INTO key_end VALUES (?, ?, ?, ?)",
                (end.venue, end.ends_at, end.looked_at, end.chain_id),
            )

    def forget_key_ends(self) -> None:
        """Somebody keeps another key: it is asked about anew."""
        with transaction(self._connection):
            self._connection.execute("DELETE FROM key_end")

    def rest_times(self) -> dict[str, float]:
        """By host, until when it wants no request: another process was told so."""
        return dict(self._connection.execute("SELECT host, until FROM resting").fetchall())

    def keep_resting(self, until: Mapping[str, float]) -> None:
        with transaction(self._connection):
            self._connection.execute("DELETE FROM resting")
            self._connection.executemany("INSERT INTO resting VALUES (?, ?)", until.items())

    def hedges(self, venue: str) -> dict[str, HedgeStart]:
        """By plan, the oldest first."""
        rows = self._connection.execute(
            "SELECT hedge.plan_id, hedge.body FROM hedge JOIN begun USING (plan_id)"
            " WHERE begun.venue = ? ORDER BY hedge.rowid",
            (venue,),
        )
        return {plan: msgspec.json.decode(body, type=HedgeStart) for plan, body in rows}

    def venues(self) -> tuple[str, ...]:
        """Where anything was ever hedged."""
        rows = self._connection.execute(
            "SELECT DISTINCT begun.venue FROM hedge JOIN begun USING (plan_id)"
        )
        return tuple(venue for (venue,) in rows)

    def has_hedges(self) -> bool:
        """Whether anything was ever hedged, on any venue."""
        return self._connection.execute("SELECT 1 FROM hedge LIMIT 1").fetchone() is not None

    def _kept_approvals(self) -> bool:
        return self._has("SELECT 1 FROM sqlite_master WHERE name = ?", "approval")

    def _has(self, row: str, key: str) -> bool:
        return self._connection.execute(row, (key,)).fetchone() is not None
