"""A home from before the journal had a file of its own."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from chain.execution.outbox import Outbox
from chain.store import Store
from tests.chain.execution.outbox_kit import KeySigner, planned, transfer

if TYPE_CHECKING:
    from pathlib import Path

    from chain.execution.journal_records import Dispatch, PlannedDispatch


def written(path: Path, plan: PlannedDispatch) -> Dispatch:
    """A plan in the journal whose first step was sent."""
    with Outbox.open(path) as outbox:
        outbox.plan(plan, now=1)
        outbox.approve(plan.hash, now=2)
        outbox.consume(plan.hash, now=3)
        signed = KeySigner().sign(plan.steps[0].transaction)
        step = outbox.record_signed(plan.hash, 0, signed, now=4)
        outbox.mark_sent(step, signed.hash, now=5)
        return outbox.dispatch(plan.hash)


def _make_former(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE outbox_dispatches DROP COLUMN private_host")
        for later in ("outbox_ends", "outbox_heads"):
            connection.execute(f"DROP TABLE {later}")
        connection.execute("UPDATE outbox_version SET version = 1")
    connection.close()


def former_home(folder: Path) -> tuple[Path, Dispatch]:
    """Its `zuno.db`, and what the journal in it holds."""
    database = folder / "zuno.db"
    with Store.open(database, now=0)[0] as store:
        store.put("cursor", "a", 1, now=0)
    dispatch = written(database, planned(transfer(0), transfer(1)))
    _make_former(database)
    return database, dispatch
