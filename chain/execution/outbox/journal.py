"""The journal's tables: made durable, changed in transactions, read as records."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from chain.base.errors import Failure, ZunoError
from chain.base.sqlite import connect, transaction
from chain.base.store import TABLE
from chain.execution.outbox.records import (
    Anchor,
    Dispatch,
    DispatchChange,
    EndCode,
    Inclusion,
    PlanEnd,
    PlanStep,
    StepState,
    Version,
    VersionKind,
)
from chain.execution.transaction import SignedTransaction, UnsignedTransaction

JOURNAL_VERSION = 3

_SCHEMA = (
    TABLE,
    "CREATE TABLE IF NOT EXISTS outbox_version (version INTEGER NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS outbox_dispatches (
        hash TEXT PRIMARY KEY,
        plan_id TEXT NOT NULL,
        chain_id INTEGER NOT NULL,
        sender TEXT NOT NULL,
        anchor_number INTEGER NOT NULL,
        anchor_hash TEXT NOT NULL,
        private_host TEXT,
        planned_at REAL NOT NULL,
        resolved_at REAL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS outbox_steps (
        dispatch TEXT NOT NULL REFERENCES outbox_dispatches (hash),
        position INTEGER NOT NULL,
        nonce INTEGER NOT NULL,
        unsigned TEXT NOT NULL,
        safe_state TEXT NOT NULL,
        deadline INTEGER,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        settled INTEGER NOT NULL,
        included_hash TEXT,
        block_number INTEGER,
        block_hash TEXT,
        changed_at REAL NOT NULL,
        PRIMARY KEY (dispatch, position)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS outbox_versions (
        hash TEXT NOT NULL,
        dispatch TEXT NOT NULL,
        position INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        kind TEXT NOT NULL,
        unsigned TEXT NOT NULL,
        raw BLOB NOT NULL,
        signed_at REAL NOT NULL,
        sent_at REAL,
        PRIMARY KEY (dispatch, position, ordinal),
        UNIQUE (dispatch, position, hash),
        FOREIGN KEY (dispatch, position) REFERENCES outbox_steps (dispatch, position)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS outbox_approvals (
        hash TEXT PRIMARY KEY,
        dispatch TEXT NOT NULL REFERENCES outbox_dispatches (hash),
        approved_at REAL NOT NULL,
        expires_at REAL NOT NULL,
        consumed_at REAL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS outbox_history (
        id INTEGER PRIMARY KEY,
        dispatch TEXT NOT NULL,
        position INTEGER NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        at REAL NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS outbox_ends (
        dispatch TEXT PRIMARY KEY REFERENCES outbox_dispatches (hash),
        code TEXT NOT NULL,
        at REAL NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS outbox_heads (
        chain_id INTEGER NOT NULL,
        genesis TEXT NOT NULL,
        number INTEGER NOT NULL,
        hash TEXT NOT NULL,
        seen_at REAL NOT NULL,
        PRIMARY KEY (chain_id, genesis)
    ) WITHOUT ROWID
    """,
)


class OutboxError(ZunoError):
    """The journal refuses or cannot be used; a sentence and a next step."""

    failure = Failure.REFUSED

    def __init__(self, sentence: str, next_step: str = "") -> None:
        super().__init__(f"{sentence}\n{next_step}" if next_step else sentence)
        self.sentence = sentence
        self.next_step = next_step


def journal_in_memory() -> sqlite3.Connection:
    connection = connect(":memory:")
    prepare(connection)
    return connection


@contextmanager
def one_transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All of it or nothing, and nobody else in between."""
    try:
        with transaction(connection):
            yield connection
    except sqlite3.Error as error:
        raise OutboxError(
            f"The journal could not be written: {error}. Nothing was sent because of it.",
            "Free some disk space or close the other zuno, then: zuno outbox",
        ) from error


def read_dispatch(connection: sqlite3.Connection, dispatch_hash: str) -> Dispatch | None:
    row = connection.execute(
        "SELECT d.plan_id, d.chain_id, d.sender, d.anchor_number, d.anchor_hash,"
        " d.private_host, d.planned_at, a.expires_at, a.consumed_at, d.resolved_at, e.code, e.at"
        " FROM outbox_dispatches d"
        " LEFT JOIN outbox_approvals a ON a.hash = d.hash"
        " LEFT JOIN outbox_ends e ON e.dispatch = d.hash WHERE d.hash = ?",
        (dispatch_hash,),
    ).fetchone()
    if row is None:
        return None
    plan_id, chain_id, sender, number, block_hash, host, planned, expires, consumed, done = row[:10]
    code, ended_at = row[10:]
    return Dispatch(
        hash=dispatch_hash,
        plan_id=plan_id,
        chain_id=chain_id,
        sender=sender,
        anchor=Anchor(number, block_hash),
        private_host=host,
        planned_at=planned,
        expires_at=expires,
        consumed_at=consumed,
        resolved_at=done,
        ended=None if code is None else PlanEnd(EndCode(code), ended_at),
        steps=_read_steps(connection, dispatch_hash),
    )


def read_history(connection: sqlite3.Connection, dispatch_hash: str) -> tuple[DispatchChange, ...]:
    rows = connection.execute(
        "SELECT position, state, reason, at FROM outbox_history WHERE dispatch = ? ORDER BY id",
        (dispatch_hash,),
    )
    return tuple(
        DispatchChange(position, StepState(state), reason, at)
        for position, state, reason, at in rows
    )


def unsigned_to_text(transaction: UnsignedTransaction) -> str:
    return json.dumps(
        {
            "chainId": transaction.chain_id,
            "from": transaction.sender,
            "to": transaction.to,
            # Wei can be more than other readers of JSON hold in a number.
            "value": str(transaction.value),
            "data": transaction.data.hex(),
            "gas": transaction.gas,
            "maxFeePerGas": str(transaction.max_fee_per_gas),
            "maxPriorityFeePerGas": str(transaction.max_priority_fee_per_gas),
            "nonce": transaction.nonce,
            "step": transaction.step,
        }
    )


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables where they are missing; refuse those of another version."""
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    with transaction(connection):
        for statement in _SCHEMA:
            connection.execute(statement)
        row = connection.execute("SELECT version FROM outbox_version").fetchone()
        if row is None:
            connection.execute("INSERT INTO outbox_version VALUES (?)", (JOURNAL_VERSION,))
        elif row[0] != JOURNAL_VERSION:
            raise OutboxError(
                "The journal of sent transactions was written by another version of zuno.",
                "Update zuno to read it.",
            )


def _read_steps(connection: sqlite3.Connection, dispatch_hash: str) -> tuple[PlanStep, ...]:
    rows = connection.execute(
        "SELECT position, unsigned, safe_state, deadline, state, reason, settled, included_hash,"
        " block_number, block_hash, changed_at FROM outbox_steps WHERE dispatch = ?"
        " ORDER BY position",
        (dispatch_hash,),
    ).fetchall()
    included = _ever_included(connection, dispatch_hash)
    return tuple(
        PlanStep(
            dispatch=dispatch_hash,
            position=position,
            transaction=_unsigned_from_text(unsigned),
            safe_state=safe_state,
            deadline=deadline,
            state=StepState(state),
            reason=reason,
            settled=bool(settled),
            inclusion=None if in_block is None else Inclusion(in_block, number, block_hash),
            changed_at=changed_at,
            versions=_read_versions(connection, dispatch_hash, position),
            was_included=position in included,
        )
        for (
            position,
            unsigned,
            safe_state,
            deadline,
            state,
            reason,
            settled,
            in_block,
            number,
            block_hash,
            changed_at,
        ) in rows
    )


def _ever_included(connection: sqlite3.Connection, dispatch_hash: str) -> frozenset[int]:
    """The steps that a block held at some time, whether it still does or not."""
    rows = connection.execute(
        "SELECT DISTINCT position FROM outbox_history WHERE dispatch = ? AND state IN (?, ?, ?)",
        (dispatch_hash, StepState.INCLUDED, StepState.FINAL, StepState.REVERTED),
    )
    return frozenset(position for (position,) in rows)


def _read_versions(
    connection: sqlite3.Connection, dispatch_hash: str, position: int
) -> tuple[Version, ...]:
    rows = connection.execute(
        "SELECT kind, unsigned, raw, hash, signed_at, sent_at FROM outbox_versions"
        " WHERE dispatch = ? AND position = ? ORDER BY ordinal",
        (dispatch_hash, position),
    )
    return tuple(
        Version(
            kind=VersionKind(kind),
            transaction=SignedTransaction(_unsigned_from_text(unsigned), raw, transaction_hash),
            signed_at=signed_at,
            sent_at=sent_at,
        )
        for kind, unsigned, raw, transaction_hash, signed_at, sent_at in rows
    )


def _unsigned_from_text(text: str) -> UnsignedTransaction:
    fields = json.loads(text)
    return UnsignedTransaction(
        chain_id=fields["chainId"],
        sender=fields["from"],
        to=fields["to"],
        value=int(fields["value"]),
        data=bytes.fromhex(fields["data"]),
        gas=fields["gas"],
        max_fee_per_gas=int(fields["maxFeePerGas"]),
        max_priority_fee_per_gas=int(fields["maxPriorityFeePerGas"]),
        nonce=fields["nonce"],
        step=fields["step"],
    )
