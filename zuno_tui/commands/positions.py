"""`zuno positions`: every position of a wallet, counted, at one block."""

from typing import ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, alone
from zuno_tui.intents.intent import Argument, Intent
from zuno_tui.intents.intents import Show


class ListPositions(Intent, frozen=True):
    command: ClassVar = ("positions",)
    arguments: ClassVar = (Argument("--since-entry", "add profit against holding", switch=True),)

    since_entry: bool = False


COMMAND = Command(
    does="your positions, read now",
    group=Group.POSITIONS,
    intent=ListPositions,
    answer=lambda session, intent: app.positions.wallet_positions(
        session, since_entry=intent.since_entry
    ),
    tells_old_block=True,
    verbs=(
        Verb(
            "positions",
            alone(
                Show("positions"),
                "all",
                "list",
                "are",
                "is",
                "still",
                "we",
                "i",
                "have",
                "do",
                "out",
                "range",
                "any",
            ),
            spoken=(
                *("position list", "list positions", "show positions", "show my positions"),
                *("show me my positions", "show all positions", "my positions", "lp positions"),
                *("are we in range", "are we still in range", "which positions"),
                "do i have any positions",
            ),
        ),
    ),
)
