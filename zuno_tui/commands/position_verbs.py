"""What can be asked about a position: to look, to argue, to take out, to put in, to leave."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chain.base.numerals import NumeralError, read_numeral, written
from zuno_tui.commands.intents import ChangePosition, CreatePosition, Inspect, Recommend, Show
from zuno_tui.commands.verb import Verb

if TYPE_CHECKING:
    from zuno_tui.commands.intents import ChangeVerb
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.remaining import Remaining

_AMOUNT = re.compile(r"[0-9.][0-9.,]*[kKmM]?", re.ASCII)
_PERCENT = re.compile(r"[0-9][0-9.]*%?", re.ASCII)
_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9.₮]{1,23}")


def _holds_something(context: PhraseContext) -> bool:
    return bool(context.positions)


def _positions(said: Remaining) -> Show:
    said.end("all", "list", "are", "is", "still", "we", "i", "have", "do", "out", "range", "any")
    return Show("positions")


def _inspect(said: Remaining) -> Inspect:
    token_id = said.position()
    said.end("position", "at", "details", "closely")
    return Inspect(token_id)


def _recommend(said: Remaining) -> Recommend:
    profile = said.profile()
    token_id = said.position()
    said.end("rebalance", "rebalancing", "rebalances", "position", "with", "do", "i", "range")
    return Recommend(token_id, profile)


def _create(said: Remaining) -> CreatePosition:
    if not any(character.isdigit() for character in said.text):
        said.refuse("how much of what.", "create 0.5 WETH with USDC, conservative")
    return CreatePosition(said.text)


def _collect(said: Remaining) -> ChangePosition:
    return _of_position("collect", said, "fees", "fee", "from")


def _compound(said: Remaining) -> ChangePosition:
    return _of_position("compound", said, "fees", "fee", "back", "into")


def _close(said: Remaining) -> ChangePosition:
    return _of_position("close", said, "from", "out")


def _of_position(verb: ChangeVerb, said: Remaining, *fillers: str) -> ChangePosition:
    token_id = said.position()
    said.end("position", *fillers)
    return ChangePosition(verb, (str(token_id),))


def _decrease(said: Remaining) -> ChangePosition:
    token_id = said.leading_position()
    percent = said.leading(_PERCENT)
    if percent is None:
        said.refuse("by how much.", f"decrease {token_id} 25%")
    said.end("position", "by", "percent", "%")
    return ChangePosition("decrease", (str(token_id), percent.removesuffix("%")))


def _increase(said: Remaining) -> ChangePosition:
    token_id = said.leading_position()
    amount = _amount(said, f"increase {token_id} 0.5 WETH")
    symbol = said.leading(_SYMBOL)
    if symbol is None:
        said.refuse("of which token.", f"increase {token_id} {amount} WETH")
    said.end("position", "by", "with")
    return ChangePosition("increase", (str(token_id), amount, symbol))


def _wrap(said: Remaining) -> ChangePosition:
    amount = _amount(said, "wrap 1")
    said.end("eth", "ether")
    return ChangePosition("wrap", (amount,))


def _unwrap(said: Remaining) -> ChangePosition:
    amount = _amount(said, "unwrap 1")
    said.end("weth", "eth", "ether")
    return ChangePosition("unwrap", (amount,))


def _amount(said: Remaining, example: str) -> str:
    text = said.leading(_AMOUNT)
    if text is None:
        said.refuse("how much.", example)
    try:
        numeral = read_numeral(text)
    except NumeralError:
        said.refuse(f"{text}: commas group thousands and a point starts the decimals.", example)
    if numeral.digits <= 0:
        said.refuse("how much: it must be more than zero.", example)
    # Spelled out, since the command line takes no 1,000 and no 1k.
    return written(numeral.digits * 10 ** max(0, -numeral.places), max(0, numeral.places)).replace(
        ",", ""
    )


POSITION_VERBS = (
    Verb(
        "positions",
        "positions",
        "every position of the wallet, freshly read",
        _positions,
        spoken=(
            "position list",
            "list positions",
            "show positions",
            "show my positions",
            "show me my positions",
            "show all positions",
            "my positions",
            "lp positions",
            "are we in range",
            "are we still in range",
            "which positions",
            "do i have any positions",
        ),
    ),
    Verb(
        "inspect",
        "inspect ID",
        "one position, everything that is known of it",
        _inspect,
        spoken=("look at", "examine", "details", "details of", "status of", "position", "show"),
        names="positions",
        possible=_holds_something,
    ),
    Verb(
        "recommend",
        "recommend ID [conservative|balanced|aggressive]",
        "let the four agents argue about a position",
        _recommend,
        spoken=(
            "recommend rebalance",
            "rebalance",
            "suggest",
            "advise",
            "argue about",
            "what should i do with",
            "what should i do about",
            "what about",
        ),
        names="positions",
        possible=_holds_something,
    ),
    Verb(
        "create",
        "create AMOUNT TOKEN/TOKEN [RISK]",
        "let the agents argue about a position to open",
        _create,
        spoken=(
            "open",
            "mint",
            "new position",
            "create a position",
            "create position",
            "open a position",
            "add liquidity",
            "provide liquidity",
            "provide",
        ),
    ),
    Verb(
        "collect",
        "collect ID",
        "prepare taking a position's fees out",
        _collect,
        spoken=("collect fees", "claim", "claim fees"),
        names="positions",
        money=True,
        possible=_holds_something,
    ),
    Verb(
        "compound",
        "compound ID",
        "prepare putting a position's fees back into it",
        _compound,
        spoken=("compound fees",),
        names="positions",
        money=True,
        possible=_holds_something,
    ),
    Verb(
        "increase",
        "increase ID AMOUNT TOKEN",
        "prepare putting more into a position",
        _increase,
        names="positions",
        money=True,
        possible=_holds_something,
    ),
    Verb(
        "decrease",
        "decrease ID PERCENT",
        "prepare taking a part of a position out",
        _decrease,
        spoken=("reduce",),
        names="positions",
        money=True,
        possible=_holds_something,
    ),
    Verb(
        "close",
        "close ID",
        "prepare leaving a position",
        _close,
        spoken=("close position", "withdraw", "leave"),
        names="positions",
        money=True,
        possible=_holds_something,
    ),
    Verb("wrap", "wrap AMOUNT", "prepare turning ETH into WETH", _wrap, money=True),
    Verb("unwrap", "unwrap AMOUNT", "prepare turning WETH into ETH", _unwrap, money=True),
)
