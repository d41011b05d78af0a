"""`pause`, `step`, `faster`: the clock of the embedded chain's market."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intents import SetMarketClock

if TYPE_CHECKING:
    from zuno_tui.intents.context import PhraseContext
    from zuno_tui.intents.intents import MarketAction
    from zuno_tui.intents.remaining import Remaining


def _verb(action: MarketAction, does: str, *spoken: str) -> Verb:
    def read(said: Remaining) -> SetMarketClock:
        said.end("market", "demo", "time", "clock", "go", "one")
        if not said.context.has_market:
            said.refuse(
                "of what: only the demo's market can be paused. Orders: orders stop, orders go.",
                "help demo",
            )
        return SetMarketClock(action)

    return Verb(
        action,
        read,
        does=does,
        spoken=(*spoken, f"market {action}"),
        possible=lambda context: context.has_market,
    )


def _suggest(context: PhraseContext) -> Iterator[SetMarketClock]:
    if context.has_market:
        yield SetMarketClock("resume" if context.market_paused else "pause")
        yield SetMarketClock("step")
        yield SetMarketClock("faster")
        yield SetMarketClock("slower")


COMMAND = Command(
    does="pause, step or speed up the demo's market",
    group=Group.SETUP,
    intent=SetMarketClock,
    answer=lambda session, intent: app.market.market_turned(session, intent.action),
    verbs=(
        _verb("pause", "stop the demo's market"),
        _verb("resume", "let the demo's market run again", "continue", "unpause"),
        _verb("step", "one block of the demo's market"),
        _verb("faster", "a faster market"),
        _verb("slower", "a slower market"),
    ),
    suggest=_suggest,
    key="market.pause",
)
