"""Figures inside a sentence: two prices, a width, a turn, a term."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from zuno_tui.present.glossary import GlossaryTerm, term_named
from zuno_tui.prompt.slots import Sentence, symbol_of
from zuno_tui.prompt.words import plain

_LONGEST_TERM = 3
_WHOLE = 100


class Width(NamedTuple):
    """How far below and above the price a range reaches, in percent."""

    below: Fraction
    above: Fraction


def two_prices(sentence: Sentence) -> tuple[Fraction, Fraction] | None:
    numbers = [token.number for token in sentence.numbers if token.number is not None]
    dollars = [Fraction(text) for text in sentence.dollars]
    prices = sorted(numbers or dollars)
    return (prices[0], prices[1]) if len(prices) == 2 and prices[0] > 0 else None


def width(sentence: Sentence) -> Width | None:
    """`±5%`, `5% each side`, `-8% / +12%`."""
    percents = sentence.percents
    if len(percents) == 2 and {percents[0].sign, percents[1].sign} >= {"-"}:
        below, above = sorted(percents, key=lambda percent: percent.sign != "-")
        return Width(below.value, above.value)
    symmetric = {"±", "+-", "+/-"} & set(sentence.words) or sentence.has("around")
    if len(percents) == 1 and symmetric and percents[0].value < _WHOLE:
        return Width(percents[0].value, percents[0].value)
    return None


def named_term(sentence: Sentence) -> GlossaryTerm | None:
    """The longest term of the glossary that is named anywhere."""
    words = sentence.words
    for count in range(_LONGEST_TERM, 0, -1):
        for start in range(len(words) - count + 1):
            term = term_named(" ".join(words[start : start + count]))
            if term is not None:
                return term
    return None


def is_wrapping(sentence: Sentence) -> str | None:
    """The one of ETH and WETH that is to come out, where the sentence is about these two."""
    pair = [symbol for symbol in sentence.symbols if symbol in ("ETH", "WETH")]
    if len(pair) != 2 or len(sentence.symbols) != 2:
        return None
    words = [word for word in sentence.words if word in ("eth", "ether", "weth", "ethereum")]
    sold = sentence.amounts[0].symbol if sentence.amounts else pair[0]
    if sentence.has("not") and words:
        return "WETH" if words[0] == "weth" else "ETH"
    if sentence.words and _turned(sentence.words):
        return sold
    return "WETH" if sold == "ETH" else "ETH"


_JOINS = frozenset(("to", "into", "->", "=>", "→", ">", "for", "2"))


def is_turned(sentence: Sentence) -> bool:
    """`usdc to usdt`, `0.5 weth -> usdc`: one token for another."""
    words = sentence.words
    return any(
        word in _JOINS
        and symbol_of(words[place - 1]) is not None
        and symbol_of(words[place + 1]) not in (None, symbol_of(words[place - 1]))
        and words[place + 2 : place + 3] != ("/",)
        for place, word in enumerate(words[1:-1], 1)
    )


def _turned(words: Sequence[str]) -> bool:
    """`get me 0.5 eth from my weth`: what is named first comes out."""
    return bool({"from", "using", "need", "have"} & set(words)) and {"into", "as"}.isdisjoint(words)


def edges(price: Fraction, around: Width) -> tuple[str, str]:
    low = price * Fraction(_WHOLE - around.below, _WHOLE)
    high = price * Fraction(_WHOLE + around.above, _WHOLE)
    return significant(low), significant(high)


def significant(value: Fraction, digits: int = 6) -> str:
    """A price in plain digits, to so many significant ones."""
    size = len(str(int(value))) if value >= 1 else 0
    return plain(value, max(0, digits - size) if size else digits + 2)
