"""One hash over everything that was shown, and the journal's record of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.canonical import canonical, digest
from chain.execution.journal_records import Anchor, PlannedDispatch, PlannedStep
from chain.execution.policy import VERSION
from chain.execution.words_table import field_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.execution.simulating import Simulation
    from zuno_tui.gate.preparing import Prepared

_SCHEMA = "zuno/approval/1"
_EXITED = "exited, holding both tokens"


def seal(prepared: Prepared) -> str:
    """Changes with every field of every transaction, and with everything they were judged by."""
    block = prepared.wish.subject.block
    content = {
        "schema": _SCHEMA,
        "planId": prepared.wish.plan_id,
        "policy": VERSION,
        "anchor": block.hash,
        "steps": [
            [[field.name, field.value] for field in field_table(step)] for step in prepared.steps
        ],
        "simulation": _simulated(prepared.simulation),
        "expiresAt": prepared.bounds.expires_at,
    }
    return digest(canonical(content))


def dispatch_of(prepared: Prepared, sealed: str) -> PlannedDispatch:
    """The same transactions as the journal keeps them, each with where its absence leaves one."""
    block = prepared.wish.subject.block
    names = [step.transaction.step for step in prepared.steps]
    return PlannedDispatch(
        hash=sealed,
        plan_id=prepared.wish.plan_id,
        anchor=Anchor(block.number, block.hash),
        steps=tuple(
            # An approval's bytes name no end of their own: after its plan's it is of no use.
            PlannedStep(
                step.transaction, safe, getattr(step.call, "deadline", prepared.built.deadline)
            )
            for step, safe in zip(prepared.steps, safe_states(names), strict=True)
        ),
    )


def safe_states(names: Sequence[str]) -> tuple[str, ...]:
    """Where a person stands when everything before a step happened and the step did not."""
    return tuple(_standing(names[:place]) for place in range(len(names)))


def _standing(done: Sequence[str]) -> str:
    if not done:
        return "nothing happened"
    if "exit" in done:
        return _EXITED
    if "unsubscribe" in done:
        return "unsubscribed, the position is as it was"
    if "wrap" in done:
        return "wrapped, no position opened"
    if "revoke" in done:
        return "some permissions taken back, others still there"
    return "permissions given, no position changed"


def _simulated(simulation: Simulation) -> dict[str, object]:
    return {
        "method": simulation.method,
        "unsimulated": list(simulation.unsimulated),
        "steps": [
            {
                "step": step.step,
                "gasUsed": step.gas_used,
                "changes": {token: str(amount) for token, amount in sorted(step.changes.items())},
            }
            for step in simulation.steps
        ],
    }
