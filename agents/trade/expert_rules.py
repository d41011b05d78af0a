"""Three experts and the kind of market without a model: findings from arithmetic, marked so."""

from collections.abc import Sequence
from typing import Literal

from agents.numbers.regime import TRENDING_EFFICIENCY, Regime, RegimeReading, read_regime
from agents.trade.facts import BookFacts, MarketSnapshot, TradeContext
from agents.trade.findings import (
    LiquidityFinding,
    MacroFinding,
    MicrostructureFinding,
    RegimeCall,
    TriageReport,
)
from agents.trade.indicators import mean, path_efficiency, realised_volatility
from agents.trade.terms import (
    Bias,
    DeskLimits,
    ExpertName,
    MarketAnomaly,
    MarketRegime,
    SectionName,
    bias_of,
)
from agents.trade.triage import is_options_panic
from chain.exchange.public.market import BookLevel, Candle

_WINDOW = 24
MOVED = 0.004
"""Of the price, within a day."""
BOUGHT = 0.02
"""Net, of all that was traded."""
_WALL = 5.0
_WALL_LEVELS = 20
_UP: Literal["UP"] = "UP"
_DOWN: Literal["DOWN"] = "DOWN"


def liquidity_finding(
    market: MarketSnapshot, context: TradeContext, triage: TriageReport
) -> LiquidityFinding:
    """Whether takers and price part ways, and whom liquidations hunt."""
    longs = context.number(SectionName.LIQUIDATIONS, "long_usd")
    shorts = context.number(SectionName.LIQUIDATIONS, "short_usd")
    if MarketAnomaly.LIQUIDATION_CLUSTER in triage.anomalies and None not in (longs, shorts):
        # What was forced out of the market is over: the price tends to come back from there.
        bias = bias_of((longs or 0.0) - (shorts or 0.0))
        return LiquidityFinding(
            anomaly="liquidation_hunting",
            confidence=0.55,
            target_entry=market.mark,
            directional_bias=bias,
            rationale=f"Liquidated within the hour: longs {longs:,.0f}, shorts {shorts:,.0f} USD.",
            fallback=True,
        )
    moved, bought = price_and_flow(market.hours.candles)
    words = f"In {_WINDOW} h the price moved {moved:+.2%} and takers bought net {bought:+.1%}."
    if moved <= -MOVED and bought >= BOUGHT:
        return _liquidity("whale_cvd_divergence", Bias.BULLISH, bought, market, words)
    if moved >= MOVED and bought <= -BOUGHT:
        return _liquidity("whale_cvd_divergence", Bias.BEARISH, bought, market, words)
    if abs(bought) >= BOUGHT:
        return _liquidity("none", bias_of(bought), bought / 2, market, words)
    return _liquidity("none", Bias.NEUTRAL, 0.0, market, words)


def _liquidity(
    anomaly: Literal["whale_cvd_divergence", "none"],
    bias: Bias,
    strength: float,
    market: MarketSnapshot,
    words: str,
) -> LiquidityFinding:
    return LiquidityFinding(
        anomaly=anomaly,
        confidence=min(0.8, 0.3 + abs(strength) * 5) if bias.sign else 0.2,
        target_entry=market.mark if bias.sign else None,
        directional_bias=bias,
        rationale=words,
        fallback=True,
    )


def price_and_flow(candles: Sequence[Candle]) -> tuple[float, float]:
    """The move of a day, and what takers bought net of all that was traded."""
    window = candles[-_WINDOW:]
    volume = sum(candle.volume for candle in window)
    if not window or volume <= 0:
        return 0.0, 0.0
    return window[-1].close / window[0].open - 1, sum(candle.delta for candle in window) / volume


def microstructure_finding(
    book: BookFacts | None, triage: TriageReport, limits: DeskLimits
) -> MicrostructureFinding:
    """Which side of the book is fuller, and whether a wall in it is meant."""
    if book is None:
        return _micro("none", 0.0, "NEUTRAL", "There is no book to read.")
    leans = [sample.imbalance20 for sample in book.samples if sample.imbalance20 is not None]
    if not leans:
        return _micro("none", 0.0, "NEUTRAL", "The book is empty.")
    lean = mean(leans)
    fuller = "Bids" if lean > 0 else "Asks"
    words = f"{fuller} lead by {abs(lean):.0%} over 20 levels in {len(leans)} samples."
    wall = _wall(book.bid_levels) or _wall(book.ask_levels)
    side = _UP if lean > 0 else _DOWN
    if MarketAnomaly.MICROSTRUCTURE_IMBALANCE in triage.anomalies:
        return _micro("microstructure_imbalance", min(0.9, abs(lean)), side, words)
    if wall:
        # A wall that stands out this far is as likely there to be looked at as to be traded.
        return _micro(
            "fake_wall", 0.3, "NEUTRAL", f"{words} One level holds {wall:.0f}× the usual."
        )
    if abs(lean) >= limits.imbalance / 3:
        return _micro("none", abs(lean) / 2, side, words)
    return _micro("none", 0.2, "NEUTRAL", words)


def _micro(
    anomaly: Literal["microstructure_imbalance", "fake_wall", "none"],
    confidence: float,
    side: Literal["UP", "DOWN", "NEUTRAL"],
    words: str,
) -> MicrostructureFinding:
    return MicrostructureFinding(
        anomaly=anomaly,
        confidence=confidence,
        directional_bias=side,
        rationale=words,
        fallback=True,
    )


def _wall(levels: Sequence[BookLevel]) -> float | None:
    """How much larger than the median the largest level is, where it stands out."""
    sizes = sorted(level.quantity for level in levels[:_WALL_LEVELS])
    if len(sizes) < _WALL_LEVELS or not sizes[len(sizes) // 2]:
        return None
    ratio = sizes[-1] / sizes[len(sizes) // 2]
    return ratio if ratio >= _WALL else None


def macro_finding(context: TradeContext, limits: DeskLimits) -> MacroFinding:
    """What options and the world outside pay for protection; each known leg has one vote."""
    options, macro = SectionName.OPTIONS, SectionName.MACRO
    panic = is_options_panic(
        context.number(options, "dvol_z"),
        context.number(options, "week_volatility"),
        context.number(options, "quarter_volatility"),
        limits,
    )
    votes = {
        "puts over calls": _vote(context.number(options, "put_call"), 0.7, 1.1, low=1),
        "option skew": _vote(context.number(options, "skew_25d"), -0.02, 0.04, low=1),
        "yield curve": _vote(
            context.number(macro, "curve_change"), -limits.curve_fall, 0.1, low=-1
        ),
        "dollar": _vote(context.number(macro, "dollar_change"), -0.005, 0.005, low=1),
        "Nasdaq": _vote(context.number(macro, "nasdaq_change"), -0.01, 0.01, low=-1),
    }
    known = {name: vote for name, vote in votes.items() if vote is not None}
    if panic:
        words = "Options are in a panic: protection is dear."
        return _macro("options_panic", Bias.BEARISH, 0.7, words)
    if not known:
        return _macro("none", Bias.NEUTRAL, 0.0, "Neither options nor macro data are known.")
    total = sum(known.values())
    words = ", ".join(f"{name} {'+' if vote > 0 else ''}{vote}" for name, vote in known.items())
    divided = min(known.values()) < 0 < max(known.values())
    anomaly: Literal["macro_divergence", "none"] = "macro_divergence" if divided else "none"
    confidence = min(0.7, abs(total) / len(votes))
    return _macro(anomaly, bias_of(total), confidence, f"Votes: {words}.")


def _macro(
    anomaly: Literal["options_panic", "macro_divergence", "none"],
    bias: Bias,
    confidence: float,
    words: str,
) -> MacroFinding:
    return MacroFinding(
        anomaly=anomaly, options_bias=bias, confidence=confidence, rationale=words, fallback=True
    )


def _vote(number: float | None, lower: float, upper: float, *, low: int) -> int | None:
    """`low` below the lower bound, its opposite above the upper, 0 between."""
    if number is None:
        return None
    return low if number < lower else -low if number > upper else 0


_LEAST_HOURS = 60
_DAY = 24
_WEEK = 7 * _DAY
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
    MarketRegime.BULL_MOMENTUM: "Trends tend to reach their levels: geometry counts most.",
    MarketRegime.BEAR_MOMENTUM: "Selling brings more selling: liquidity and macro count most.",
    MarketRegime.RANGE_BOUND: "The range holds while the order book does: microstructure leads.",
    MarketRegime.VOLATILITY_PANIC: "In a panic charts and books mislead: macro and options lead.",
    MarketRegime.SIDEWAYS_ACCUMULATION: "The price stands still: liquidity shows who buys.",
}


def classify(market: MarketSnapshot, context: TradeContext, limits: DeskLimits) -> RegimeCall:
    """By the table that judges pools too; what only options and crowds tell makes it a panic."""
    candles = market.hours.candles
    regime, why = MarketRegime.RANGE_BOUND, "too few hours to tell more"
    if len(candles) >= _LEAST_HOURS:
        reading = market_reading([candle.close for candle in candles])
        alarm = _alarm(context, limits)
        regime, why = _named(reading, candles), f"{reading.regime.value}: {reading.reason}"
        if alarm is not None:
            regime, why = MarketRegime.VOLATILITY_PANIC, f"{alarm}; {why}"
    return RegimeCall(
        regime=regime,
        rationale=why.removesuffix("."),
        trust_directive=_DIRECTIVE[regime],
        risk_budget_pct=RISK_BUDGET[regime],
        risk_bias=_BIAS[regime],
        weights=dict(zip(ExpertName, _TRUST[regime], strict=True)),
        fallback=True,
    )


def market_reading(closes: Sequence[float]) -> RegimeReading:
    """Of the last day's hours, held against the last week's where there are as many."""
    day = closes[-_DAY - 1 :]
    week = closes[-_WEEK - 1 :]
    sigma_7d = realised_volatility(week) * _DAY**0.5 if len(week) > _WEEK else None
    return read_regime(realised_volatility(day) * _DAY**0.5, sigma_7d, path_efficiency(day))


def _alarm(context: TradeContext, limits: DeskLimits) -> str | None:
    dvol_z = context.number(SectionName.OPTIONS, "dvol_z")
    fear = context.number(SectionName.FEAR_GREED, "value")
    if dvol_z is not None and dvol_z >= limits.dvol_z:
        return f"implied volatility stands {dvol_z:.1f} σ high"
    return None if fear is None or fear > _EXTREME_FEAR else f"fear and greed stands at {fear:.0f}"


def _named(reading: RegimeReading, candles: Sequence[Candle]) -> MarketRegime:
    """The same regime in the trade desk's words, which tell up from down."""
    if reading.regime is Regime.STRESSED:
        return MarketRegime.VOLATILITY_PANIC
    efficiency = reading.path_efficiency or 0.0
    if reading.regime is Regime.TRENDING or efficiency > TRENDING_EFFICIENCY:
        rose = candles[-1].close > candles[-_DAY - 1].close
        return MarketRegime.BULL_MOMENTUM if rose else MarketRegime.BEAR_MOMENTUM
    accumulates = reading.regime is Regime.RANGING and _accumulates(candles)
    return MarketRegime.SIDEWAYS_ACCUMULATION if accumulates else MarketRegime.RANGE_BOUND


def _accumulates(candles: Sequence[Candle]) -> bool:
    """Flat for two days while takers bought."""
    recent = candles[-2 * _DAY :]
    volume = sum(candle.volume for candle in recent)
    bought = sum(candle.delta for candle in recent) / volume if volume else 0.0
    return abs(recent[-1].close / recent[0].open - 1) <= _FLAT and bought >= _ACCUMULATED
