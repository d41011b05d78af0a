"""`zuno positions`: every position of a wallet, counted, at one block."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Argument, Command, Group, Intent, Verb
from zuno_tui.catalog.intents import Show

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


class ListPositions(Intent, frozen=True):
    command: ClassVar = ("positions",)
    arguments: ClassVar = (
        Argument("--since-entry", "add profit against holding", switch=True, default=False),
    )

    since_entry: bool = False


async def _answer(session: Session, intent: ListPositions) -> CommandAnswer:
    from zuno_tui.app.positions import wallet_positions

    return await wallet_positions(session, since_entry=intent.since_entry)


def _read(said: Remaining) -> Show:
    said.end("all", "list", "are", "is", "still", "we", "i", "have", "do", "out", "range", "any")
    return Show("positions")


COMMAND = Command(
    name="positions",
    does="every position of the wallet, freshly read",
    group=Group.POSITION,
    intent=ListPositions,
    answer=_answer,
    tells_old_block=True,
    verbs=(
        Verb(
            "positions",
            _read,
            spoken=(
                "position list",
                "list positions",
                "show positions",
                "show my positions",
                "show me my positions",
                "show all positions",
                "my positions",
                "lp positions",
                "are we in range",
                "are we still in range",
                "which positions",
                "do i have any positions",
            ),
        ),
    ),
)
