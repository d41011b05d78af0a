"""The chart's expert without a model: levels, patterns and traps from the candles themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agents.trade.chart_patterns import chart_shape, price_turns
from agents.trade.expert_rules import BOUGHT, MOVED, price_and_flow
from agents.trade.findings import GeometryFinding, KeyLevels
from agents.trade.indicators import mean
from agents.trade.levels import level_set, volume_poc
from agents.trade.liquidation_map import largest_pools, liquidation_map
from agents.trade.terms import Bias, SectionName, bias_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.trade.chart_patterns import ChartShape, TrendLine
    from agents.trade.facts import MarketSnapshot, TradeContext
    from agents.trade.levels import PriceLevel
    from agents.trade.terms import ChartAnomaly, CvdSignal, FundingPicture
    from chain.exchange.public.market import Candle

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
            f"{one.name} at {one.price:,.2f}" for one in levels if one.name.startswith("fib")
        ),
        pattern=shape.pattern,
        cvd_signal=signal,
        funding_visual=_funding_visual(rate),
        rationale=f"{action.words}{_shape_words(shape, market.mark)}",
        fallback=True,
    )


def key_levels(levels: Sequence[PriceLevel], candles: Sequence[Candle], mark: float) -> KeyLevels:
    below = [one.price for one in levels if one.price < mark]
    above = [one.price for one in levels if one.price > mark]
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
    if turn.is_high and turn.price == max(one.high for one in window):
        if signal == "divergence_bearish":
            words = f"It turned at {turn.price:,.2f}, two days' high, while takers sold."
            return _PriceAction("exhaustion_top", Bias.BEARISH, 0.5, words)
    elif turn.price == min(one.low for one in window):
        busy = window[turn.place].volume / (mean([one.volume for one in window]) or 1.0)
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
    words = f"It stands at {place:.0%} of two days' range of {high / low - 1:.1%}."
    if high / low - 1 < _NARROW:
        return _PriceAction("accumulation_range", Bias.NEUTRAL, 0.3, words)
    return _PriceAction("none", bias_of(round(0.5 - place, 1)), abs(0.5 - place) * 0.6, words)


def _cvd_signal(moved: float, bought: float) -> CvdSignal:
    if abs(moved) < MOVED or abs(bought) < BOUGHT:
        return "neutral"
    if moved * bought > 0:
        return "confirming"
    return "divergence_bullish" if bought > 0 else "divergence_bearish"


def _funding_visual(
    rate: float,
) -> FundingPicture:
    if rate > 0.0005:
        return "extreme_positive"
    if rate > 0.0002:
        return "high_positive"
    if rate < -0.0003:
        return "extreme_negative"
    return "negative" if rate < 0 else "neutral"
