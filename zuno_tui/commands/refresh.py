"""`refresh`: the desk reads everything again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.catalog.intents import Refresh
from zuno_tui.catalog.possible import always

if TYPE_CHECKING:
    from zuno_tui.prompt.remaining import Remaining


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
