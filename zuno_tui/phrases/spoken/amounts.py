"""How much of a position a sentence means, and of which token."""

from __future__ import annotations

import re
from fractions import Fraction

from msgspec import Struct

WHOLE_PERCENT = 100
_PARTS = {
    "half": 50,
    "one half": 50,
    "quarter": 25,
    "one quarter": 25,
    "three quarters": 75,
    # Never more than was said.
    "third": 33,
    "one third": 33,
    "two thirds": 66,
    "fifth": 20,
    "tenth": 10,
}
FRACTION = (
    r"(?P<fraction>one half|half|three quarters|one quarter|quarter|two thirds|one third|third"
    r"|fifth|tenth|(?<![0-9.,])[0-9]+(?:\.[0-9]+)? ?(?:%|percent\b|per cent\b))"
)
AMOUNT = r"(?P<amount>\$?\.?[0-9][0-9.,]*[km]?)(?: ?(?P<symbol>[a-z][a-z0-9.]{1,23}))?"


class PartMeant(Struct, frozen=True):
    percent: int
    """Whole, never more than was said."""
    exact: bool


def part_meant(fraction: str) -> PartMeant:
    if fraction in _PARTS:
        return PartMeant(_PARTS[fraction], exact=True)
    said = Fraction(re.sub(r"\s*(?:%|percent|per cent)$", "", fraction))
    return PartMeant(int(said), exact=said.denominator == 1)
