"""`zuno approve PLAN`: build, try, read back and judge its transactions; nothing is signed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from zuno_tui.app.feature import ActionMaker
from zuno_tui.catalog.command import Command, Group, Verb, with_plan
from zuno_tui.intents.intents import Approve

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.intents.context import PhraseContext
    from zuno_tui.intents.remaining import Remaining
    from zuno_tui.present.answer import CommandAnswer


def _action(session: Session, intent: Approve) -> ActionMaker | None:
    from zuno_tui.app.plans import plan_flow, stored_plan

    if plan_flow(session, intent.plan_id) is not None:
        return None  # it is sent to a venue, not signed: approved by its answer
    from zuno_tui.app.approve import action_of_candidate

    plan = stored_plan(session, intent.plan_id).plan
    return action_of_candidate(session, plan, intent.candidate)


async def _answer(session: Session, intent: Approve) -> CommandAnswer:
    from zuno_tui.app.plans import plan_flow

    flow = plan_flow(session, intent.plan_id)
    if flow is None:
        raise LookupError("A plan about liquidity is approved by its action.")
    return await flow.approve(session, intent.plan_id)


def _read(said: Remaining) -> Approve:
    plan_id, candidate = said.plan(), said.candidate()
    said.end_about_plan("number")
    return Approve(plan_id, candidate)


def _suggest(context: PhraseContext) -> Iterator[str]:
    if not context.applied:
        yield from (f"approve {candidate}" for candidate in context.candidates)


COMMAND = Command(
    does="build and check a plan's transactions; nothing is signed",
    group=Group.ACTING,
    intent=Approve,
    action=_action,
    answer=_answer,
    verbs=(
        Verb(
            "approve",
            _read,
            "approve [A|B|close]",
            names="candidates",
            money=True,
            possible=with_plan,
        ),
    ),
    suggest=_suggest,
    key="desk.approve",
)
