"""The kind of market by its numbers, and what it says about whom to trust and how much to risk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from agents.trade.findings import RegimeCall
from agents.trade.indicators import (
    exponential_mean,
    path_efficiency,
    percentile_rank,
    realised_volatility,
)
from agents.trade.terms import ExpertName, MarketRegime, SectionName

if TYPE_CHECKING:
    from agents.trade.facts import MarketSnapshot, TradeContext
    from agents.trade.limits import DeskLimits
    from chain.exchange.public.market import Candle

_LEAST_HOURS = 60
_DAY = 24
_TREND_EFFICIENCY = 0.2
_PANIC_RANK = 0.97
_PANIC_DAY = 0.035
"""Of a day's price: calmer markets than that do not panic, however calm they were before."""
_EXTREME_FEAR = 15
_FLAT = 0.02
_ACCUMULATED = 0.01
"""Of what was traded, the least that buyers took more than sellers."""

RISK_BUDGET = {
    MarketRegime.BULL_MOMENTUM: 100.0,
    MarketRegime.BEAR_MOMENTUM: 60.0,
    MarketRegime.RANGE_BOUND: 50.0,
    MarketRegime.VOLATILITY_PANIC: 10.0,
    MarketRegime.SIDEWAYS_ACCUMULATION: 40.0,
}
_BIAS: dict[MarketRegime, Literal["risk_on", "neutral", "risk_off"]] = {
    MarketRegime.BULL_MOMENTUM: "risk_on",
    MarketRegime.BEAR_MOMENTUM: "risk_off",
    MarketRegime.RANGE_BOUND: "neutral",
    MarketRegime.VOLATILITY_PANIC: "risk_off",
    MarketRegime.SIDEWAYS_ACCUMULATION: "neutral",
}
# Trust in the liquidity, microstructure, macro and geometry experts.
_TRUST = {
    MarketRegime.BULL_MOMENTUM: (0.8, 0.7, 0.7, 1.0),
    MarketRegime.BEAR_MOMENTUM: (1.0, 0.7, 0.9, 0.8),
    MarketRegime.RANGE_BOUND: (0.8, 1.0, 0.5, 0.9),
    MarketRegime.VOLATILITY_PANIC: (0.9, 0.5, 1.0, 0.4),
    MarketRegime.SIDEWAYS_ACCUMULATION: (1.0, 0.8, 0.6, 0.7),
}
_DIRECTIVE = {
    MarketRegime.BULL_MOMENTUM: "Trust geometry first: trends run to their levels. Doubt fades.",
    MarketRegime.BEAR_MOMENTUM: "Trust liquidity and macro: selling feeds itself. Doubt bounces.",
    MarketRegime.RANGE_BOUND: "Trust microstructure: edges hold while the book does. Doubt macro.",
    MarketRegime.VOLATILITY_PANIC: "Trust macro and options: charts and books lie in a panic.",
    MarketRegime.SIDEWAYS_ACCUMULATION: "Trust liquidity: watch who buys while nothing moves.",
}


def classify(market: MarketSnapshot, context: TradeContext, limits: DeskLimits) -> RegimeCall:
    """First match of one table: panic, trend, accumulation, else range."""
    candles = market.hours.candles
    dvol_z = context.number(SectionName.OPTIONS, "dvol_z")
    fear = context.number(SectionName.FEAR_GREED, "value")
    regime, why = MarketRegime.RANGE_BOUND, "too few hours to tell more"
    if len(candles) >= _LEAST_HOURS:
        regime, why = _of(candles, dvol_z, fear, limits)
    return RegimeCall(
        regime=regime,
        rationale=why,
        trust_directive=_DIRECTIVE[regime],
        risk_budget_pct=RISK_BUDGET[regime],
        risk_bias=_BIAS[regime],
        weights=dict(zip(ExpertName, _TRUST[regime], strict=True)),
        fallback=True,
    )


def _of(
    candles: Sequence[Candle], dvol_z: float | None, fear: float | None, limits: DeskLimits
) -> tuple[MarketRegime, str]:
    return (
        _panic(candles, dvol_z, fear, limits)
        or _trend(candles)
        or _accumulation(candles)
        or (MarketRegime.RANGE_BOUND, "neither a trend nor a panic nor quiet buying")
    )


def _panic(
    candles: Sequence[Candle], dvol_z: float | None, fear: float | None, limits: DeskLimits
) -> tuple[MarketRegime, str] | None:
    closes = [candle.close for candle in candles]
    daily = [
        realised_volatility(closes[end - _DAY : end + 1]) * _DAY**0.5
        for end in range(_DAY, len(closes))
    ]
    why = None
    if dvol_z is not None and dvol_z >= limits.dvol_z:
        why = f"implied volatility stands {dvol_z:.1f} σ high"
    elif daily[-1] >= _PANIC_DAY:
        if percentile_rank(daily[:-1], daily[-1]) >= _PANIC_RANK:
            why = f"it moves {daily[-1]:.1%} a day, as it rarely did"
        elif fear is not None and fear <= _EXTREME_FEAR:
            why = f"fear and greed stands at {fear:.0f}"
    return None if why is None else (MarketRegime.VOLATILITY_PANIC, why)


def _trend(candles: Sequence[Candle]) -> tuple[MarketRegime, str] | None:
    closes = [candle.close for candle in candles]
    fast, slow = exponential_mean(closes, 50), exponential_mean(closes, 200)
    efficiency = path_efficiency(closes[-2 * _DAY :])
    if efficiency < _TREND_EFFICIENCY:
        return None
    words = f"of two days' way {efficiency:.0%} led one way"
    if fast > slow and closes[-1] > fast:
        return MarketRegime.BULL_MOMENTUM, f"{words}: up, above both means"
    if fast < slow and closes[-1] < fast:
        return MarketRegime.BEAR_MOMENTUM, f"{words}: down, below both means"
    return None


def _accumulation(candles: Sequence[Candle]) -> tuple[MarketRegime, str] | None:
    recent = candles[-2 * _DAY :]
    volume = sum(candle.volume for candle in recent)
    bought = sum(candle.delta for candle in recent) / volume if volume else 0.0
    moved = recent[-1].close / recent[0].open - 1
    if abs(moved) > _FLAT or bought < _ACCUMULATED:
        return None
    return MarketRegime.SIDEWAYS_ACCUMULATION, f"flat for two days; takers bought {bought:.1%}"
