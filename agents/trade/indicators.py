"""Numbers of a price series, in plain arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chain.exchange.public.market import Candle

ATR_BARS = 14


def true_ranges(candles: Sequence[Candle]) -> list[float]:
    """Of each candle but the first, with the jump from the close before."""
    return [
        max(after.high, before.close) - min(after.low, before.close)
        for before, after in pairwise(candles)
    ]


def average_true_ranges(candles: Sequence[Candle], bars: int = ATR_BARS) -> list[float]:
    """The mean of so many true ranges, for each candle that has as many before it."""
    ranges = true_ranges(candles)
    return [mean(ranges[end - bars : end]) for end in range(bars, len(ranges) + 1)]


def mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def exponential_mean(numbers: Sequence[float], bars: int) -> float:
    weight, value = 2 / (bars + 1), numbers[0]
    for number in numbers[1:]:
        value += weight * (number - value)
    return value


def path_efficiency(closes: Sequence[float]) -> float:
    """What was gained of what was travelled, from 0 to 1."""
    travelled = sum(abs(after - before) for before, after in pairwise(closes))
    return 0.0 if travelled == 0 else abs(closes[-1] - closes[0]) / travelled


def realised_volatility(closes: Sequence[float]) -> float:
    """The standard deviation of the returns between closes."""
    returns = [log(after / before) for before, after in pairwise(closes)]
    return sqrt(sum(one * one for one in returns) / len(returns)) if returns else 0.0


def percentile_rank(numbers: Sequence[float], number: float) -> float:
    """The share of numbers that are lower."""
    return sum(one < number for one in numbers) / len(numbers)


def z_score(numbers: Sequence[float]) -> float | None:
    """How many standard deviations the last is above the mean of all; None where all are equal."""
    middle = mean(numbers)
    spread = sqrt(sum((one - middle) ** 2 for one in numbers) / len(numbers))
    return None if spread == 0 else (numbers[-1] - middle) / spread
