"""`zuno hedge-check --hours FILE`: hedged against unhedged weeks, by target and band."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.features.trade.intents import read_share, write_share
from zuno_tui.intents.arguments import hours_file, read_hours_file
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer

_WIDTH = 0.1


class HedgeCheck(Intent, frozen=True):
    command: ClassVar = ("hedge-check",)
    arguments: ClassVar = (
        hours_file("open, high, low and close"),
        Argument(
            "--width",
            "half the range's width, like 10%",
            metavar="SHARE",
            read=read_share,
            write=write_share,
        ),
    )

    hours: Path
    width: float = _WIDTH


def _run(arguments: Namespace) -> int:
    """Without the settings: a file is judged alike wherever it lies."""
    from zuno_tui.features.trade.hedge_check import hedge_checked
    from zuno_tui.present.answer import print_answer

    checked = hedge_checked(arguments.hours, arguments.width)
    return print_answer(checked, as_json=bool(arguments.json))


async def _answer(_session: Session, intent: HedgeCheck) -> CommandAnswer:
    import asyncio

    from zuno_tui.features.trade.hedge_check import hedge_checked

    return await asyncio.to_thread(hedge_checked, intent.hours, intent.width)


COMMAND = Command(
    does="what a hedge would have changed in past weeks",
    group=Group.TRADING,
    reaches_network=False,
    intent=HedgeCheck,
    run=_run,
    answer=_answer,
    verbs=(
        Verb("hedge-check", lambda said: HedgeCheck(read_hours_file(said)), "hedge-check FILE"),
    ),
)
