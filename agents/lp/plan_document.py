"""A liquidity plan as it is kept and printed: the plan, what was said for it, what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.plan_store import PlanDocument, document_of, plan_of
from agents.bus.run import ArgumentEnd
from agents.lp import FLOW

if TYPE_CHECKING:
    from agents.lp.plan import Plan
    from agents.model.budget import BudgetReport


def plan_document(
    ended: ArgumentEnd[Plan], budget: BudgetReport | None, record_hash: str
) -> PlanDocument:
    """The plan with its transcript, its claims and its budget."""
    return {
        **document_of(ended, FLOW, record_hash),
        "claims": {
            "cited": sum(turn.thought.cited for turn in ended.transcript),
            "struck": sum(len(turn.thought.struck) for turn in ended.transcript),
        },
        "budget": None if budget is None else _budget(budget),
    }


def plan_in(document: PlanDocument) -> Plan:
    """The plan of a document, without what stands beside it."""
    from agents.lp.plan import Plan

    return plan_of(document, FLOW, Plan, "zuno recommend ID")


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
