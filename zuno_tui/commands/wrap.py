"""`zuno wrap AMOUNT`: approve turning ETH into WETH."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.arguments import AMOUNT
from zuno_tui.catalog.command import Command, Group, Intent, Verb

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.command import OrderMaker
    from zuno_tui.prompt.remaining import Remaining


class WrapEth(Intent, frozen=True):
    command: ClassVar = ("wrap",)
    arguments: ClassVar = (AMOUNT,)

    amount: Numeral


def _order(_session: Session, intent: WrapEth) -> OrderMaker:
    from zuno_tui.gate.orders.wallet import order_to_wrap

    return lambda sources: order_to_wrap(sources, intent.amount)


def _read(said: Remaining) -> WrapEth:
    amount = said.amount("wrap 1")
    said.end("eth", "ether")
    return WrapEth(amount)


COMMAND = Command(
    name="wrap",
    does="prepare turning ETH into WETH",
    group=Group.WALLET,
    intent=WrapEth,
    order=_order,
    verbs=(Verb("wrap", _read, "wrap AMOUNT", money=True),),
)
