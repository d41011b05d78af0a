"""Numbers and levels read off a chart: where stops and profits go, where others break."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log, sqrt
from typing import NamedTuple

from chain.exchange.public.market import Candle

ATR_BARS = 14


def true_ranges(candles: Sequence[Candle]) -> list[float]:
    """Of each candle but the first, with the jump from the close before."""
    return [
        max(after.high, before.close) - min(after.low, before.close)
        for before, after in pairwise(candles)
    ]


def average_true_ranges(candles: Sequence[Candle]) -> list[float]:
    """The mean of the last true ranges, for each candle that has as many before it."""
    ranges = true_ranges(candles)
    return [mean(ranges[end - ATR_BARS : end]) for end in range(ATR_BARS, len(ranges) + 1)]


def mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def path_efficiency(closes: Sequence[float]) -> float:
    """What was gained of what was travelled in logarithms, from 0 to 1."""
    travelled = sum(abs(log(after / before)) for before, after in pairwise(closes))
    return 0.0 if travelled == 0 else abs(log(closes[-1] / closes[0])) / travelled


def realised_volatility(closes: Sequence[float]) -> float:
    """The standard deviation of the returns between closes."""
    returns = [log(after / before) for before, after in pairwise(closes)]
    return sqrt(sum(change * change for change in returns) / len(returns)) if returns else 0.0


def z_score(numbers: Sequence[float]) -> float | None:
    """How many standard deviations the last is above the mean of all; None where all are equal."""
    middle = mean(numbers)
    spread = sqrt(sum((number - middle) ** 2 for number in numbers) / len(numbers))
    return None if spread == 0 else (numbers[-1] - middle) / spread


_WING = 3
"""Candles on both sides that a swing stands out from."""
_BINS = 50
_FIBONACCI = (0.236, 0.382, 0.5, 0.618, 0.786)


class PriceLevel(NamedTuple):
    price: float
    name: str


def level_set(
    candles: Sequence[Candle], extra: Iterable[PriceLevel] = ()
) -> tuple[PriceLevel, ...]:
    """Every level of these candles, the lowest first; the same candles give the same set."""
    if not candles:
        return tuple(sorted(extra))
    found = [
        *swings(candles),
        PriceLevel(min(candle.low for candle in candles), "range low"),
        PriceLevel(max(candle.high for candle in candles), "range high"),
        *fibonacci(candles),
        *extra,
    ]
    if (centre := volume_poc(candles)) is not None:
        found.append(PriceLevel(centre, "volume POC"))
    if (average := volume_mean(candles)) is not None:
        found.append(PriceLevel(average, "VWAP"))
    return tuple(sorted(found))


def swings(candles: Sequence[Candle]) -> list[PriceLevel]:
    """Highs above, and lows below, everything around them."""
    found = []
    for place in range(_WING, len(candles) - _WING):
        around = candles[place - _WING : place + _WING + 1]
        here = candles[place]
        if here.high == max(candle.high for candle in around):
            found.append(PriceLevel(here.high, "swing high"))
        if here.low == min(candle.low for candle in around):
            found.append(PriceLevel(here.low, "swing low"))
    return found


def fibonacci(candles: Sequence[Candle]) -> list[PriceLevel]:
    low = min(candle.low for candle in candles)
    high = max(candle.high for candle in candles)
    return [PriceLevel(high - (high - low) * part, f"fib {part}") for part in _FIBONACCI]


def volume_poc(candles: Sequence[Candle]) -> float | None:
    """The middle of the price band in which most was traded; None where nothing was."""
    low = min(candle.low for candle in candles)
    high = max(candle.high for candle in candles)
    width = (high - low) / _BINS
    if width <= 0 or not any(candle.volume for candle in candles):
        return None
    traded = [0.0] * _BINS
    for candle in candles:
        first = min(int((candle.low - low) / width), _BINS - 1)
        last = min(int((candle.high - low) / width), _BINS - 1)
        for place in range(first, last + 1):
            traded[place] += candle.volume / (last - first + 1)
    return low + (traded.index(max(traded)) + 0.5) * width


def volume_mean(candles: Sequence[Candle]) -> float | None:
    volume = sum(candle.volume for candle in candles)
    if volume <= 0:
        return None
    typical = sum(
        (candle.high + candle.low + candle.close) / 3 * candle.volume for candle in candles
    )
    return typical / volume


def nearest_beyond(
    levels: Sequence[PriceLevel], price: float, *, up: bool, least: float, most: float
) -> PriceLevel | None:
    """The nearest level on one side whose distance lies between two bounds; None without one."""
    sign = 1 if up else -1
    fitting = [level for level in levels if least <= (level.price - price) * sign <= most]
    return min(fitting, key=lambda one: (abs(one.price - price), one.name), default=None)


def nearest_level(
    levels: Sequence[PriceLevel], wanted: float, price: float, *, up: bool
) -> PriceLevel | None:
    """The level nearest to a wanted price among those on the right side of the market."""
    sign = 1 if up else -1
    fitting = [level for level in levels if (level.price - price) * sign > 0]
    return min(fitting, key=lambda one: (abs(one.price - wanted), one.name), default=None)


def to_step(price: float, step: float) -> float:
    """The nearest price that the venue takes."""
    return round(round(price / step) * step, 10)


_LEVERAGES = (10, 20, 50)
"""What people trade with, by assumption: venues tell nobody."""
_BAND = 0.0025
"""Of the price, how wide one pool is."""
_FARTHEST = 0.12


class LiquidationPool(NamedTuple):
    price: float
    """The middle of the band."""
    coins: float
    """Of what was traded; an estimate."""


def liquidation_map(candles: Sequence[Candle], mark: float) -> tuple[LiquidationPool, ...]:
    """Below the mark longs, above it shorts; what the price has passed since is gone."""
    width = mark * _BAND
    pools: dict[int, float] = defaultdict(float)
    lowest, highest = mark, mark
    for candle in reversed(candles):
        typical = (candle.high + candle.low + candle.close) / 3
        share = candle.volume / len(_LEVERAGES) / 2
        for leverage in _LEVERAGES:
            below, above = typical * (1 - 1 / leverage), typical * (1 + 1 / leverage)
            if below < lowest and below > mark * (1 - _FARTHEST):
                pools[int(below // width)] += share
            if above > highest and above < mark * (1 + _FARTHEST):
                pools[int(above // width)] += share
        lowest, highest = min(lowest, candle.low), max(highest, candle.high)
    return tuple(
        LiquidationPool((place + 0.5) * width, coins)
        for place, coins in sorted(pools.items())
        if coins > 0
    )


def largest_pools(
    pools: Sequence[LiquidationPool], mark: float
) -> tuple[LiquidationPool | None, LiquidationPool | None]:
    """The largest below the mark and the largest above it."""
    below = [pool for pool in pools if pool.price < mark]
    above = [pool for pool in pools if pool.price > mark]
    return (
        max(below, key=lambda one: one.coins, default=None),
        max(above, key=lambda one: one.coins, default=None),
    )
