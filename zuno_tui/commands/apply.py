"""`zuno apply PLAN`: sign and send what was approved, once, and read back what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intents import Apply

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read(said: Remaining) -> Apply:
    plan_id = said.plan()
    said.end("plan", "now")
    return Apply(plan_id)


COMMAND = Command(
    does="sign and send what you approved, after a typed word",
    group=Group.ACTING,
    intent=Apply,
    run=lambda arguments: app.outbox.run_apply(arguments),
    verbs=(Verb("apply", _read, money=True, possible=lambda context: context.approved),),
)
