"""A trade plan as it is kept and printed: the plan, and what was said for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.plan_store import DamagedPlanError, PlanDocument, plan_fields, plan_name
from agents.trade import FLOW

if TYPE_CHECKING:
    from agents.trade.flow import DeskEnd
    from agents.trade.plan import TradePlan


def trade_document(ended: DeskEnd, record_hash: str) -> PlanDocument:
    """The record's last hash stands beside the plan and not in it: the record holds the plan."""
    if ended.plan is None:
        raise ValueError("A desk that ended without a plan has no document.")
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
    }


def trade_plan_in(document: PlanDocument) -> TradePlan:
    """The plan of a document; one that was changed since it was made is refused."""
    from pydantic import ValidationError

    from agents.trade.plan import TradePlan, trade_plan_identity

    core = plan_fields(document, FLOW)
    try:
        plan = TradePlan.model_validate(core, strict=False)
    except ValidationError as error:
        raise DamagedPlanError(
            f"The file of {plan_name(document)} does not hold a plan that this zuno can read "
            f"({error.error_count()} faults). Ask for a new one: zuno trade ETH"
        ) from None
    if trade_plan_identity(plan) != plan.plan_id:
        raise DamagedPlanError(
            f"The file of {plan.plan_id} was changed since it was made. "
            "Ask for a new one: zuno trade ETH"
        )
    return plan
