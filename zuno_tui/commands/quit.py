"""`quit`: close the desk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.catalog.intents import Quit

if TYPE_CHECKING:
    from zuno_tui.prompt.remaining import Remaining


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
