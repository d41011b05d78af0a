"""`zuno explain`: why a plan is what it is, turn by turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, with_plan
from zuno_tui.intents.intents import ExplainPlan

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining

_ASKED = ("did", "do", "does", "you", "recommend", "recommended", "choose", "chose", "pick")


def _read(said: Remaining) -> ExplainPlan:
    plan_id = said.plan()
    said.end_about_plan(*_ASKED)
    return ExplainPlan(plan_id)


COMMAND = Command(
    does="why the plan was chosen, and what speaks against it",
    group=Group.ADVICE,
    intent=ExplainPlan,
    answer=lambda session, intent: app.plans.explanation(session, intent.plan_id),
    verbs=(Verb("why", _read, spoken=("explain", "reasons", "show reasons"), possible=with_plan),),
    key="plan.explain",
)
