"""Plans that were made: the one meant, and whether it belongs to this network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.plan_store import PlanStore
from agents.lp import FLOW
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import SUCCEEDED, Dispatch
from zuno_tui.app.session import Session
from zuno_tui.catalog.feature import Feature, PlanFlow, feature_of_flow
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.argued_plan import ArguedPlan, plan_of_document

if TYPE_CHECKING:
    from agents.lp.plan import Plan


def stored_plan(session: Session, named: str | None) -> ArguedPlan:
    """The plan of this id, or the newest."""
    return plan_of_document(PlanStore(session.home.plans).find(named, FLOW))


def feature_of_plan(session: Session, named: str | None) -> Feature | None:
    """Whose plan is meant, named or the newest; None where it is about liquidity."""
    return feature_of_flow(PlanStore(session.home.plans).flow_of(named))


def plan_flow(session: Session, named: str | None) -> PlanFlow | None:
    """What handles the plan that is meant; None where the gate does."""
    feature = feature_of_plan(session, named)
    return None if feature is None or feature.plan_flow is None else feature.plan_flow()


def same_network(session: Session, plan: Plan) -> None:
    if plan.chain_id != session.network.chain_id:
        raise GateRefusedError(
            f"{plan.plan_id} was made on chain {plan.chain_id}, and this is "
            f"{session.network.title}. Name its network: --network {plan.chain_id}"
        )


def signed_plans(session: Session) -> frozenset[str]:
    """The plans of which anything was signed."""
    return frozenset(
        dispatch.plan_id
        for dispatch in _dispatches(session)
        if any(step.versions for step in dispatch.steps)
    )


def applied_plans(session: Session) -> frozenset[str]:
    """The plans of which every step succeeded, whichever of their options was approved."""
    return frozenset(
        dispatch.plan_id
        for dispatch in _dispatches(session)
        if all(step.state in SUCCEEDED for step in dispatch.steps)
    )


def _dispatches(session: Session) -> tuple[Dispatch, ...]:
    if not session.home.outbox.exists():
        return ()
    with Outbox.open(session.home.outbox) as outbox:
        return outbox.dispatches()
