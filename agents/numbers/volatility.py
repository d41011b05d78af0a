"""Volatility as agents speak of it: per day, in ticks, or assumed where nothing is known."""

from __future__ import annotations

from enum import StrEnum
from math import sqrt
from typing import NamedTuple

from agents.numbers.edges import TICK_LOG

DAYS_PER_YEAR = 365
STRESSES = (1, 2, 3)
"""Multiples of volatility at which every candidate's buffer is shown."""


class VolatilitySource(StrEnum):
    """The steps of the ladder, best first."""

    MARKET = "market"
    SWAPS = "swaps"
    ASSUMED = "assumed"


class PairClass(StrEnum):
    """What a pair's price is made of, as far as its two tokens' kinds tell."""

    STABLE = "stable"
    PEGGED = "pegged"
    MAJORS = "majors"
    MAJOR = "major"
    OTHER = "other"


class ClassAssumption(NamedTuple):
    """The daily volatility taken for a class when neither market nor swaps tell."""

    daily_sigma: float
    words: str


ASSUMPTIONS = {
    PairClass.STABLE: ClassAssumption(0.0005, "two dollar tokens"),
    PairClass.PEGGED: ClassAssumption(0.001, "two tokens that follow the same coin"),
    PairClass.MAJORS: ClassAssumption(0.02, "ether against bitcoin"),
    PairClass.MAJOR: ClassAssumption(0.03, "ether or bitcoin against dollars"),
    PairClass.OTHER: ClassAssumption(0.06, "a token whose market is unknown"),
}

_DOLLAR = "dollar"
_COINS = frozenset({"ether", "bitcoin"})


def pair_class(kind0: str, kind1: str) -> PairClass:
    """The class of two token kinds: `dollar`, `ether`, `bitcoin`, or anything else."""
    kinds = {kind0, kind1}
    if kinds == {_DOLLAR}:
        return PairClass.STABLE
    if kinds <= _COINS:
        return PairClass.PEGGED if len(kinds) == 1 else PairClass.MAJORS
    if kinds - _COINS == {_DOLLAR}:
        return PairClass.MAJOR
    return PairClass.OTHER


def daily_ticks(daily_sigma: float) -> float:
    """Ticks per √day of a volatility given as the deviation of a day's log return."""
    return daily_sigma / TICK_LOG


def daily_sigma(ticks: float) -> float:
    """The deviation of a day's log return of a volatility given in ticks per √day."""
    return ticks * TICK_LOG


def yearly_sigma(sigma_per_day: float) -> float:
    """Volatility of a year, as markets quote it."""
    return sigma_per_day * sqrt(DAYS_PER_YEAR)
