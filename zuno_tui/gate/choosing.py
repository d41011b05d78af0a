"""Which candidate of a plan is meant, and whether it may be approved at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.lp.advice_words import option_index, option_letter
from agents.numbers.rules import JudgmentVerdict, Rule
from zuno_tui.gate.refusal import GateRefusedError

if TYPE_CHECKING:
    from agents.lp.plan import Candidate, Plan

EXIT = "exit"


def chosen_candidate(plan: Plan, named: str | None) -> Candidate:
    """The candidate named, or the one the plan recommends."""
    _refuse_edited(plan)
    candidate = _recommended(plan) if named is None else _named(plan, named)
    judgment = candidate.judgment
    named_range = plan.own_range and named is not None and not _is_dangerous(candidate)
    if judgment is not None and judgment.verdict is JudgmentVerdict.VETO and not named_range:
        raise GateRefusedError(
            f"Option {_letter(candidate)} of {plan.plan_id} was vetoed: {judgment.reason} "
            "Choose another: zuno plan"
        )
    return candidate


def _is_dangerous(candidate: Candidate) -> bool:
    """Whether what speaks against it is the pool itself, and not how the range is chosen."""
    findings = () if candidate.judgment is None else candidate.judgment.findings
    against = (finding.rule for finding in findings if finding.verdict is JudgmentVerdict.VETO)
    return any(rule in (Rule.HOOK, Rule.OWN_SWAP) for rule in against)


def _refuse_edited(plan: Plan) -> None:
    """A plan's id is over all of it: numbers nobody argued about are not approved under it."""
    from agents.lp.plan import plan_identity

    if plan_identity(plan) != plan.plan_id:
        raise GateRefusedError(
            f"The file of {plan.plan_id} was changed since it was made. Nothing was approved. "
            "Ask for a new plan: zuno recommend ID"
        )


def _recommended(plan: Plan) -> Candidate:
    if plan.choice.kind == "hold":
        options = [*map(_letter, plan.candidates), *([] if plan.exit is None else [EXIT])]
        named = f" To act all the same, name an option: {', '.join(options)}." if options else ""
        raise GateRefusedError(f"The plan says keep: there is nothing to sign.{named}")
    return plan.recommended


def _named(plan: Plan, named: str) -> Candidate:
    if named == EXIT:
        if plan.exit is None:
            raise GateRefusedError(f"{plan.plan_id} opens a position: there is nothing to close.")
        return plan.exit
    index = option_index(named)
    for move in plan.candidates:
        if move.index is not None and move.index == index:
            return move
    leaving = [] if plan.exit is None else [EXIT]
    known = ", ".join([*map(_letter, plan.candidates), *leaving])
    raise GateRefusedError(f"{plan.plan_id} has no option {named!r}. It has: {known}.")


def _letter(candidate: Candidate) -> str:
    return candidate.kind if candidate.index is None else option_letter(candidate.index)
