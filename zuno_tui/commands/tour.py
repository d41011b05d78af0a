"""`zuno tour`: five minutes through what there is, one command after the other."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Intent, Verb

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


class TakeTour(Intent, frozen=True):
    command: ClassVar = ("tour",)


def _run(arguments: Namespace) -> int:
    from zuno_tui.app.tour import run

    return run(arguments)


async def _answer(_session: Session, _intent: TakeTour) -> CommandAnswer:
    from zuno_tui.app.tour import desk_tour

    return desk_tour()


def _read(said: Remaining) -> TakeTour:
    said.end("guided", "of", "the", "desk")
    return TakeTour()


COMMAND = Command(
    name="tour",
    does="a guided tour of five minutes",
    group=Group.HOUSE,
    intent=TakeTour,
    run=_run,
    answer=_answer,
    verbs=(Verb("tour", _read, spoken=("take tour", "show me around")),),
)
