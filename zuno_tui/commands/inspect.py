"""`zuno inspect ID`: everything that can be known about one position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, of_selected, with_positions
from zuno_tui.intents.intents import Inspect

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read(said: Remaining) -> Inspect:
    ref = said.position()
    said.end("position", "at", "details", "closely")
    return Inspect(ref)


COMMAND = Command(
    does="everything about one position",
    group=Group.POSITIONS,
    intent=Inspect,
    answer=lambda session, intent: app.inspect.position_answer(session, intent.ref),
    tells_old_block=True,
    verbs=(
        Verb(
            "inspect",
            _read,
            "inspect ID",
            spoken=("look at", "examine", "details", "details of", "status of", "position", "show"),
            names="positions",
            possible=with_positions,
        ),
    ),
    suggest=of_selected(Inspect),
    key="positions.inspect",
)
