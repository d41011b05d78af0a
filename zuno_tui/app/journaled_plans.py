"""What became of plans by this home's journal: which were signed, and which were carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import SUCCEEDED, Dispatch

if TYPE_CHECKING:
    from zuno_tui.app.session import Session


def signed_plans(session: Session) -> frozenset[str]:
    """The plans of which anything was signed."""
    return frozenset(
        dispatch.plan_id
        for dispatch in _dispatches(session)
        if any(step.versions for step in dispatch.steps)
    )


def applied_plans(session: Session) -> frozenset[str]:
    """The plans of which every step succeeded, whichever of their options was approved."""
    return frozenset(
        dispatch.plan_id
        for dispatch in _dispatches(session)
        if all(step.state in SUCCEEDED for step in dispatch.steps)
    )


def _dispatches(session: Session) -> tuple[Dispatch, ...]:
    if not session.home.outbox.exists():
        return ()
    with Outbox.open(session.home.outbox) as outbox:
        return outbox.dispatches()
