"""`refresh`: the desk reads everything again."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.commands.command import Command, Group, Intent, Verb
from zuno_tui.commands.possible import always

if TYPE_CHECKING:
    from zuno_tui.prompt.remaining import Remaining


class Refresh(Intent, frozen=True):
    command: ClassVar = ("positions",)

    @property
    def title(self) -> str:
        return "refresh"


def _read(said: Remaining) -> Refresh:
    said.end("everything", "all", "positions", "screen")
    return Refresh()


COMMAND = Command(
    name="refresh",
    does="read everything again",
    group=Group.DESK,
    intent=Refresh,
    on_command_line=False,
    verbs=(Verb("refresh", _read, spoken=("reload", "update")),),
    suggest=always(Refresh()),
    key="desk.refresh",
)
