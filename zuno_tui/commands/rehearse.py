"""`zuno rehearse [PLAN]`: carry out what is approved on a private copy of the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb, of_plan, with_plan
from zuno_tui.intents.intents import RehearsePlan

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.intents.remaining import Remaining
    from zuno_tui.present.answer import CommandAnswer


async def _answer(session: Session, intent: RehearsePlan) -> CommandAnswer:
    from chain.execution.outbox.outbox import Outbox
    from zuno_tui.app.rehearsal_report import rehearsal_answer
    from zuno_tui.gate.apply import unused_approval
    from zuno_tui.gate.rehearsal import rehearse

    async with session.sources() as sources:
        with Outbox.open(session.home.outbox) as outbox:
            approval, dispatch = unused_approval(outbox, intent.plan_id, None)
        rehearsal = await rehearse(sources, approval, dispatch, unit=session.settings.unit)
        return await rehearsal_answer(sources, rehearsal)


def _read(said: Remaining) -> RehearsePlan:
    plan_id = said.plan()
    said.end_about_plan("run")
    return RehearsePlan(plan_id)


COMMAND = Command(
    does="try what you approved on a private copy of the chain",
    group=Group.ACTING,
    intent=RehearsePlan,
    answer=_answer,
    verbs=(Verb("rehearse", _read, "rehearse", spoken=("rehearsal",), possible=with_plan),),
    suggest=of_plan(RehearsePlan),
    key="plan.rehearse",
)
