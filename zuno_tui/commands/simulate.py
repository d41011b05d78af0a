"""`zuno simulate PLAN`: try its transactions on the chain as it is now; nothing is approved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.catalog.intents import SimulatePlan
from zuno_tui.catalog.possible import of_plan, with_plan

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


async def _answer(session: Session, intent: SimulatePlan) -> CommandAnswer:
    from zuno_tui.app.approve import simulated

    return await simulated(session, intent.plan_id, intent.candidate)


def _read(said: Remaining) -> SimulatePlan:
    plan_id, candidate = said.plan(), said.candidate()
    said.end_about_plan("run")
    return SimulatePlan(plan_id, candidate)


COMMAND = Command(
    name="simulate",
    does="try the plan on the chain's state; approve nothing",
    group=Group.PLAN,
    intent=SimulatePlan,
    answer=_answer,
    verbs=(
        Verb(
            "simulate",
            _read,
            "simulate [N|exit]",
            spoken=("dry run", "dry-run", "preview", "try"),
            names="candidates",
            possible=with_plan,
        ),
    ),
    suggest=of_plan(SimulatePlan),
    key="plan.simulate",
)
