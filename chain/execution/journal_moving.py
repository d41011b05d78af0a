"""Journals from before the outbox had a file of its own, moved out of `zuno.db` once."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from chain.execution.journal import OutboxError, one_transaction
from chain.execution.journal_file import BUSY_SECONDS, open_journal
from chain.execution.outbox_guard import applying

if TYPE_CHECKING:
    from pathlib import Path

_MOVED_VERSION = 1
_COLUMNS = {
    "outbox_dispatches": (
        "hash, plan_id, chain_id, sender, anchor_number, anchor_hash, planned_at, resolved_at"
    ),
    "outbox_steps": (
        "dispatch, position, nonce, unsigned, safe_state, deadline, state, reason, settled,"
        " included_hash, block_number, block_hash, changed_at"
    ),
    "outbox_versions": (
        "hash, dispatch, position, ordinal, kind, unsigned, raw, signed_at, sent_at"
    ),
    "outbox_approvals": "hash, dispatch, approved_at, expires_at, consumed_at",
    "outbox_history": "dispatch, position, state, reason, at",
}
"""By table what it held, each after those it refers to."""


def move_journal(database: Path, journal: Path) -> bool:
    """Whether `database` held a journal, which now is in its own file and nowhere else.

    The copy is on disk before the original is dropped: cut off anywhere, it is done again.
    """
    if not _holds_journal(database):
        return False
    with applying(database) as alone:
        if not alone:
            raise OutboxError(
                "A zuno of an earlier version is applying a plan right now.", "Wait for its end."
            )
        connection = open_journal(journal)
        try:
            connection.execute("ATTACH ? AS former", (str(database),))
            _copy(connection)
            with one_transaction(connection):
                for table in (*reversed(_COLUMNS), "outbox_version"):
                    connection.execute(f"DROP TABLE IF EXISTS former.{table}")
        finally:
            connection.close()
    return True


def _holds_journal(database: Path) -> bool:
    """A damaged database is its owner's to judge; here it holds nothing that can be moved."""
    if not database.exists():
        return False
    connection = sqlite3.connect(database, isolation_level=None, timeout=BUSY_SECONDS)
    try:
        return _exists(connection, "main")
    except sqlite3.OperationalError as error:
        raise OutboxError(
            f"Whether {database} holds a journal cannot be seen now: {error}.", "Try again."
        ) from error
    except sqlite3.DatabaseError:
        return False
    finally:
        connection.close()


def _exists(connection: sqlite3.Connection, schema: str) -> bool:
    named = f"SELECT 1 FROM {schema}.sqlite_master WHERE name = 'outbox_version'"  # noqa: S608
    return connection.execute(named).fetchone() is not None


def _copy(connection: sqlite3.Connection) -> None:
    with one_transaction(connection):
        if not _exists(connection, "former"):
            return
        [version] = connection.execute("SELECT version FROM former.outbox_version").fetchone()
        if version != _MOVED_VERSION:
            raise OutboxError(
                "The journal of sent transactions was written by another version of zuno.",
                "Update zuno to read it.",
            )
        known = {row[0] for row in connection.execute("SELECT hash FROM main.outbox_dispatches")}
        every = connection.execute("SELECT hash FROM former.outbox_dispatches").fetchall()
        for (dispatch,) in every:
            if dispatch in known:
                continue
            for table, columns in _COLUMNS.items():
                owner = "hash" if table == "outbox_dispatches" else "dispatch"
                connection.execute(
                    f"INSERT INTO main.{table} ({columns}) SELECT {columns}"  # noqa: S608
                    f" FROM former.{table} WHERE {owner} = ?",
                    (dispatch,),
                )
