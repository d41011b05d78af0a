"""Prices that the chart itself marks: where stops, profits and a chart reader's words must lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from chain.exchange.public.market import Candle

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
    typical = sum((one.high + one.low + one.close) / 3 * one.volume for one in candles)
    return typical / volume


def nearest_beyond(
    levels: Sequence[PriceLevel], price: float, *, up: bool, least: float, most: float
) -> PriceLevel | None:
    """The nearest level on one side whose distance lies between two bounds; None without one."""
    sign = 1 if up else -1
    fitting = [one for one in levels if least <= (one.price - price) * sign <= most]
    return min(fitting, key=lambda one: (abs(one.price - price), one.name), default=None)


def snapped(
    levels: Sequence[PriceLevel], wanted: float, price: float, *, up: bool
) -> PriceLevel | None:
    """The level nearest to a wanted price among those on the right side of the market."""
    sign = 1 if up else -1
    fitting = [one for one in levels if (one.price - price) * sign > 0]
    return min(fitting, key=lambda one: (abs(one.price - wanted), one.name), default=None)


def to_step(price: float, step: float) -> float:
    """The nearest price that the venue takes."""
    return round(round(price / step) * step, 10)
