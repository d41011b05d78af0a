"""The chart's expert without a model: levels, patterns and traps from the candles themselves."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from agents.trade.expert_rules import BOUGHT, MOVED, price_and_flow
from agents.trade.facts import MarketSnapshot, TradeContext
from agents.trade.findings import GeometryFinding, KeyLevels
from agents.trade.indicators import (
    PriceLevel,
    largest_pools,
    level_set,
    liquidation_map,
    mean,
    volume_poc,
)
from agents.trade.terms import (
    Bias,
    ChartAnomaly,
    ChartPattern,
    CvdSignal,
    FundingPicture,
    SectionName,
    bias_of,
)
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
    above = _line([turn for turn in turns if turn.is_high], last)
    below = _line([turn for turn in turns if not turn.is_high], last)
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
    stands_out = min((head.price - left.price) * sign, (head.price - right.price) * sign)
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
    if any(abs(turn.price - second.price) <= _ALIKE * depth for turn in turns[-5:-4]):
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
        lowest, highest = min(candle.low for candle in pause), max(candle.high for candle in pause)
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


_BREAKOUT_BARS = 48
_NARROW = 0.02
_LATELY = 6
"""Candles within which a turn is called a top or a bottom of the market."""
_BUSY = 2.0
"""Times the usual volume that a capitulation trades."""


def geometry_finding(market: MarketSnapshot, context: TradeContext) -> GeometryFinding:
    """What a reader of the chart would say, from the candles themselves."""
    candles = market.hours.candles
    levels = level_set(candles)
    moved, bought = price_and_flow(candles)
    signal = _cvd_signal(moved, bought)
    action = _action(candles, signal)
    shape = chart_shape(candles)
    rate = context.number(SectionName.FUNDING, "rate") or 0.0
    return GeometryFinding(
        anomaly=action.anomaly,
        directional_bias=action.bias,
        confidence=action.confidence,
        key_levels=key_levels(levels, candles, market.mark),
        fibonacci_context=", ".join(
            f"{level.name} at {level.price:,.2f}"
            for level in levels
            if level.name.startswith("fib")
        ),
        pattern=shape.pattern,
        cvd_signal=signal,
        funding_visual=_funding_visual(rate),
        rationale=f"{action.words}{_shape_words(shape, market.mark)}",
        fallback=True,
    )


def key_levels(levels: Sequence[PriceLevel], candles: Sequence[Candle], mark: float) -> KeyLevels:
    below = [level.price for level in levels if level.price < mark]
    above = [level.price for level in levels if level.price > mark]
    pool_below, pool_above = largest_pools(liquidation_map(candles, mark), mark)
    return KeyLevels(
        immediate_support=max(below, default=None),
        immediate_resistance=min(above, default=None),
        major_support=min(below, default=None),
        major_resistance=max(above, default=None),
        liquidation_pool_above=None if pool_above is None else pool_above.price,
        liquidation_pool_below=None if pool_below is None else pool_below.price,
        volume_poc=volume_poc(candles) if candles else None,
    )


class _PriceAction(NamedTuple):
    anomaly: ChartAnomaly
    bias: Bias
    confidence: float
    words: str


def _action(candles: Sequence[Candle], signal: CvdSignal) -> _PriceAction:
    """The last candle against the two days before it, and whether the market is spent."""
    found = _breakout(candles)
    if found.anomaly == "fake_breakout" and _reached_pool(candles):
        words = f"{found.words} It only fetched the liquidations that lay there."
        return found._replace(anomaly="geometric_trap", words=words)
    if found.anomaly in ("none", "accumulation_range"):
        return _spent(candles, signal) or found
    return found


def _reached_pool(candles: Sequence[Candle]) -> bool:
    """Whether the last candle went into the largest pool of liquidations that lay before it."""
    before, last = candles[:-1], candles[-1]
    mark = before[-1].close
    pools = largest_pools(liquidation_map(before, mark), mark)
    return any(pool is not None and last.low <= pool.price <= last.high for pool in pools)


def _spent(candles: Sequence[Candle], signal: CvdSignal) -> _PriceAction | None:
    """A top that takers sold into, or a bottom where everybody sold at once."""
    window = candles[-_BREAKOUT_BARS:]
    turns = price_turns(window)
    if not turns or len(window) - 1 - turns[-1].place > _LATELY:
        return None
    turn = turns[-1]
    if turn.is_high and turn.price == max(candle.high for candle in window):
        if signal == "divergence_bearish":
            words = f"It turned at {turn.price:,.2f}, two days' high, while takers sold."
            return _PriceAction("exhaustion_top", Bias.BEARISH, 0.5, words)
    elif turn.price == min(candle.low for candle in window):
        busy = window[turn.place].volume / (mean([candle.volume for candle in window]) or 1.0)
        if busy >= _BUSY:
            words = f"It turned at {turn.price:,.2f}, two days' low, on {busy:.1f}× the volume."
            return _PriceAction("capitulation_bottom", Bias.BULLISH, 0.5, words)
    return None


def _shape_words(shape: ChartShape, close: float) -> str:
    above, below = shape.resistance, shape.support
    lines = [
        f"the line {where} {_leaning(line)} and stands at {line.here:,.2f}"
        for where, line, holds in (
            ("over its highs", above, above is not None and above.here > close),
            ("under its lows", below, below is not None and below.here < close),
        )
        # A line that the price has broken long ago is none any more.
        if line is not None and holds
    ]
    words = [] if shape.pattern in ("none", "other") else [shape.pattern.replace("_", " ")]
    parts = "; ".join([*words, *lines])
    return f" {parts[0].upper()}{parts[1:]}." if parts else ""


def _leaning(line: TrendLine) -> str:
    return "is level" if line.slope == 0 else "rises" if line.slope > 0 else "falls"


def _breakout(candles: Sequence[Candle]) -> _PriceAction:
    before = candles[-_BREAKOUT_BARS - 1 : -1]
    if len(before) < _BREAKOUT_BARS:
        return _PriceAction("none", Bias.NEUTRAL, 0.0, "Too few candles for a pattern.")
    last = candles[-1]
    high = max(candle.high for candle in before)
    low = min(candle.low for candle in before)
    if last.high > high:
        if last.close > high:
            words = f"It closed above {high:,.2f}, two days' high."
            return _PriceAction("clean_breakout", Bias.BULLISH, 0.6, words)
        words = f"It rose over {high:,.2f}, two days' high, and closed below."
        return _PriceAction("fake_breakout", Bias.BEARISH, 0.5, words)
    if last.low < low:
        clean = last.close < low
        words = (
            f"It fell under {low:,.2f}, two days' low, and closed {'below' if clean else 'above'}."
        )
        if clean:
            return _PriceAction("clean_breakout", Bias.BEARISH, 0.6, words)
        return _PriceAction("fake_breakout", Bias.BULLISH, 0.5, words)
    return _inside(last.close, low, high)


def _inside(close: float, low: float, high: float) -> _PriceAction:
    place = (close - low) / (high - low) if high > low else 0.5
    words = f"The price is {place:.0%} up the two-day range, which is {high / low - 1:.1%} wide."
    if high / low - 1 < _NARROW:
        return _PriceAction("accumulation_range", Bias.NEUTRAL, 0.3, words)
    return _PriceAction("none", bias_of(round(0.5 - place, 1)), abs(0.5 - place) * 0.6, words)


def _cvd_signal(moved: float, bought: float) -> CvdSignal:
    if abs(moved) < MOVED or abs(bought) < BOUGHT:
        return "neutral"
    if moved * bought > 0:
        return "confirming"
    return "divergence_bullish" if bought > 0 else "divergence_bearish"


def _funding_visual(rate: float) -> FundingPicture:
    if rate > 0.0005:
        return "extreme_positive"
    if rate > 0.0002:
        return "high_positive"
    if rate < -0.0003:
        return "extreme_negative"
    return "negative" if rate < 0 else "neutral"
