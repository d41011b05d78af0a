"""`zuno manual`: the manual page, made from the commands themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group
from zuno_tui.intents.intent import Intent

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer


class PrintManual(Intent, frozen=True):
    command: ClassVar = ("manual",)


async def _answer(_session: Session, _asked: PrintManual) -> CommandAnswer:
    from zuno_tui.commands.catalog.shell_completion import manual_page

    return manual_page()


COMMAND = Command(
    does="the manual page, for man to show",
    group=Group.SETUP,
    reaches_network=False,
    intent=PrintManual,
    answer=_answer,
    examples=("zuno manual > ~/.local/share/man/man1/zuno.1", "zuno manual | man -l -"),
)
