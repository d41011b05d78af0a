"""Approvals, each for one hash and one use, and nonces, each for one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.records import HOLDS_NONCE, Dispatch, StepState

if TYPE_CHECKING:
    import sqlite3


APPROVAL_SECONDS = 600.0


def grant(journal: sqlite3.Connection, approval: str, dispatch_hash: str, now: float) -> None:
    known = "SELECT 1 FROM outbox_approvals WHERE hash = ?"
    if journal.execute(known, (approval,)).fetchone():
        raise OutboxError(
            "This was approved before, and an approval is given once.", "Build it again."
        )
    journal.execute(
        "INSERT INTO outbox_approvals VALUES (?, ?, ?, ?, NULL)",
        (approval, dispatch_hash, now, now + APPROVAL_SECONDS),
    )


def spend(journal: sqlite3.Connection, approval: str, now: float) -> None:
    row = journal.execute(
        "SELECT expires_at, consumed_at FROM outbox_approvals WHERE hash = ?", (approval,)
    ).fetchone()
    if row is None:
        raise OutboxError("This was never approved.", "Approve it first: zuno approve P")
    expires_at, consumed_at = row
    if consumed_at is not None:
        raise OutboxError(
            "This approval was used already. Nothing was sent now.", "See what it did: zuno outbox"
        )
    if now >= expires_at:
        raise OutboxError(
            "This approval is older than ten minutes. Nothing was sent.",
            "Approve it again: zuno approve P",
        )
    journal.execute("UPDATE outbox_approvals SET consumed_at = ? WHERE hash = ?", (now, approval))


def check_spent(journal: sqlite3.Connection, approval: str) -> None:
    """Refuse what was signed without using its approval."""
    used = "SELECT 1 FROM outbox_approvals WHERE hash = ? AND consumed_at IS NOT NULL"
    if journal.execute(used, (approval,)).fetchone() is None:
        raise OutboxError("Nothing is signed before its approval is used.")


def claim_nonce(journal: sqlite3.Connection, dispatch: Dispatch, position: int) -> None:
    """Refuse a nonce that another plan's transaction has taken or may still take."""
    nonce = dispatch.steps[position].transaction.nonce
    holders = journal.execute(
        "SELECT d.plan_id, s.state FROM outbox_steps s JOIN outbox_dispatches d"
        " ON d.hash = s.dispatch WHERE d.chain_id = ? AND d.sender = ? AND s.nonce = ?"
        " AND s.settled = 0 AND s.dispatch != ?",
        (dispatch.chain_id, dispatch.sender, nonce, dispatch.hash),
    )
    for plan_id, state in holders:
        if StepState(state) in HOLDS_NONCE:
            raise OutboxError(
                f"Nonce {nonce} belongs to a transaction of plan {plan_id} that is {state}.",
                "Wait for it, or cancel it: zuno outbox cancel",
            )
