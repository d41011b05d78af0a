"""`zuno replay RECORD`: a debate again from its record, with no model and no chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.commands.command import Argument, Command, Group, Intent, Verb

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.prompt.remaining import Remaining


class Replay(Intent, frozen=True):
    command: ClassVar = ("replay",)
    arguments: ClassVar = (Argument("record", "a record's file or request id", metavar="RECORD"),)

    record: str


def _run(arguments: Namespace) -> int:
    from zuno_tui.app.replay import run

    return run(arguments)


def _read(said: Remaining) -> Replay:
    record = said.record()
    said.end("debate", "record", "again")
    return Replay(record)


COMMAND = Command(
    name="replay",
    does="a debate again, from its record alone",
    group=Group.PLAN,
    intent=Replay,
    run=_run,
    verbs=(Verb("replay", _read, "replay RECORD", names="records"),),
)
