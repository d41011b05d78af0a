"""`zuno hedge ID`: the trade desk argues how much of a position's coins to sell short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.catalog.possible import of_selected, with_positions
from zuno_tui.features.trade.commands.trade import EMERGENCIES
from zuno_tui.features.trade.intents import Hedge

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


async def _answer(session: Session, intent: Hedge) -> CommandAnswer:
    from zuno_tui.features.trade.trade import hedged

    return await hedged(session, intent.token_id, intent.mode, emergency=intent.emergency)


def _read(said: Remaining) -> Hedge:
    emergency = said.one_of(EMERGENCIES)
    token_id = said.position()
    said.end("position", "delta", "of", "the", "my", "against", "from", "a", "fall", "losses")
    return Hedge(token_id, emergency=bool(emergency))


COMMAND = Command(
    name="hedge",
    does="let the trade desk argue how much of a position to hedge",
    group=Group.POSITION,
    intent=Hedge,
    answer=_answer,
    verbs=(
        Verb(
            "hedge",
            _read,
            "hedge ID",
            spoken=("should i hedge", "how much should i hedge of", "protect"),
            names="positions",
            possible=with_positions,
        ),
    ),
    suggest=of_selected(Hedge),
)
