"""`zuno move ID LOW HIGH`: a plan that moves a position to a range of your own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, of_selected, with_positions
from zuno_tui.intents.intent import write_ref
from zuno_tui.intents.intents import MovePosition

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining

_PRICE = re.compile(r"\$?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)[kKmM]?", re.ASCII)


_NO_SWAP = re.compile(r"(?:--no-swap|without(?: a| any)? swap(?:ping)?|no swap)\s*$", re.IGNORECASE)


def _read(said: Remaining) -> MovePosition:
    ref = said.leading_position()
    example = f"move {write_ref(ref)} 2900 3300"
    if without := _NO_SWAP.search(said.text):
        rest = said.restart(said.text[: without.start()])
        if not rest.text.strip():
            return MovePosition(ref, no_swap=True)
        low, high = _price(rest, example), _price(rest, example)
        rest.end("between", "range", "-", "and")
        return MovePosition(ref, low, high, no_swap=True)
    low, high = _price(said, example), _price(said, example)
    said.end("between", "range", "-", "and")
    return MovePosition(ref, low, high)


def _price(said: Remaining, example: str) -> str:
    from chain.base.units import NumeralError, read_numeral, spelled_out

    typed = said.take_leading(_PRICE)
    if typed is None:
        said.refuse("between which two prices.", example)
    try:
        return spelled_out(read_numeral(typed.removeprefix("$")))
    except NumeralError:
        said.refuse(f"{typed}: commas group thousands, a point starts decimals.", example)


COMMAND = Command(
    does="move a position to a range of your choice",
    examples=("zuno move 38 2900 3300", "zuno move 38 --no-swap"),
    group=Group.ACTING,
    intent=MovePosition,
    run=lambda arguments: app.debate.run_move(arguments),
    verbs=(Verb("move", _read, "move ID LOW HIGH", names="positions", possible=with_positions),),
    suggest=of_selected(lambda ref: f"move {write_ref(ref)} "),
)
