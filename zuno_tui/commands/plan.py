"""`zuno plan`: a plan that was made, the latest by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import Show, ShowPlan

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.intents.remaining import Remaining
    from zuno_tui.present.answer import CommandAnswer


async def _answer(session: Session, intent: ShowPlan) -> CommandAnswer:
    from zuno_tui.app.plans import plan_flow, stored_plan

    if (flow := plan_flow(session, intent.plan_id)) is not None:
        return flow.show(session, intent.plan_id)
    from zuno_tui.present.plan_card import plan_answer

    argued = stored_plan(session, intent.plan_id)
    with session.open_store() as store:
        return plan_answer(argued, store)


def _read(said: Remaining) -> Intent:
    plan_id = said.plan()
    said.end_about_plan("card", "latest", "options", "are")
    return Show("plan") if plan_id is None else ShowPlan(plan_id)


COMMAND = Command(
    does="show a plan again",
    group=Group.ADVICE,
    intent=ShowPlan,
    answer=_answer,
    verbs=(
        Verb(
            "plan",
            _read,
            "plan [PLAN]",
            spoken=("show plan", "show the plan", "options", "what are my options", "show options"),
        ),
    ),
)
