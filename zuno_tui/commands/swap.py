"""`zuno swap AMOUNT TOKEN FOR`: approve selling one token for another, where most is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.arguments import AMOUNT
from zuno_tui.catalog.command import Argument, Command, Group, Intent, Verb

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.command import OrderMaker
    from zuno_tui.prompt.remaining import Remaining


class SwapTokens(Intent, frozen=True):
    command: ClassVar = ("swap",)
    arguments: ClassVar = (
        AMOUNT,
        Argument("sold", "the token to sell, like WETH, or its address", metavar="TOKEN"),
        Argument("bought", "the token to buy, like USDC, or its address", metavar="FOR"),
    )

    amount: Numeral
    sold: str
    bought: str


def _order(_session: Session, intent: SwapTokens) -> OrderMaker:
    from zuno_tui.gate.orders.swap import order_to_swap

    return lambda sources: order_to_swap(sources, intent.amount, intent.sold, intent.bought)


def _read(said: Remaining) -> SwapTokens:
    amount = said.amount("swap 0.5 WETH USDC")
    sold = said.symbol("swap 0.5 WETH USDC").upper()
    said.one_of({"into": True})
    bought = said.symbol("swap 0.5 WETH USDC").upper()
    said.end()
    return SwapTokens(amount, sold, bought)


COMMAND = Command(
    name="swap",
    does="prepare selling one token for another",
    examples=("zuno swap 0.5 WETH USDC",),
    group=Group.WALLET,
    intent=SwapTokens,
    order=_order,
    verbs=(Verb("swap", _read, "swap AMOUNT TOKEN FOR", spoken=("sell",), money=True),),
)
