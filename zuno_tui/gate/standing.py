"""Where an approval stands, in a word or a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chain.execution.journal_records import StepState
from chain.execution.resuming import Situation

if TYPE_CHECKING:
    from chain.execution.journal_records import Dispatch
    from chain.execution.resuming import Finding

_QUIET = frozenset((Situation.INCLUDED, Situation.FINAL))


class Told(NamedTuple):
    """One step that is not settled, for people and programs."""

    plan_id: str
    step: str
    situation: str
    sentence: str
    choices: tuple[str, ...]
    open: bool
    """Whether a person should hear of it unasked."""


def told(finding: Finding) -> Told:
    return Told(
        finding.dispatch.plan_id,
        finding.step.name,
        finding.situation,
        finding.sentence,
        tuple(finding.choices),
        finding.situation not in _QUIET and not _dealt_with(finding),
    )


def _dealt_with(finding: Finding) -> bool:
    return finding.step.settled and finding.dispatch.resolved_at is not None


def stands(dispatch: Dispatch) -> str:
    """The name of where a plan stands as a whole."""
    if dispatch.consumed_at is None:
        return "approved, not applied"
    if dispatch.safe_state is not None:
        return dispatch.safe_state
    stopped = dispatch.stopped_at
    if stopped is not None:
        return f"{stopped.name} {stopped.state}"
    states = [step.state for step in dispatch.steps]
    if all(state is StepState.FINAL for state in states):
        return "final"
    unfinished = [state for state in states if state is not StepState.FINAL]
    return str(unfinished[0]) if unfinished[0] == unfinished[-1] else "under way"
