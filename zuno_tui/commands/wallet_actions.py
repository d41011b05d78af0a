"""`zuno wrap|unwrap AMOUNT`, `zuno swap AMOUNT TOKEN FOR`: what is done with the wallet's coins."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.app.feature import ActionMaker
from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.arguments import AMOUNT
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from zuno_tui.app.session import Session
    from zuno_tui.intents.remaining import Remaining


class WrapEth(Intent, frozen=True):
    command: ClassVar = ("wrap",)
    arguments: ClassVar = (AMOUNT,)

    amount: Numeral


class UnwrapEth(Intent, frozen=True):
    command: ClassVar = ("unwrap",)
    arguments: ClassVar = (AMOUNT,)

    amount: Numeral


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


def _wrap(_session: Session, intent: WrapEth) -> ActionMaker:
    from zuno_tui.gate.actions.wallet import action_to_wrap

    return lambda sources: action_to_wrap(sources, intent.amount)


def _unwrap(_session: Session, intent: UnwrapEth) -> ActionMaker:
    from zuno_tui.gate.actions.wallet import action_to_unwrap

    return lambda sources: action_to_unwrap(sources, intent.amount)


def _swap(_session: Session, intent: SwapTokens) -> ActionMaker:
    from zuno_tui.gate.actions.swap import action_to_swap

    return lambda sources: action_to_swap(sources, intent.amount, intent.sold, intent.bought)


def _read_wrap(said: Remaining) -> WrapEth:
    amount = said.amount("wrap 1")
    said.end("eth", "ether")
    return WrapEth(amount)


def _read_unwrap(said: Remaining) -> UnwrapEth:
    amount = said.amount("unwrap 1")
    said.end("weth", "eth", "ether")
    return UnwrapEth(amount)


def _read_swap(said: Remaining) -> SwapTokens:
    amount = said.amount("swap 0.5 WETH USDC")
    sold = said.symbol("swap 0.5 WETH USDC").upper()
    said.one_of({"into": True})
    bought = said.symbol("swap 0.5 WETH USDC").upper()
    said.end()
    return SwapTokens(amount, sold, bought)


COMMANDS = (
    Command(
        does="turn ETH into WETH",
        group=Group.ACTING,
        intent=WrapEth,
        action=_wrap,
        verbs=(Verb("wrap", _read_wrap, "wrap AMOUNT", money=True),),
    ),
    Command(
        does="turn WETH into ETH",
        group=Group.ACTING,
        intent=UnwrapEth,
        action=_unwrap,
        verbs=(Verb("unwrap", _read_unwrap, "unwrap AMOUNT", money=True),),
    ),
    Command(
        does="sell one token for another",
        examples=("zuno swap 0.5 WETH USDC",),
        group=Group.ACTING,
        intent=SwapTokens,
        action=_swap,
        verbs=(Verb("swap", _read_swap, "swap AMOUNT TOKEN FOR", spoken=("sell",), money=True),),
    ),
)
