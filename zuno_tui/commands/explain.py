"""`zuno explain`: why a plan is what it is, turn by turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.catalog.intents import ExplainPlan
from zuno_tui.catalog.possible import with_plan

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


async def _answer(session: Session, intent: ExplainPlan) -> CommandAnswer:
    from zuno_tui.app.explain import explanation
    from zuno_tui.app.plans import stored_plan

    return explanation(stored_plan(session, intent.plan_id))


_ASKED = ("did", "do", "does", "you", "recommend", "recommended", "choose", "chose", "pick")


def _read(said: Remaining) -> ExplainPlan:
    plan_id = said.plan()
    said.end_about_plan(*_ASKED)
    return ExplainPlan(plan_id)


COMMAND = Command(
    name="explain",
    does="what was argued for and against the plan",
    group=Group.PLAN,
    intent=ExplainPlan,
    answer=_answer,
    verbs=(
        Verb(
            "why",
            _read,
            spoken=("explain", "reasons", "show reasons"),
            possible=with_plan,
        ),
    ),
    key="plan.explain",
)
