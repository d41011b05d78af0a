"""Numbers as people say them."""

from __future__ import annotations

from math import inf

import pytest

from chain.base.units import UNKNOWN, hours


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, UNKNOWN),
        (0, "0 h"),
        (0.005, "under a minute"),
        (0.2, "12 min"),
        (1.5, "1.5 h"),
        (30, "30 h"),
        (47.94, "47.9 h"),
        (60, "2.5 days"),
        (72, "3 days"),
        (340, "2 weeks"),
        (1_400, "8 weeks"),
        (3_810, "5 months"),
        (47_600, "5 years"),
        (1e6, "over 100 years"),
        (inf, "over 100 years"),
    ],
)
def test_hours_as_people_say_them(value: float | None, words: str) -> None:
    assert hours(value) == words
