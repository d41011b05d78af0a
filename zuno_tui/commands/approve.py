"""`zuno approve PLAN`: build, try, read back and judge its transactions; nothing is signed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agents.bus.plan_store import PlanStore
from agents.lp.plan_document import plan_in
from zuno_tui.gate.choosing import chosen_candidate
from zuno_tui.gate.dry_run import approve, make_dry_run
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.orders.plan import order_of_plan
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.session.session import Session
from zuno_tui.shown.approval_card import show_approval
from zuno_tui.shown.exit_codes import DONE

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Awaitable, Callable

    from agents.lp.plan import Plan
    from chain.positions.overview import Sources
    from zuno_tui.gate.dry_run import DryRun
    from zuno_tui.gate.orders.order import Order

    OrderMaker = Callable[[Sources], Awaitable[Order]]


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return approve_order(session, order_maker_for(session, arguments))


def order_maker_for(session: Session, arguments: Namespace) -> OrderMaker:
    """The plan and candidate named, to be built on the chain as it is when it is read."""
    plan = plan_in(PlanStore(session.home.plans).find(arguments.plan_id))
    candidate = chosen_candidate(plan, arguments.candidate)
    same_network(session, plan)
    return lambda sources: order_of_plan(sources, plan, candidate, session.address)


def same_network(session: Session, plan: Plan) -> None:
    if plan.chain_id != session.network.chain_id:
        raise GateRefusedError(
            f"{plan.plan_id} was made on chain {plan.chain_id}, and this is "
            f"{session.network.title}. Name its network: --network {plan.chain_id}"
        )


def approve_order(session: Session, make_order: OrderMaker) -> int:
    """Approve what was ordered on the chain as it is now, and show it."""
    return asyncio.run(_approve(session, make_order))


async def _approve(session: Session, make_order: OrderMaker) -> int:
    async with session.sources() as sources:
        dry_run = await dry_run_made(session, sources, make_order)
        show_approval(session, approve(sources, session.home.outbox, dry_run))
    return DONE


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
