"""Patterns and trendlines of candles, by the turns of the price: what a chart reader would name."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from agents.trade.indicators import mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.trade.terms import ChartPattern
    from chain.exchange.public.market import Candle

_WINDOW = 120
_TURN_RANGES = 3.0
"""How many candles' ranges the price must come back to have turned."""
_ALIKE = 0.15
"""Of a pattern's height: prices this close count as the same."""
_FRESH_BARS = 36
"""Candles since the last turn; a pattern that ended before is history."""
_POLE_RANGES = 8.0
_FLAG_BARS = (6, 48)
_FLAG_DEPTH = 0.5
_NARROWED = 0.7
_EACH_SIDE = 2
"""Turns that a line needs."""


class PriceTurn(NamedTuple):
    """Where the price turned around."""

    place: int
    price: float
    is_high: bool


class TrendLine(NamedTuple):
    """Over the highs or under the lows."""

    slope: float
    """A candle."""
    here: float
    """Where it stands at the last candle."""
    first: int

    def at(self, place: int, last: int) -> float:
        return self.here - self.slope * (last - place)


class ChartShape(NamedTuple):
    pattern: ChartPattern
    resistance: TrendLine | None
    support: TrendLine | None


def chart_shape(candles: Sequence[Candle]) -> ChartShape:
    """The pattern that stands at the end of the candles, and the lines above and below them."""
    window = candles[-_WINDOW:]
    turns = price_turns(window)
    last = len(window) - 1
    above = _line([one for one in turns if one.is_high], last)
    below = _line([one for one in turns if not one.is_high], last)
    if not turns or last - turns[-1].place > _FRESH_BARS:
        return ChartShape("none", above, below)
    found = (
        _head_and_shoulders(turns)
        or _double(turns)
        or _flag(window, turns)
        or _converging(above, below, last)
    )
    return ChartShape(found or "none", above, below)


def price_turns(candles: Sequence[Candle]) -> list[PriceTurn]:
    """Highs and lows in turn, each left behind by three candles' mean range."""
    if len(candles) < _EACH_SIDE:
        return []
    least = _TURN_RANGES * _mean_range(candles)
    high = PriceTurn(0, candles[0].high, is_high=True)
    low = PriceTurn(0, candles[0].low, is_high=False)
    found: list[PriceTurn] = []
    for place, candle in enumerate(candles):
        seeks_high = not found or not found[-1].is_high
        seeks_low = not found or found[-1].is_high
        if seeks_high and candle.high > high.price:
            high = PriceTurn(place, candle.high, is_high=True)
        if seeks_low and candle.low < low.price:
            low = PriceTurn(place, candle.low, is_high=False)
        if seeks_high and place > high.place and high.price - candle.low >= least:
            found.append(high)
            low = PriceTurn(place, candle.low, is_high=False)
        elif seeks_low and place > low.place and candle.high - low.price >= least:
            found.append(low)
            high = PriceTurn(place, candle.high, is_high=True)
    return found


def _head_and_shoulders(turns: Sequence[PriceTurn]) -> ChartPattern | None:
    """Three tops of which the middle one is highest, on one neckline; or upside down."""
    if len(turns) < 5:
        return None
    left, neck_left, head, neck_right, right = turns[-5:]
    sign = 1 if head.is_high else -1
    height = (head.price - (neck_left.price + neck_right.price) / 2) * sign
    stands_out = min(
        (head.price - left.price) * sign,
        (head.price - right.price) * sign,
    )
    level = max(abs(left.price - right.price), abs(neck_left.price - neck_right.price))
    if height <= 0 or stands_out < _ALIKE * height or level > 2 * _ALIKE * height:
        return None
    return "H&S" if head.is_high else "inv_H&S"


def _double(turns: Sequence[PriceTurn]) -> ChartPattern | None:
    """Two tops of one height, and no third, that were come to from below; or upside down."""
    if len(turns) < 4:
        return None
    before, first, between, second = turns[-4:]
    sign = 1 if second.is_high else -1
    depth = (second.price - between.price) * sign
    rose = (first.price - before.price) * sign
    if depth <= 0 or rose < depth or abs(first.price - second.price) > _ALIKE * depth:
        return None
    if any(abs(one.price - second.price) <= _ALIKE * depth for one in turns[-5:-4]):
        return None
    return "double_top" if second.is_high else "double_bottom"


def _flag(window: Sequence[Candle], turns: Sequence[PriceTurn]) -> ChartPattern | None:
    """A steep leg, and after it a pause that gives back less than half of it."""
    least = _POLE_RANGES * _mean_range(window)
    for foot, top in reversed(list(pairwise(turns))):
        pole = abs(top.price - foot.price)
        pause = window[top.place + 1 :]
        if not _FLAG_BARS[0] <= len(pause) <= _FLAG_BARS[1] or pole < least:
            continue
        if top.place - foot.place > len(pause):
            continue
        lowest, highest = min(one.low for one in pause), max(one.high for one in pause)
        beyond, back = highest - top.price, top.price - lowest
        if not top.is_high:
            beyond, back = back, beyond
        if beyond <= _ALIKE * pole and back <= _FLAG_DEPTH * pole:
            return "bull_flag" if top.is_high else "bear_flag"
    return None


def _converging(above: TrendLine | None, below: TrendLine | None, last: int) -> ChartPattern | None:
    """Lines that close in on each other: one flat is a triangle, both sloped alike a wedge."""
    if above is None or below is None:
        return None
    first = max(above.first, below.first)
    begun = above.at(first, last) - below.at(first, last)
    left = above.here - below.here
    if begun <= 0 or not 0 < left < _NARROWED * begun:
        return None
    rise_above, rise_below = above.slope * (last - first), below.slope * (last - first)
    flat = _ALIKE * begun
    if abs(rise_above) <= flat < rise_below:
        return "ascending_triangle"
    if abs(rise_below) <= flat < -rise_above:
        return "other"
    return "wedge" if rise_above * rise_below > 0 else "other"


def _line(turns: Sequence[PriceTurn], last: int) -> TrendLine | None:
    """Through the last two turns of one kind."""
    if len(turns) < _EACH_SIDE:
        return None
    first, second = turns[-_EACH_SIDE:]
    slope = (second.price - first.price) / (second.place - first.place)
    return TrendLine(slope, second.price + slope * (last - second.place), first.place)


def _mean_range(candles: Sequence[Candle]) -> float:
    return mean([candle.high - candle.low for candle in candles])
