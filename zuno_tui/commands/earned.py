"""`zuno earned [PERIOD]`: what positions earned and lost by day, each and summed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, with_positions
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining
    from zuno_tui.present.pages.earned import EarningPeriod

_PERIODS: tuple[EarningPeriod, ...] = ("today", "yesterday", "week", "month", "all")


class ShowEarned(Intent, frozen=True):
    command: ClassVar = ("earned",)
    arguments: ClassVar = (
        Argument("period", "UTC days; a week where none is given", choices=_PERIODS),
    )

    period: EarningPeriod | None = None


def _read(said: Remaining) -> ShowEarned:
    period = said.one_of({name: name for name in _PERIODS})
    said.end("this", "last", "past", "time", known=f" Known periods: {', '.join(_PERIODS)}.")
    return ShowEarned(period)


COMMAND = Command(
    does="fees and losses of your positions, day by day",
    examples=("zuno earned week",),
    group=Group.POSITIONS,
    intent=ShowEarned,
    answer=lambda session, intent: app.earned.wallet_earned(session, intent.period or "week"),
    tells_old_block=True,
    verbs=(Verb("earned", _read, f"earned [{'|'.join(_PERIODS)}]", possible=with_positions),),
)
