"""Plans of the trade desk that were kept."""

from agents.bus.plan_store import DamagedPlanError, NoSuchPlanError, PlanDocument, PlanStore
from agents.trade import FLOW
from agents.trade.facts import PastDecision
from agents.trade.plan import TradePlan
from agents.trade.plan_document import trade_plan_in
from zuno_tui.app.session import Session


def stored_trade(session: Session, plan_id: str | None) -> tuple[TradePlan, PlanDocument]:
    """The trade plan of this id, or the newest."""
    document = PlanStore(session.home.plans).find(plan_id, FLOW)
    return trade_plan_in(document), document


def last_plan(session: Session, symbol: str) -> TradePlan | None:
    """The newest where it is on this contract; one that cannot be read is none."""
    try:
        plan, _ = stored_trade(session, None)
    except (DamagedPlanError, NoSuchPlanError):
        return None
    return plan if plan.symbol == symbol else None


def last_decision(session: Session, symbol: str) -> PastDecision | None:
    """What was decided last on this contract, for consistency."""
    plan = last_plan(session, symbol)
    if plan is None or plan.regime is None:
        return None
    return PastDecision(
        plan_id=plan.plan_id,
        time=plan.made_at,
        decision=plan.decision,
        regime=plan.regime.regime,
        mark=plan.mark,
    )
