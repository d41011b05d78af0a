"""`zuno calibrate --hours FILE`: how often the card's probabilities would have come true."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.arguments import hours_file, read_file_name, read_hours_file
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer

_PERIOD = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


def read_period(text: str) -> str:
    if _PERIOD.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a year, month or day, like 2021, 2021-06 or 2021-06-30")
    return text


class Calibrate(Intent, frozen=True):
    command: ClassVar = ("calibrate",)
    arguments: ClassVar = (
        hours_file("open, high, low and close"),
        Argument(
            "--from",
            "the first year, month or day that is judged, UTC",
            metavar="DATE",
            field="begin",
            read=read_period,
        ),
        Argument("--to", "the last one", metavar="DATE", field="end", read=read_period),
        Argument("--png", "draw the curve into this file", metavar="FILE", read=read_file_name),
    )

    hours: Path
    begin: str | None = None
    end: str | None = None
    png: Path | None = None


def _run(arguments: Namespace) -> int:
    """Without the settings: a file is judged alike wherever it lies."""
    from zuno_tui.features.lab.calibrate import run_calibration
    from zuno_tui.present.answer import print_answer

    scored = run_calibration(arguments.hours, arguments.begin, arguments.end, arguments.png)
    return print_answer(scored, as_json=bool(arguments.json))


async def _answer(_session: Session, intent: Calibrate) -> CommandAnswer:
    import asyncio

    from zuno_tui.features.lab.calibrate import run_calibration

    return await asyncio.to_thread(
        run_calibration, intent.hours, intent.begin, intent.end, intent.png
    )


COMMAND = Command(
    does="score the printed odds on a file of prices",
    group=Group.ADVICE,
    reaches_network=False,
    intent=Calibrate,
    run=_run,
    answer=_answer,
    verbs=(Verb("calibrate", lambda said: Calibrate(read_hours_file(said)), "calibrate FILE"),),
)
