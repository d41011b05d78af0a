"""`zuno unwrap AMOUNT`: approve turning WETH into ETH."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.arguments import AMOUNT
from zuno_tui.catalog.command import Command, Group, Intent, Verb

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.command import OrderMaker
    from zuno_tui.prompt.remaining import Remaining


class UnwrapEth(Intent, frozen=True):
    command: ClassVar = ("unwrap",)
    arguments: ClassVar = (AMOUNT,)

    amount: Numeral


def _order(_session: Session, intent: UnwrapEth) -> OrderMaker:
    from zuno_tui.gate.orders.wallet import order_to_unwrap

    return lambda sources: order_to_unwrap(sources, intent.amount)


def _read(said: Remaining) -> UnwrapEth:
    amount = said.amount("unwrap 1")
    said.end("weth", "eth", "ether")
    return UnwrapEth(amount)


COMMAND = Command(
    name="unwrap",
    does="prepare turning WETH into ETH",
    group=Group.WALLET,
    intent=UnwrapEth,
    order=_order,
    verbs=(Verb("unwrap", _read, "unwrap AMOUNT", money=True),),
)
