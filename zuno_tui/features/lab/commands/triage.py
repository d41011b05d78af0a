"""`zuno triage --hours FILE`: how often the trade desk would have called a spike, and what came."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.arguments import hours_file, read_hours_file
from zuno_tui.intents.intent import Intent

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer


class CountSpikes(Intent, frozen=True):
    command: ClassVar = ("triage",)
    arguments: ClassVar = (hours_file("high, low, close, volume"),)

    hours: Path


def _run(arguments: Namespace) -> int:
    """Without the settings: a file is counted alike wherever it lies."""
    from zuno_tui.features.lab.triage import count_triage
    from zuno_tui.present.answer import print_answer

    return print_answer(count_triage(arguments.hours), as_json=bool(arguments.json))


async def _answer(_session: Session, intent: CountSpikes) -> CommandAnswer:
    import asyncio

    from zuno_tui.features.lab.triage import count_triage

    return await asyncio.to_thread(count_triage, intent.hours)


COMMAND = Command(
    does="count price spikes in a file of hours, and what followed",
    group=Group.ADVICE,
    reaches_network=False,
    intent=CountSpikes,
    run=_run,
    answer=_answer,
    verbs=(Verb("triage", lambda said: CountSpikes(read_hours_file(said)), "triage FILE"),),
)
