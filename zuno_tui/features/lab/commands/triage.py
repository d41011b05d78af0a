"""`zuno triage --hours FILE`: how often the trade desk would have called a spike, and what came."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.arguments import read_file_name
from zuno_tui.catalog.command import Argument, Command, Group, Intent, OneOf, Verb

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


class CountSpikes(Intent, frozen=True):
    command: ClassVar = ("triage",)
    arguments: ClassVar = (
        OneOf(
            (
                Argument(
                    "--hours",
                    "a CSV with time (when the hour began), high, low, close, volume; .gz too",
                    metavar="FILE",
                    read=read_file_name,
                ),
            ),
            required=True,
        ),
    )

    hours: Path


def _run(arguments: Namespace) -> int:
    """Without the settings: a file is counted alike wherever it lies."""
    from zuno_tui.features.lab.triage import counted
    from zuno_tui.present.answer import print_answer

    return print_answer(counted(arguments.hours), as_json=bool(arguments.json))


async def _answer(_session: Session, intent: CountSpikes) -> CommandAnswer:
    import asyncio

    from zuno_tui.features.lab.triage import counted

    return await asyncio.to_thread(counted, intent.hours)


def _read(said: Remaining) -> CountSpikes:
    if not said:
        said.refuse("which file of hours.", "triage FILE")
    return CountSpikes(read_file_name(said.text))


COMMAND = Command(
    name="triage",
    does="count the trade desk's spikes on a file of hours, and what followed",
    group=Group.HOUSE,
    reaches_network=False,
    intent=CountSpikes,
    run=_run,
    answer=_answer,
    verbs=(Verb("triage", _read, "triage FILE"),),
)
