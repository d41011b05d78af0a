"""A trade plan as it is kept and printed: the plan, and what was said for it."""

from agents.bus.plan_store import DamagedPlanError, PlanDocument, document_of, plan_of
from agents.bus.run import ArgumentEnd
from agents.trade import FLOW
from agents.trade.plan import TradePlan


def trade_document(ended: ArgumentEnd[TradePlan], record_hash: str) -> PlanDocument:
    return document_of(ended, FLOW, record_hash)


def trade_plan_in(document: PlanDocument) -> TradePlan:
    """The plan of a document; one that was changed since it was made is refused."""
    from agents.trade.plan import TradePlan, trade_plan_identity

    plan = plan_of(document, FLOW, TradePlan, "zuno trade ETH")
    # An older version's plan lacks what came since, and its id was made without that.
    if plan.plan_id not in (trade_plan_identity(plan), trade_plan_identity(plan, as_written=True)):
        raise DamagedPlanError(
            f"The file of {plan.plan_id} was changed since it was made. "
            "Ask for a new one: zuno trade ETH"
        )
    return plan
