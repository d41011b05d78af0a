"""Amounts far beyond what the wallet's positions are worth, asked back: `add 500 weth to 35`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.base.numerals import NumeralError, read_numeral
from zuno_tui.commands.increase import IncreasePosition
from zuno_tui.commands.prompt.interpretation import Interpretation
from zuno_tui.phrases.spoken.sentence import STABLE, names_symbol
from zuno_tui.phrases.spoken.targets import held_as

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext

_MOST_TIMES = 10
"""So many times what all positions are worth was hardly meant."""


def not_too_much(found: Interpretation, text: str, context: PhraseContext) -> Interpretation:
    """A question where an amount was hardly meant; the command itself, typed exactly, is kept."""
    for intent in found.intents:
        exact = text.strip().removeprefix("zuno ") == intent.twin.removeprefix("zuno ")
        if exact or not isinstance(intent, IncreasePosition):
            continue
        dollars = _dollars(intent, context)
        if not _too_much(dollars, context):
            continue
        held = held_as(intent.token_id, context)
        symbols = () if held is None else held.symbols
        others = (replace(intent, token=one) for one in symbols if one != intent.token)
        near = [one for one in others if not _too_much(_dollars(one, context), context)]
        return Interpretation(
            question=f"{intent.amount} {intent.token} is about ${int(dollars):,}, far more than "
            "all of your positions together. Which is meant?",
            choices=tuple(one.twin for one in (*near, intent)),
        )
    return found


def _too_much(dollars: Fraction, context: PhraseContext) -> bool:
    worth = sum((one.worth for one in context.held or () if one.worth is not None), Fraction(0))
    return 0 < _MOST_TIMES * worth < dollars


def _dollars(intent: IncreasePosition, context: PhraseContext) -> Fraction:
    """Zero where nobody knows."""
    price = _price(intent.token or "", context)
    try:
        return read_numeral(intent.amount).value * price
    except NumeralError:
        return Fraction(0)


def _price(symbol: str, context: PhraseContext) -> Fraction:
    """In dollars, from the pools of the positions; zero where none of them tells it."""
    if symbol in STABLE:
        return Fraction(1)
    priced = (
        one.price
        for one in context.held or ()
        if one.symbols[-1] in STABLE and names_symbol(symbol, one.symbols[0])
    )
    return next((price for price in priced if price is not None), Fraction(0))
