"""`zuno approve PLAN`: build, try, read back and judge its transactions; nothing is signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.app.market import hold_for_approvals
from zuno_tui.app.plans import same_network, stored_plan
from zuno_tui.gate.choosing import chosen_candidate
from zuno_tui.gate.dry_run import DryRun, approve, make_dry_run
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.orders.plan import order_of_plan
from zuno_tui.present.approval_card import approval_answer, dry_run_answer

if TYPE_CHECKING:
    from agents.lp.plan import Plan
    from chain.positions.overview import Sources
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.command import OrderMaker
    from zuno_tui.present.answer import CommandAnswer


def order_of_candidate(session: Session, plan: Plan, candidate: str | None) -> OrderMaker:
    """The plan and candidate named, to be built on the chain as it is when it is read."""
    chosen = chosen_candidate(plan, candidate)
    same_network(session, plan)
    return lambda sources: order_of_plan(sources, plan, chosen, session.address)


async def approve_order(session: Session, make_order: OrderMaker) -> CommandAnswer:
    """Approve what was ordered on the chain as it is now."""
    async with session.sources() as sources:
        dry_run = await dry_run_made(session, sources, make_order)
        approved = approve(sources, session.home.outbox, dry_run)
    await hold_for_approvals(session)
    return approval_answer(approved)


async def simulated(session: Session, plan_id: str | None, candidate: str | None) -> CommandAnswer:
    make_order = order_of_candidate(session, stored_plan(session, plan_id).plan, candidate)
    async with session.sources() as sources:
        return dry_run_answer(await dry_run_made(session, sources, make_order))


async def dry_run_made(session: Session, sources: Sources, make_order: OrderMaker) -> DryRun:
    limits = gate_limits(session.settings.limits, session.network)
    order = await make_order(sources)
    async with session.connections(sources) as connections:
        return await make_dry_run(
            sources,
            connections,
            order,
            journal=session.home.outbox,
            wallet=session.address,
            limits=limits,
        )
