"""`zuno exit-drill`: try closing every position now, and say what would come back or why not."""

from typing import ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, alone, always
from zuno_tui.intents.intent import Intent


class ExitDrill(Intent, frozen=True):
    command: ClassVar = ("exit-drill",)


COMMAND = Command(
    does="try closing every position now, without sending",
    group=Group.POSITIONS,
    intent=ExitDrill,
    answer=lambda session, _: app.exit_drill.exit_drill(session),
    verbs=(Verb("exit drill", alone(ExitDrill(), "all"), spoken=("exit-drill", "drill")),),
    suggest=always(ExitDrill()),
)
