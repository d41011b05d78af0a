"""`zuno market pause`: the clock of the embedded chain's market, turned from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.app.market_clock import MarketAction, MarketClock
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.prompt.phrase_error import PhraseError

if TYPE_CHECKING:
    from zuno_tui.app.session import Session


async def market_turned(session: Session, action: MarketAction) -> CommandAnswer:
    if session.network.clock != "head":
        raise PhraseError(
            f"{session.network.title} has no clock to turn: only the embedded chain's market has. "
            "Start one with: zuno demo",
            "",
        )
    clock = MarketClock(session.endpoints[0])
    try:
        trading = await clock.turn(action)
    finally:
        await clock.close()
    return CommandAnswer(
        lines=(f"{trading.words.capitalize()}.",),
        document={"network": session.network.name, "speed": trading.speed, "phase": trading.phase},
    )
