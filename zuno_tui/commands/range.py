"""`zuno range ID [LOW HIGH]`: what a range of your own would bring; at the desk, a form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, of_selected
from zuno_tui.intents.intent import write_ref
from zuno_tui.intents.intents import _POSITION, ChooseRange

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining

DEICTIC = ("it", "this", "that")
_PRICE = re.compile(r"\$?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)[kKmM]?", re.ASCII)


def _read(said: Remaining) -> ChooseRange:
    if not said:
        return ChooseRange(write_ref(said.restart("it").position()))
    of_position = _of_position(said)
    if of_position is not None:
        return of_position
    if not any(letter.isdigit() for letter in said.text):
        said.refuse("of which position, or how much of what.", "range 7")
    return ChooseRange(said.text)


def _of_position(said: Remaining) -> ChooseRange | None:
    """A position, then nothing or two prices; None where the words name an amount."""
    place, *prices = [word for word in said.text.split() if word.lower() not in _BETWEEN] or [""]
    if place.lower() in DEICTIC:
        place = write_ref(said.restart(place).position())
    fits = _POSITION.fullmatch(place) is not None and len(prices) in (0, 2)
    if not fits or not all(map(_PRICE.fullmatch, prices)):
        return None
    low, high = prices or (None, None)
    return ChooseRange(place.removeprefix("#"), low, high)


_BETWEEN = frozenset(
    ("of", "for", "on", "my", "the", "position", "between", "and", "to", "from", "-", "–")
)

COMMAND = Command(
    does="what a range of your choice would earn",
    examples=("zuno range 38", "zuno range 38 2900 3300", 'zuno range "0.5 WETH/USDC 0.05%"'),
    notes=(
        "Nothing is planned: it shows survival, fees, swap and cost from one reading.\n"
        "At the desk it is a form: keys move the edges, and enter makes the plan."
    ),
    group=Group.POSITIONS,
    intent=ChooseRange,
    answer=lambda session, intent: app.range.range_answer(session, intent),
    tells_old_block=True,
    verbs=(
        Verb(
            "range",
            _read,
            "range ID [LOW HIGH]",
            spoken=("choose a range", "choose range", "pick a range", "own range", "range form"),
            names="positions",
        ),
    ),
    suggest=of_selected(lambda ref: ChooseRange(write_ref(ref))),
    key="desk.range",
)
