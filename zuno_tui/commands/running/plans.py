"""Plans that were made: the one meant, and whether it belongs to this network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.plan_store import PlanStore
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.shown.argued_plan import plan_of_document

if TYPE_CHECKING:
    from agents.lp.plan import Plan
    from zuno_tui.session.session import Session
    from zuno_tui.shown.argued_plan import ArguedPlan


def stored_plan(session: Session, named: str | None) -> ArguedPlan:
    """The plan of this id, or the newest."""
    return plan_of_document(PlanStore(session.home.plans).find(named))


def same_network(session: Session, plan: Plan) -> None:
    if plan.chain_id != session.network.chain_id:
        raise GateRefusedError(
            f"{plan.plan_id} was made on chain {plan.chain_id}, and this is "
            f"{session.network.title}. Name its network: --network {plan.chain_id}"
        )
