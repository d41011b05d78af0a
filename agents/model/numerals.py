"""Finds the numbers in a sentence: how much, in what unit, how exactly, and where."""

from __future__ import annotations

import re
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct


class Unit(StrEnum):
    FRACTION = "fraction"
    """Shown as a percentage, kept as a fraction of one."""
    HOURS = "hours"
    USD = "usd"
    PRICE = "price"
    MULTIPLIER = "multiplier"
    TICKS = "ticks"
    GWEI = "gwei"
    COUNT = "count"
    PLAIN = "plain"


class WrittenNumber(Struct, frozen=True):
    start: int
    end: int
    value: Decimal
    step: Decimal
    """What one in its last written digit is worth; zeros at the end of a round number are not."""
    unit: Unit | None
    """None where the sentence names none."""
    round: bool
    """A whole number that ends in zeros may stand for its neighbours."""


_UP_TO_TWELVE = (
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_TENS = (
    *("twenty", "thirty", "forty", "fifty", "sixty"),
    *("seventy", "eighty", "ninety", "hundred"),
)
_WORDS = {
    **{word: Decimal(number) for number, word in enumerate(_UP_TO_TWELVE, 1)},
    **{word: Decimal(10 * number) for number, word in enumerate(_TENS, 2)},
}
_SCALES = {
    "": 1,
    "k": 10**3,
    "thousand": 10**3,
    "m": 10**6,
    "mn": 10**6,
    "million": 10**6,
    "b": 10**9,
    "bn": 10**9,
    "billion": 10**9,
}
# Each unit's names, and what one of it is in the unit that values are kept in.
_UNITS: tuple[tuple[str, Unit, str], ...] = (
    (r"%|percent|per cent", Unit.FRACTION, "0.01"),
    (r"bps?|basis points?", Unit.FRACTION, "0.0001"),
    (r"h|hrs?|hours?", Unit.HOURS, "1"),
    (r"d|days?", Unit.HOURS, "24"),
    (r"weeks?", Unit.HOURS, "168"),
    (r"min|minutes?", Unit.HOURS, "0.0166666666666666666667"),
    (r"USD|dollars?", Unit.USD, "1"),
    (r"×|x|times", Unit.MULTIPLIER, "1"),
    (r"ticks?", Unit.TICKS, "1"),
    (r"gwei", Unit.GWEI, "1"),
)
_UNIT_NAMES = "|".join(f"(?P<u{index}>{names})" for index, (names, _, _) in enumerate(_UNITS))
_NUMERAL = re.compile(
    r"(?P<sign>(?<![\w.\])])[+\-−])?(?P<dollar>\$)?(?P<digits>"
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)(?P<exponent>[eE][+-]?\d{1,2}(?!\w))?"
    r"(?:(?P<letter>[kKMB]|bn|mn)(?!\w)|\s(?P<scale>thousand|million|billion)\b)?"
    rf"(?:[\s-]?(?:{_UNIT_NAMES})(?![\w]))?"
)
_WORD_NUMERAL = re.compile(
    rf"\b(?P<word>{'|'.join(_WORDS)})[\s-](?P<unit>percent|per cent|hours?|dollars?|ticks?|gwei)\b",
    re.IGNORECASE,
)
_WORD_UNITS = {
    "p": (Unit.FRACTION, Decimal("0.01")),
    "h": (Unit.HOURS, Decimal(1)),
    "d": (Unit.USD, Decimal(1)),
    "t": (Unit.TICKS, Decimal(1)),
    "g": (Unit.GWEI, Decimal(1)),
}


def find_numerals(text: str) -> list[WrittenNumber]:
    """Every number of the text, in order, those in words only where a unit follows."""
    found = [_numeral(match) for match in _NUMERAL.finditer(text)]
    found += [_word_numeral(match) for match in _WORD_NUMERAL.finditer(text)]
    return sorted(found, key=lambda numeral: numeral.start)


def _numeral(match: re.Match[str]) -> WrittenNumber:
    digits = match["digits"]
    # Three digits after a comma are a group of thousands; any other number of them a fraction.
    grouped = re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits)
    plain = digits.replace(",", "" if grouped else ".")
    whole, _, fraction = plain.partition(".")
    factor = Decimal(10) ** int((match["exponent"] or "e0")[1:])
    factor *= _SCALES[(match["letter"] or match["scale"] or "").lower()]
    unit, size = _unit(match)
    zeros = len(whole) - len(whole.rstrip("0")) if not fraction and whole.strip("0") else 0
    step = Decimal(10) ** (zeros - len(fraction)) * factor * size
    value = Decimal(plain) * factor * size
    if (match["sign"] or "+") in "-−":
        value = -value
    return WrittenNumber(match.start(), match.end(), value, step, unit, round=zeros > 0)


def _unit(match: re.Match[str]) -> tuple[Unit | None, Decimal]:
    for index, (_, unit, size) in enumerate(_UNITS):
        if match[f"u{index}"]:
            return unit, Decimal(size)
    return (Unit.USD if match["dollar"] else None), Decimal(1)


def _word_numeral(match: re.Match[str]) -> WrittenNumber:
    unit, size = _WORD_UNITS[match["unit"][0].lower()]
    value = _WORDS[match["word"].lower()] * size
    return WrittenNumber(match.start(), match.end(), value, size, unit, round=False)
