"""`quit`: close the desk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.commands.command import Command, Group, Intent, Verb

if TYPE_CHECKING:
    from zuno_tui.prompt.remaining import Remaining


class Quit(Intent, frozen=True):
    @property
    def twin(self) -> str:
        return "Ctrl-D"


def _read(said: Remaining) -> Quit:
    said.end("zuno", "desk")
    return Quit()


COMMAND = Command(
    name="quit",
    does="close the desk",
    group=Group.DESK,
    intent=Quit,
    on_command_line=False,
    verbs=(Verb("quit", _read, spoken=("bye", "goodbye", ":q", "q")),),
    key="desk.quit",
)
