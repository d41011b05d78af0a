"""Amounts far beyond what the wallet's positions are worth, asked back: `add 500 weth to 35`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.base.numerals import read_numeral
from zuno_tui.commands.create import CreatePosition
from zuno_tui.commands.increase import IncreasePosition
from zuno_tui.commands.prompt.interpretation import Interpretation, opened_in_words
from zuno_tui.commands.swap import SwapTokens
from zuno_tui.phrases.spoken.sentence import STABLE, names_symbol
from zuno_tui.phrases.spoken.targets import held_as

if TYPE_CHECKING:
    from zuno_tui.commands.command import Intent
    from zuno_tui.phrases.context import PhraseContext

_WORDS = 2
_MOST_TIMES = 10
"""So many times what all positions are worth was hardly meant."""


def not_too_much(found: Interpretation, text: str, context: PhraseContext) -> Interpretation:
    """A question where an amount was hardly meant; the command itself, typed exactly, is kept."""
    for intent in found.intents:
        exact = text.strip().lower().removeprefix("zuno ") == intent.twin[len("zuno ") :].lower()
        amount, symbol = _put_in(intent, context)
        dollars = _dollars(amount, symbol, context)
        if exact or not _too_much(dollars, context):
            continue
        near = _in_other_tokens(intent, context) if isinstance(intent, IncreasePosition) else []
        return Interpretation(
            question=f"{float(amount):,.10g} {symbol} is about ${int(dollars):,}, far more than "
            "all of your positions together. Which is meant?",
            choices=tuple(one.twin for one in (*near, intent)),
        )
    return found


def _put_in(intent: Intent, context: PhraseContext) -> tuple[Fraction, str]:
    """How much of which token leaves the wallet, of two the first; nothing where none does."""
    said = ""
    if isinstance(intent, IncreasePosition):
        said = f"{intent.amount} {intent.token or ''}"
    elif isinstance(intent, SwapTokens):
        return intent.amount.value, intent.sold
    elif isinstance(intent, CreatePosition):
        said = opened_in_words(intent, context)
    try:
        number, symbol = said.split()[:_WORDS]
        return read_numeral(number).value, symbol
    except ValueError:
        return Fraction(0), ""


def _in_other_tokens(intent: IncreasePosition, context: PhraseContext) -> list[IncreasePosition]:
    """The same number of the position's other token, where that is not too much."""
    held = held_as(intent.token_id, context)
    others = (one for one in (held.symbols if held else ()) if one != intent.token)
    amount, _ = _put_in(intent, context)
    near = (one for one in others if not _too_much(_dollars(amount, one, context), context))
    return [replace(intent, token=one) for one in near]


def _too_much(dollars: Fraction, context: PhraseContext) -> bool:
    worth = sum((one.worth for one in context.held or () if one.worth is not None), Fraction(0))
    return 0 < _MOST_TIMES * worth < dollars


def _dollars(amount: Fraction, symbol: str, context: PhraseContext) -> Fraction:
    """Zero where nobody knows."""
    return amount * _price(symbol, context)


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
