"""Plans that were made: the one meant, whether it belongs to this network, and why it is so."""

from collections.abc import Iterator

from agents.bus.plan_store import PlanStore
from agents.lp import FLOW
from agents.lp.plan import Plan
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import SUCCEEDED, Dispatch
from zuno_tui.app.feature import Feature, PlanFlow, feature_of_flow
from zuno_tui.app.session import Session
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.argued_plan import ArguedPlan, plan_of_document, recorded_turns
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.plan_card import edited_words, record_words
from zuno_tui.present.transcript import turn_line
from zuno_tui.present.words import screen_words


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


_TOLD = (
    *("planId", "requestId", "recordHash", "choice", "rejected", "transcript", "claims"),
    "sources",
)


async def explanation(session: Session, plan_id: str | None) -> CommandAnswer:
    """Why a plan is what it is, turn by turn."""
    argued = stored_plan(session, plan_id)
    document = {name: argued.document.get(name) for name in _TOLD}
    return CommandAnswer(
        lines=tuple(_lines(argued)),
        document=document,  # type: ignore[arg-type]
        remarks=(edited_words(argued.plan),) if argued.is_edited else (),
        code=FAILED if argued.is_edited else DONE,
    )


def _lines(argued: ArguedPlan) -> Iterator[str]:
    for turn in recorded_turns(argued.document):
        yield turn_line(turn.role, turn.thought)
    yield ""
    reasons = "; ".join(reason.rstrip(".") for reason in argued.plan.choice.reasons)
    yield f"{argued.plan.plan_id}: {screen_words(reasons)}."
    for source, said in argued.plan.sources.items():
        yield f"  {source}: {screen_words(said)}"
    yield from record_words(argued)
