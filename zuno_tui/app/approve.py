"""`zuno approve PLAN`: build, try, read back and judge its transactions; nothing is signed."""

from msgspec.structs import replace

from agents.lp.plan import Plan
from chain.execution.plan.requests import (
    CloseRequest,
    CompoundRequest,
    DecreaseRequest,
    IncreaseRequest,
    Request,
    ReRangeRequest,
    SeveralRequest,
)
from chain.positions.overview import Sources
from zuno_tui.app.feature import ActionMaker, approver_for, orders_ended_with, what_outlives
from zuno_tui.app.market import hold_for_approvals
from zuno_tui.app.plans import same_network, stored_plan
from zuno_tui.app.session import Session
from zuno_tui.gate.actions.action import Action
from zuno_tui.gate.actions.plan import action_of_plan, chosen_candidate
from zuno_tui.gate.dry_run import DryRun, approve, make_dry_run
from zuno_tui.gate.limits import GateLimits, gate_limits
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.approval_card import approval_answer, dry_run_answer
from zuno_tui.present.approval_view import SigningKey, signing_key
from zuno_tui.present.plan_card import limits_broken

_LEAVING = (CloseRequest, DecreaseRequest, ReRangeRequest)


def _leaves(request: Request) -> bool:
    first = request.parts[0] if isinstance(request, SeveralRequest) else request
    return isinstance(first, _LEAVING)


def action_of_candidate(session: Session, plan: Plan, candidate: str | None) -> ActionMaker:
    """The plan and candidate named, to be built on the chain as it is when it is read."""
    same_network(session, plan)
    chosen = chosen_candidate(plan, candidate)

    async def make(sources: Sources) -> Action:
        action = await action_of_plan(sources, plan, chosen, session.address)
        return replace(action, breaks=(*action.breaks, *limits_broken(chosen)))

    return make


async def approve_order(session: Session, make_action: ActionMaker) -> CommandAnswer:
    """Approve what was asked for on the chain as it is now."""
    if (approver := approver_for(session)) is not None:
        return await approver(make_action)
    async with session.sources() as sources:
        dry_run = await dry_run_made(session, sources, make_action)
        approved = approve(session.home.outbox, dry_run)
    await hold_for_approvals(session)
    return approval_answer(approved, session.address, _key(session))


async def simulate_plan(
    session: Session, plan_id: str | None, candidate: str | None
) -> CommandAnswer:
    make_action = action_of_candidate(session, stored_plan(session, plan_id).plan, candidate)
    async with session.sources() as sources:
        dry_run = await dry_run_made(session, sources, make_action)
    return dry_run_answer(dry_run, session.address, _key(session))


def _key(session: Session) -> SigningKey:
    return signing_key(session.home, session.network, session.address)


async def dry_run_made(
    session: Session,
    sources: Sources,
    make_action: ActionMaker,
    limits: GateLimits | None = None,
) -> DryRun:
    limits = limits or gate_limits(session.settings.limits, session.network)
    action = await make_action(sources)
    if _leaves(action.request):
        stays = [
            words for ref in action.subject.about.refs for words in what_outlives(session, ref)
        ]
        action = replace(action, left_behind=(*action.left_behind, *stays))
    if isinstance(action.request, IncreaseRequest | DecreaseRequest | CompoundRequest):
        ended = orders_ended_with(session, action.request.position.ref)
        action = replace(
            action,
            cancels=tuple(order.delegation for order in ended),
            left_behind=(*action.left_behind, *(order.words for order in ended)),
        )
    async with session.connections(sources) as connections:
        return await make_dry_run(
            sources,
            connections,
            action,
            journal=session.home.outbox,
            wallet=session.address,
            limits=limits,
        )
