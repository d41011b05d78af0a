"""`zuno exit-drill`: try closing every position now, and say what would come back or why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Intent, Verb
from zuno_tui.catalog.possible import always

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


class ExitDrill(Intent, frozen=True):
    command: ClassVar = ("exit-drill",)


async def _answer(session: Session, _asked: ExitDrill) -> CommandAnswer:
    from zuno_tui.app.exit_drill import exit_drill

    return await exit_drill(session)


def _read(said: Remaining) -> ExitDrill:
    said.end("all")
    return ExitDrill()


COMMAND = Command(
    name="exit-drill",
    does="try closing every position now; send nothing",
    group=Group.WALLET,
    intent=ExitDrill,
    answer=_answer,
    verbs=(Verb("exit drill", _read, spoken=("exit-drill", "drill")),),
    suggest=always(ExitDrill()),
)
