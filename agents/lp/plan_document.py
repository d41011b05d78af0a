"""A liquidity plan as it is kept and printed: the plan, what was said for it, what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.plan_store import DamagedPlanError, PlanDocument, plan_fields, plan_name
from agents.lp import FLOW

if TYPE_CHECKING:
    from agents.lp.debate import DebateEnd
    from agents.lp.plan import Plan
    from agents.model.budget import BudgetReport


def plan_document(ended: DebateEnd, budget: BudgetReport | None, record_hash: str) -> PlanDocument:
    """The plan with its transcript, its claims and its budget, as JSON has it.

    The record's last hash stands beside the plan and not in it: the record holds the plan, so no
    plan can hold a hash over its own record.
    """
    if ended.plan is None:
        raise ValueError("A debate without a plan has no document.")
    turns = [
        {"role": turn.role, **turn.thought.model_dump(mode="json", by_alias=True)}
        for turn in ended.transcript
    ]
    return {
        **ended.plan.model_dump(mode="json", by_alias=True),
        "flow": FLOW,
        "requestId": ended.request_id,
        "recordHash": record_hash,
        "transcript": turns,
        "claims": {
            "cited": sum(turn.thought.cited for turn in ended.transcript),
            "struck": sum(len(turn.thought.struck) for turn in ended.transcript),
        },
        "budget": None if budget is None else _budget(budget),
    }


def plan_in(document: PlanDocument) -> Plan:
    """The plan of a document, without what stands beside it."""
    from pydantic import ValidationError

    from agents.lp.plan import Plan

    core = plan_fields(document, FLOW)
    try:
        return Plan.model_validate(core, strict=False)
    except ValidationError as error:
        raise DamagedPlanError(
            f"The file of {plan_name(document)} does not hold a plan that this zuno can read "
            f"({error.error_count()} faults): another version wrote it, or it was changed. "
            "Ask for a new plan: zuno recommend ID"
        ) from None


def was_edited(plan: Plan) -> bool:
    """Whether a plan is no longer what its id says: the id is a hash over all of it."""
    from agents.lp.plan import plan_identity

    return plan_identity(plan) != plan.plan_id


def _budget(report: BudgetReport) -> dict[str, object]:
    return {
        "tokens": report.debate.tokens,
        "dollars": report.debate.nano_usd / 1e9 if not report.debate.unpriced_tokens else None,
        "byRole": {role: spent.tokens for role, spent in sorted(report.by_role.items())},
        "dayTokens": None if report.day is None else report.day.tokens,
        "debateLimit": report.limits.debate_tokens,
        "dayLimit": report.limits.day_tokens,
    }
