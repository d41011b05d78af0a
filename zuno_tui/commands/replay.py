"""`zuno replay RECORD`: a debate again from its record, with no model and no chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intents import Replay

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read(said: Remaining) -> Replay:
    record = said.record()
    said.end("debate", "record", "again")
    return Replay(record)


COMMAND = Command(
    does="replay a debate from its record",
    group=Group.ADVICE,
    intent=Replay,
    run=lambda arguments: app.replay.run(arguments),
    verbs=(Verb("replay", _read, "replay RECORD", names="records"),),
)
