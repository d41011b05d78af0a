"""Single changes of a step inside a transaction that somebody else begins and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.execution.outbox.journal import OutboxError, read_dispatch, unsigned_to_text
from chain.execution.outbox.records import (
    NEXT_STATES,
    Dispatch,
    EndCode,
    Inclusion,
    PlanStep,
    StepState,
    VersionKind,
)

if TYPE_CHECKING:
    import sqlite3

    from chain.execution.transaction import SignedTransaction

NEVER_SIGNED = frozenset((StepState.PLANNED, StepState.APPROVED))


def known_dispatch(journal: sqlite3.Connection, dispatch_hash: str) -> Dispatch:
    found = read_dispatch(journal, dispatch_hash)
    if found is None:
        raise OutboxError(
            f"Nothing with the hash {dispatch_hash} is in the outbox.", "See what is: zuno outbox"
        )
    return found


def move_step(
    journal: sqlite3.Connection,
    step: PlanStep,
    state: StepState,
    *,
    now: float,
    reason: str = "",
    inclusion: Inclusion | None = None,
    settled: bool = False,
) -> None:
    if step.settled or state not in NEXT_STATES[step.state]:
        raise OutboxError(f"{step.name} is {step.state} and cannot become {state}.")
    included = (
        (inclusion.transaction_hash, inclusion.block_number, inclusion.block_hash)
        if inclusion
        else (None, None, None)
    )
    journal.execute(
        "UPDATE outbox_steps SET state = ?, reason = ?, included_hash = ?, block_number = ?,"
        " block_hash = ?, changed_at = ?, settled = ? WHERE dispatch = ? AND position = ?",
        (state, reason, *included, now, settled, step.dispatch, step.position),
    )
    remember(journal, step.dispatch, step.position, state, reason=reason, now=now)


def remember(
    journal: sqlite3.Connection,
    dispatch_hash: str,
    position: int,
    state: StepState,
    *,
    reason: str = "",
    now: float,
) -> None:
    journal.execute(
        "INSERT INTO outbox_history (dispatch, position, state, reason, at) VALUES (?, ?, ?, ?, ?)",
        (dispatch_hash, position, state, reason, now),
    )


def add_version(
    journal: sqlite3.Connection,
    step: PlanStep,
    kind: VersionKind,
    signed: SignedTransaction,
    now: float,
) -> None:
    journal.execute(
        "INSERT INTO outbox_versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)",
        (
            signed.hash,
            step.dispatch,
            step.position,
            len(step.versions),
            kind,
            unsigned_to_text(signed.unsigned),
            signed.raw,
            now,
        ),
    )


def discard_unsigned(
    journal: sqlite3.Connection, dispatch: Dispatch, *, now: float, reason: str
) -> None:
    """Give up every step that was never signed; what was signed is untouched."""
    for step in dispatch.steps:
        if step.state in NEVER_SIGNED:
            move_step(journal, step, StepState.DISCARDED, now=now, reason=reason, settled=True)


def end_plan(journal: sqlite3.Connection, dispatch: Dispatch, code: EndCode, *, now: float) -> None:
    """Write down that nothing of it is sent again; the first reason stands."""
    if dispatch.ended is not None:
        return
    journal.execute("INSERT INTO outbox_ends VALUES (?, ?, ?)", (dispatch.hash, code, now))
    discard_unsigned(journal, dispatch, now=now, reason=code)


def void_signed(
    journal: sqlite3.Connection, dispatch: Dispatch, *, now: float, reason: str
) -> None:
    """What was signed for a chain that is no more: no node has it, and none ever gets it."""
    for step in dispatch.steps:
        if step.versions and not step.settled:
            move_step(journal, step, StepState.DROPPED, now=now, reason=reason, settled=True)
