"""`zuno price SYMBOL`: what a token is worth now, and where that is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Argument, Command, Group, Intent, Verb

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


class ShowPrice(Intent, frozen=True):
    command: ClassVar = ("price",)
    arguments: ClassVar = (
        Argument("symbol", "a token of the network, like ETH", metavar="SYMBOL"),
    )

    symbol: str


async def _answer(session: Session, intent: ShowPrice) -> CommandAnswer:
    from zuno_tui.app.price import token_price

    return await token_price(session, intent.symbol)


def _read(said: Remaining) -> ShowPrice:
    symbol = said.symbol("price ETH").upper()
    said.end()
    return ShowPrice(symbol)


COMMAND = Command(
    name="price",
    does="what a token is worth now",
    group=Group.WATCH,
    intent=ShowPrice,
    answer=_answer,
    tells_old_block=True,
    verbs=(Verb("price", _read, "price SYMBOL", spoken=("price of",)),),
)
