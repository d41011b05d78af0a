"""`zuno price SYMBOL`: what a token is worth now, and where that is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


class ShowPrice(Intent, frozen=True):
    command: ClassVar = ("price",)
    arguments: ClassVar = (
        Argument("symbol", "a token of the network, like ETH", metavar="SYMBOL"),
    )

    symbol: str


def _read(said: Remaining) -> ShowPrice:
    symbol = said.symbol("price ETH").upper()
    said.end()
    return ShowPrice(symbol)


COMMAND = Command(
    does="what a token is worth now",
    group=Group.POSITIONS,
    intent=ShowPrice,
    answer=lambda session, intent: app.price.token_price(session, intent.symbol),
    tells_old_block=True,
    verbs=(Verb("price", _read, "price SYMBOL", spoken=("price of",)),),
)
