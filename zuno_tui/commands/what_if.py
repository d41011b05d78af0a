"""`zuno what-if SYMBOL PCT`: every position at another price, by the math of its range."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining

_CHANGE = re.compile(r"[+-]?[0-9]{1,4}(?:\.[0-9]{1,4})?%?", re.ASCII)
_LEVEL = re.compile(r"\$?[0-9][0-9.,]*[kK]?", re.ASCII)
_LEAST = -100


def read_change(text: str) -> str:
    if _CHANGE.fullmatch(text) is None or float(text.rstrip("%")) <= _LEAST:
        raise ValueError(f"{text!r} is not a change in percent above -100, like -10 or 25")
    return text.removesuffix("%").removeprefix("+")


def read_level(text: str) -> str:
    from chain.base.units import read_numeral
    from zuno_tui.intents.arguments import write_amount

    level = read_numeral(text.removeprefix("$"))
    if level.digits <= 0:
        raise ValueError("a price must be above zero")
    return write_amount(level)


class WhatIf(Intent, frozen=True):
    command: ClassVar = ("what-if",)
    arguments: ClassVar = (
        Argument("symbol", "the token whose price changes, like ETH", metavar="SYMBOL"),
        Argument("change", "by how many percent, like -10", metavar="PCT", read=read_change),
        Argument("--at", "instead: at this price in US dollars", metavar="PRICE", read=read_level),
    )

    symbol: str
    change: str | None = None
    at: str | None = None


def _read(said: Remaining) -> WhatIf:
    example = "what-if ETH -10"
    symbol = said.symbol(example)
    try:
        if said.text.startswith("at "):
            level = said.take_leading(_LEVEL)
            intent = WhatIf(symbol, at=read_level(level or ""))
        else:
            change = said.take_leading(_CHANGE)
            if change is None:
                said.refuse("by how many percent.", example)
            intent = WhatIf(symbol, read_change(change))
    except ValueError as error:
        said.refuse(f"that: {error}.", example)
    said.end("percent", "%")
    return intent


COMMAND = Command(
    does="show every position at another price",
    examples=("zuno what-if ETH -10", "zuno what-if ETH --at 2500"),
    group=Group.POSITIONS,
    intent=WhatIf,
    answer=lambda session, intent: app.what_if.positions_at(
        session, intent.symbol, intent.change, intent.at
    ),
    tells_old_block=True,
    verbs=(Verb("what-if", _read, "what-if SYMBOL PCT"),),
)
