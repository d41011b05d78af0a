"""`zuno alert ETH below 3000`: to be told when a price crosses a level, by the running monitor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intent import Argument, Intent
from zuno_tui.intents.intents import ShowAlert

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.intents.context import PhraseContext
    from zuno_tui.intents.remaining import Remaining
    from zuno_tui.present.answer import CommandAnswer

LIST, REMOVE = "list", "remove"
_EXAMPLE = "alert ETH below 3000"
_SIDES = {
    **dict.fromkeys(("below", "under", "<"), "below"),
    **dict.fromkeys(("above", "over", ">"), "above"),
}
_LEVEL = re.compile(r"\$?[0-9.][0-9.,]*[kKmM]?", re.ASCII)
_NUMBER = re.compile(r"#?[0-9]{1,9}", re.ASCII)


class SetPriceAlert(Intent, frozen=True):
    """Without words, a list of them."""

    command: ClassVar = ("alert",)
    arguments: ClassVar = (
        Argument("symbol", "a token, like ETH; or list, or remove", metavar="SYMBOL|list|remove"),
        Argument("side", "below or above; or the number to remove", metavar="below|above|N"),
        Argument("level", "a price in US dollars, like 3000", metavar="PRICE"),
    )

    symbol: str | None = None
    side: str | None = None
    level: str | None = None


async def _answer(session: Session, intent: SetPriceAlert) -> CommandAnswer:
    from zuno_tui.app.alerts import create_price_alert, list_price_alerts, remove_price_alert

    match intent.symbol:
        case None | "list":
            return list_price_alerts(session)
        case "remove":
            return remove_price_alert(session, intent.side)
        case symbol:
            return await create_price_alert(session, symbol, intent.side, intent.level)


def _read(said: Remaining) -> SetPriceAlert | ShowAlert:
    if not said:
        return SetPriceAlert()
    if said.one_of({REMOVE: True, "delete": True}):
        number = said.take_matching(_NUMBER)
        if number is None:
            said.refuse("which price alert: `alert` lists them.", "alert")
        said.end("alert", "price", "number")
        return SetPriceAlert(REMOVE, number.removeprefix("#"))
    if said.one_of({LIST: True}):
        said.end()
        return SetPriceAlert()
    if _NUMBER.fullmatch(said.text.strip()):
        return ShowAlert(said.alert())
    side, level = said.one_of(_SIDES), said.take_matching(_LEVEL)
    symbol = said.symbol(_EXAMPLE)
    if side is None or level is None:
        said.refuse("at which price: below or above how many dollars.", _EXAMPLE)
    said.end("me", "when", "if", "is", "goes", "price")
    return SetPriceAlert(symbol.upper(), side, _spelled_out(level, said))


def _spelled_out(level: str, said: Remaining) -> str:
    from chain.base.units import NumeralError, read_numeral, spelled_out

    try:
        return spelled_out(read_numeral(level.removeprefix("$")))
    except NumeralError:
        said.refuse(f"{level}: commas group thousands and a point starts the decimals.", _EXAMPLE)


def _suggest(context: PhraseContext) -> Iterator[SetPriceAlert | str]:
    yield SetPriceAlert()
    symbols = dict.fromkeys(
        symbol for position in context.held or () for symbol in position.symbols
    )
    yield from (f"alert {symbol} below " for symbol in symbols)


COMMAND = Command(
    does="set a price alert",
    examples=("zuno alert ETH below 3000", "zuno alert", "zuno alert remove 2"),
    group=Group.WATCHING,
    intent=SetPriceAlert,
    answer=_answer,
    verbs=(
        Verb("alert", _read, "alert SYMBOL below|above PRICE; alert N", spoken=("price alert",)),
    ),
    suggest=_suggest,
)
