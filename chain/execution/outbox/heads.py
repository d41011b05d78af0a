"""The highest block that the journal has seen of each chain."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple


class Genesis(NamedTuple):
    """Which chain: chains that were begun apart may share a chain id."""

    chain_id: int
    hash: str


class Head(NamedTuple):
    number: int
    hash: str


def highest_head(journal: sqlite3.Connection, chain: Genesis) -> Head | None:
    row = journal.execute(
        "SELECT number, hash FROM outbox_heads WHERE chain_id = ? AND genesis = ?", chain
    ).fetchone()
    return None if row is None else Head(*row)


def raise_head(journal: sqlite3.Connection, chain: Genesis, head: Head, now: float) -> None:
    """Keep it if none as high was seen before; the same height again is a later sight of it."""
    journal.execute(
        "INSERT INTO outbox_heads VALUES (?, ?, ?, ?, ?) ON CONFLICT (chain_id, genesis)"
        " DO UPDATE SET number = excluded.number, hash = excluded.hash, seen_at = excluded.seen_at"
        " WHERE excluded.number >= outbox_heads.number",
        (*chain, *head, now),
    )


def begin_heads_again(journal: sqlite3.Connection, chain: Genesis, head: Head, now: float) -> None:
    """The chain has begun anew: what was seen of it before counts no more."""
    journal.execute("DELETE FROM outbox_heads WHERE chain_id = ? AND genesis = ?", chain)
    raise_head(journal, chain, head, now)
