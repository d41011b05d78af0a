"""The days of a position beside its result against holding: the figures add up, in words."""

from __future__ import annotations

import re
from fractions import Fraction

from chain.base.quantity import Known, Unknown
from chain.prices.price import WorthUnit
from zuno_tui.desk.details import days_sum

DAYS = (("01 Nov", 5.0, 2.0), ("02 Nov", 4.0, 8.5))


def figures(words: str) -> list[float]:
    found = re.findall(r"([+−-])\$([0-9]+\.[0-9]+)", words)
    return [float(number) * (1 if sign == "+" else -1) for sign, number in found]


def test_the_sum_the_whole_and_the_rest() -> None:
    held = Known(Fraction(3), "storage")
    words = days_sum(DAYS, held, WorthUnit.USD, since_opened=True)
    together, whole, rest = figures(words)
    assert (together, whole) == (-1.5, 3.0)
    assert together + rest == whole
    assert "01 Nov" not in words
    assert "before 01 Nov" in days_sum(DAYS, held, WorthUnit.USD, since_opened=False)


def test_nothing_is_made_of_what_is_unknown() -> None:
    words = days_sum(DAYS, Unknown("no archive"), WorthUnit.USD, since_opened=True)
    assert figures(words) == [-1.5]
    assert days_sum((), Known(Fraction(3), "storage"), WorthUnit.USD, since_opened=True) == ""
