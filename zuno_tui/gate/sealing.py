"""One hash over everything that was shown, and the journal's record of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.canonical import canonical, digest
from chain.execution.decoding import decode
from chain.execution.journal_records import Anchor, PlannedDispatch, PlannedStep
from chain.execution.policy import VERSION
from chain.execution.words_table import field_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chain.execution.decoding_records import DecodedStep
    from chain.execution.journal_records import Dispatch
    from chain.execution.simulating import Simulation
    from zuno_tui.gate.preparing import Prepared

_SCHEMA = "zuno/approval/3"
_EXITED = "exited, holding both tokens"


def seal(prepared: Prepared, terms: Mapping[str, object], private_host: str | None) -> str:
    """Changes with every field of every transaction, and with everything they were judged by."""
    steps = ((step, _deadline(step, prepared)) for step in prepared.steps)
    return _sealed(terms, prepared.wish.subject.block.hash, private_host, steps)


def seal_again(dispatch: Dispatch, terms: Mapping[str, object]) -> str:
    """The same hash from what the journal keeps, if nobody touched it since."""
    steps = ((decode(step.transaction), step.deadline) for step in dispatch.steps)
    return _sealed(terms, dispatch.anchor.hash, dispatch.private_host, steps)


def _sealed(
    terms: Mapping[str, object],
    anchor: str,
    private_host: str | None,
    steps: Iterable[tuple[DecodedStep, int | None]],
) -> str:
    content = {
        "schema": _SCHEMA,
        "policy": VERSION,
        "anchor": anchor,
        "sentThrough": private_host,
        "terms": terms,
        "steps": [
            {
                "deadline": deadline,
                "fields": [[each.name, each.value] for each in field_table(step)],
            }
            for step, deadline in steps
        ],
    }
    return digest(canonical(content))


def dispatch_of(prepared: Prepared, sealed: str, private_host: str | None) -> PlannedDispatch:
    """The same transactions as the journal keeps them, each with where its absence leaves one."""
    block = prepared.wish.subject.block
    names = [step.transaction.step for step in prepared.steps]
    return PlannedDispatch(
        hash=sealed,
        plan_id=prepared.wish.plan_id,
        anchor=Anchor(block.number, block.hash),
        private_host=private_host,
        steps=tuple(
            PlannedStep(step.transaction, safe, _deadline(step, prepared))
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


def _deadline(step: DecodedStep, prepared: Prepared) -> int:
    # An approval's bytes name no end of their own: after its plan's it is of no use.
    deadline: int = getattr(step.call, "deadline", prepared.built.deadline)
    return deadline


def simulation_digest(simulation: Simulation) -> str:
    content = {
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
    return digest(canonical(content))
