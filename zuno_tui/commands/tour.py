"""`zuno tour`: five minutes through what there is, one command after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Intent

if TYPE_CHECKING:
    from argparse import Namespace


class TakeTour(Intent, frozen=True):
    command: ClassVar = ("tour",)


def _run(arguments: Namespace) -> int:
    from zuno_tui.app.tour import run

    return run(arguments)


COMMAND = Command(
    name="tour",
    does="a guided tour of five minutes",
    group=Group.HOUSE,
    intent=TakeTour,
    run=_run,
)
