"""`zuno simulate PLAN`: try its transactions on the chain as it is now; nothing is approved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, of_plan, with_plan
from zuno_tui.intents.intents import SimulatePlan

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read(said: Remaining) -> SimulatePlan:
    plan_id, candidate = said.plan(), said.candidate()
    said.end_about_plan("run")
    return SimulatePlan(plan_id, candidate)


COMMAND = Command(
    does="try a plan without approving it",
    group=Group.ACTING,
    intent=SimulatePlan,
    answer=lambda session, intent: app.approve.simulate_plan(
        session, intent.plan_id, intent.candidate
    ),
    verbs=(
        Verb(
            "simulate",
            _read,
            "simulate [A|B|close]",
            spoken=("dry run", "dry-run", "preview", "try"),
            names="candidates",
            possible=with_plan,
        ),
    ),
    suggest=of_plan(SimulatePlan),
    key="plan.simulate",
)
