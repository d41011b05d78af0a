"""Three experts without a model: the same findings from arithmetic, marked as such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from agents.trade.findings import (
    LiquidityFinding,
    MacroFinding,
    MicrostructureFinding,
    TriageReport,
)
from agents.trade.indicators import mean
from agents.trade.terms import Bias, MarketAnomaly, SectionName, bias_of
from agents.trade.triage import is_options_panic

if TYPE_CHECKING:
    from agents.trade.facts import BookFacts, MarketSnapshot, TradeContext
    from agents.trade.limits import DeskLimits
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
    return window[-1].close / window[0].open - 1, sum(one.delta for one in window) / volume


def microstructure_finding(
    book: BookFacts | None, triage: TriageReport, limits: DeskLimits
) -> MicrostructureFinding:
    """Which side of the book is fuller, and whether a wall in it is meant."""
    if book is None:
        return _micro("none", 0.0, "NEUTRAL", "There is no book to read.")
    leans = [one.imbalance20 for one in book.samples if one.imbalance20 is not None]
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
        "25-delta skew": _vote(context.number(options, "skew_25d"), -0.02, 0.04, low=1),
        "2s10s": _vote(context.number(macro, "curve_change"), -limits.curve_fall, 0.1, low=-1),
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
