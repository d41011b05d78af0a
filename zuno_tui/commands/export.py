"""`zuno export PLAN`: the approved transactions, unsigned, for a Safe or a hardware wallet."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, of_plan, with_plan
from zuno_tui.intents.arguments import PLAN
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining

_SAFE = "safe"


class ExportPlan(Intent, frozen=True):
    command: ClassVar = ("export",)
    arguments: ClassVar = (
        PLAN,
        Argument(
            "--format",
            "a batch for the Safe Transaction Builder (default), or a list for hardware wallets",
            choices=(_SAFE, "raw"),
        ),
    )

    plan_id: str | None = None
    format: str = _SAFE


def _read(said: Remaining) -> ExportPlan:
    plan_id = said.plan()
    said.end_about_plan("transactions")
    return ExportPlan(plan_id)


COMMAND = Command(
    does="write unsigned transactions for another signer or a Safe",
    group=Group.ACTING,
    intent=ExportPlan,
    answer=lambda session, intent: app.export.export_approval(
        session, intent.plan_id, for_safe=intent.format == _SAFE
    ),
    verbs=(Verb("export", _read, "export [PLAN]", possible=with_plan),),
    suggest=of_plan(ExportPlan),
)
