"""`zuno diff PLAN`: what is held against what a plan would make of it, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, of_plan, with_plan
from zuno_tui.intents.intents import DiffPlan

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read(said: Remaining) -> DiffPlan:
    plan_id, candidate = said.plan(), said.candidate()
    said.end_about_plan("changes")
    return DiffPlan(plan_id, candidate)


COMMAND = Command(
    does="compare the old range with the new one",
    group=Group.ADVICE,
    intent=DiffPlan,
    answer=lambda session, intent: app.diff.plan_difference(
        session, intent.plan_id, intent.candidate
    ),
    tells_old_block=True,
    verbs=(
        Verb(
            "diff",
            _read,
            "diff [A|B|close]",
            spoken=(
                *("show diff", "show the diff", "show me the diff", "delta", "changes"),
                *("what changes", "what would change", "what will change"),
            ),
            names="candidates",
            possible=with_plan,
        ),
    ),
    suggest=of_plan(DiffPlan),
    key="plan.diff",
)
