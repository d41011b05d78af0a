"""Ranges that are said as a part of the price: `10% either side`, `±5%`, `-10% +15%`."""

from __future__ import annotations

import re
from fractions import Fraction
from math import floor, log10
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.phrases.phrase_error import NotReadYetError
from zuno_tui.phrases.spoken.asking import for_each
from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.sentence import names_symbol
from zuno_tui.phrases.spoken.targets import held_as, positions_meant
from zuno_tui.phrases.spoken.topics import Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_WHOLE = 100
_BOTH = 2
_SHOWN_DIGITS = 6
_TIGHT = frozenset(("tight", "tighter", "narrow", "narrower", "concentrated"))
_RELATIVE = re.compile(r"\bby\b|(?:%|percent) (?:wider|narrower|tighter|broader)\b")
_HOW_WIDE = "Between which two prices? Like: move {named} 2900 3300"


def says_width(sentence: Sentence) -> bool:
    """Whether its percents tell how far a range reaches from the price."""
    shaped = sentence.has(Topic.AROUND, Topic.WIDTH, Topic.RANGE)
    signed = len(sentence.percents) == _BOTH and min(sentence.percents) < 0
    # "Widen it by 20%" speaks of the width it has.
    relative = sentence.has(Topic.WIDTH) and _RELATIVE.search(sentence.text) is not None
    return signed or (len(sentence.percents) == 1 and shaped and not (sentence.part or relative))


def around_price(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """A range of a position that is held, by how far it reaches from the pool's price."""
    if not says_width(sentence) or sentence.amounts or sentence.has(Topic.OPEN, Topic.NEW):
        return None
    meant = positions_meant(sentence, context)
    if not meant.said and context.selected is not None:
        meant = replace(meant, ids=(context.selected,), sure=True)
    if not meant.sure or len(meant.ids) != 1:
        return for_each("recommend", meant, context)
    (named,) = meant.ids
    centre = _centre(sentence, named, context)
    reaches = _reaches(sentence)
    if centre is None or not reaches:
        return AskedBack(_HOW_WIDE.format(named=named), (f"recommend {named}",))
    phrases = tuple(f"move {named} {low} {high}" for low, high in _edges(centre, reaches))
    if len(phrases) == 1:
        return Rephrased(phrases)
    return AskedBack("That far to each side of the price, or from edge to edge?", phrases)


def opened_around(sentence: Sentence, context: PhraseContext) -> tuple[Sentence, ...]:
    """What is to be opened, with the prices its percents come to; none where no price is known."""
    wanted = (
        *(symbol for pair in sentence.pairs[:1] for symbol in pair),
        *(() if sentence.pairs else dict.fromkeys(sentence.tokens)),
    )
    priced = {
        one.pair: one.price
        for one in context.held or ()
        if one.price is not None
        and all(any(names_symbol(said, symbol) for symbol in one.symbols) for said in wanted)
    }
    reaches = _reaches(sentence)
    return tuple(
        replace(sentence, prices=edges, percents=(), pairs=((base, quote),), symbols=())
        for pair, price in priced.items()
        for base, quote in (pair.upper().split("/"),)
        for edges in _edges(price, reaches)
    )


def profile_of_width(sentence: Sentence) -> str:
    """A tight range is the aggressive profile's, a wide one the conservative's."""
    return "aggressive" if _TIGHT & set(sentence.words) else "conservative"


def _centre(sentence: Sentence, token_id: int, context: PhraseContext) -> Fraction | None:
    """The price that is named, else the pool's."""
    if len(sentence.numbers) == 1:
        return Fraction(sentence.numbers[0])
    if sentence.numbers:
        return None
    if context.held is None:
        raise NotReadYetError("positions")
    held = held_as(token_id, context)
    return None if held is None else held.price


def _reaches(sentence: Sentence) -> tuple[tuple[Fraction, Fraction], ...]:
    """How far below and above the price the range ends, in parts of it, as it may be meant."""
    parts = [percent / _WHOLE for percent in sentence.percents]
    if len(parts) == _BOTH:
        found: tuple[tuple[Fraction, Fraction], ...] = ((-min(parts), max(parts)),)
    elif sentence.has(Topic.AROUND):
        found = ((abs(parts[0]), abs(parts[0])),)
    else:
        found = tuple((reach, reach) for reach in (abs(parts[0]), abs(parts[0]) / 2))
    return tuple(one for one in found if 0 < one[0] < 1 and one[1] > 0)


def _edges(
    price: Fraction, reaches: tuple[tuple[Fraction, Fraction], ...]
) -> tuple[tuple[str, str], ...]:
    return tuple(
        (_written(price * (1 - below)), _written(price * (1 + above))) for below, above in reaches
    )


def _written(price: Fraction) -> str:
    """Six digits of a price, as they are typed."""
    places = _SHOWN_DIGITS - 1 - floor(log10(price))
    text = f"{float(round(price, places)):.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
