"""`zuno debate-check`: what a model adds, on situations that were recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.arguments import read_file_name
from zuno_tui.catalog.command import Argument, Command, Group, Intent, Verb

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining

_SITUATIONS = 5
_TIMES = 2
_MOST = 1_000


def _read_count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= _MOST:
        raise ValueError(f"{text!r} is no whole number from 1 to {_MOST:,}")
    return int(text)


class CheckDebates(Intent, frozen=True):
    command: ClassVar = ("debate-check",)
    arguments: ClassVar = (
        Argument("record", "a record's file or request id alone", metavar="RECORD", optional=True),
        Argument(
            "-n",
            "so many of the latest records",
            metavar="N",
            field="situations",
            read=_read_count,
            default=_SITUATIONS,
        ),
        Argument(
            "--times",
            "how often the model argues about each",
            metavar="N",
            read=_read_count,
            default=_TIMES,
        ),
        Argument("--records", "instead of the home's records", metavar="DIR", read=read_file_name),
    )

    record: str | None = None
    situations: int = _SITUATIONS
    times: int = _TIMES
    records: Path | None = None


async def _answer(session: Session, intent: CheckDebates) -> CommandAnswer:
    from zuno_tui.features.lab.debate_check import DebateCheckOptions, checked_debates

    options = DebateCheckOptions(intent.record, intent.situations, intent.times, intent.records)
    return await checked_debates(session, options)


def _read(said: Remaining) -> CheckDebates:
    said.end("all", "model")
    return CheckDebates()


COMMAND = Command(
    name="debate-check",
    does="argue recorded situations anew, with the model and without",
    group=Group.HOUSE,
    intent=CheckDebates,
    answer=_answer,
    verbs=(Verb("debate check", _read, spoken=("debate-check", "check debates")),),
)
