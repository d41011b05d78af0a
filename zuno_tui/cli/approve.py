"""`zuno approve PLAN`: build, try, read back and judge its transactions; nothing is signed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agents.shelf import PlanShelf, plan_in
from zuno_tui.cli import DONE
from zuno_tui.cli.approval_card import show_approval
from zuno_tui.gate.approving import approve, rehearse
from zuno_tui.gate.choosing import chosen_candidate
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.wishes_of_plans import wish_of_plan
from zuno_tui.session import Session

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Awaitable, Callable

    from agents.plan import Plan
    from chain.overview import Sources
    from zuno_tui.gate.approving import Rehearsal
    from zuno_tui.gate.wishes import Wish

    Wishing = Callable[[Sources], Awaitable[Wish]]


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return approve_wish(session, wishing_for(session, arguments))


def wishing_for(session: Session, arguments: Namespace) -> Wishing:
    """The plan and candidate named, to be built on the chain as it is when it is read."""
    plan = plan_in(PlanShelf(session.home.plans).find(arguments.plan_id))
    candidate = chosen_candidate(plan, arguments.candidate)
    same_network(session, plan)
    return lambda sources: wish_of_plan(sources, plan, candidate, session.address)


def same_network(session: Session, plan: Plan) -> None:
    if plan.chain_id != session.network.chain_id:
        raise GateRefusedError(
            f"{plan.plan_id} was made on chain {plan.chain_id}, and this is "
            f"{session.network.title}. Name its network: --network {plan.chain_id}"
        )


def approve_wish(session: Session, wishing: Wishing) -> int:
    """Approve what is wished for on the chain as it is now, and show it."""
    return asyncio.run(_approve(session, wishing))


async def _approve(session: Session, wishing: Wishing) -> int:
    async with session.sources() as sources:
        rehearsal = await rehearsed(session, sources, wishing)
        show_approval(session, approve(sources, session.home.outbox, rehearsal))
    return DONE


async def rehearsed(session: Session, sources: Sources, wishing: Wishing) -> Rehearsal:
    limits = gate_limits(session.settings.limits, session.network)
    wish = await wishing(sources)
    async with session.connections(sources) as connections:
        return await rehearse(
            sources,
            connections,
            wish,
            journal=session.home.outbox,
            wallet=session.address,
            limits=limits,
        )
