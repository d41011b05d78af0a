"""The four experts without a model: what they make of numbers that a test chose."""

import pytest

from agents.trade.expert_rules import (
    liquidity_finding,
    macro_finding,
    microstructure_finding,
)
from agents.trade.facts import BookFacts, BookSample
from agents.trade.findings import TriageReport, TurnBudget
from agents.trade.geometry_rules import geometry_finding
from agents.trade.terms import Bias, DeskLimits, MarketAnomaly
from chain.exchange.public.market import Candle
from tests.agents.trade.cases import NOW, context, hours, snapshot

LIMITS = DeskLimits()


def report(*found: MarketAnomaly) -> TriageReport:
    return TriageReport(
        anomalies=found,
        atr_ratio=None,
        volume_ratio=None,
        interest_change=None,
        liquidated_usd=None,
        imbalance=None,
        dvol_z=None,
        budget=TurnBudget(total=100, costs={}),
    )


def course(*, move: float, bought: float) -> list[Candle]:
    """A day that moves the price by this fraction while takers buy net this share."""
    candles = hours()
    for place in range(24):
        one = candles[place - 24]
        start = 3000 * (1 + move * place / 24)
        end = 3000 * (1 + move * (place + 1) / 24)
        candles[place - 24] = one._replace(
            open=start,
            close=end,
            high=max(start, end) + 1,
            low=min(start, end) - 1,
            taker_buy=one.volume * (1 + bought) / 2,
        )
    return candles


@pytest.mark.parametrize(
    ("move", "bought", "anomaly", "bias"),
    [
        (-0.02, 0.05, "whale_cvd_divergence", Bias.BULLISH),
        (0.02, -0.05, "whale_cvd_divergence", Bias.BEARISH),
        (0.02, 0.05, "none", Bias.BULLISH),
        (0.0, 0.0, "none", Bias.NEUTRAL),
    ],
)
def test_liquidity_sees_takers_and_price_part_ways(
    move: float, bought: float, anomaly: str, bias: Bias
) -> None:
    market = snapshot(course(move=move, bought=bought))
    found = liquidity_finding(market, context(), report())

    assert (found.anomaly, found.bias) == (anomaly, bias)
    assert (
        geometry_finding(market, context()).cvd_signal
        == {
            (-1, 1): "divergence_bullish",
            (1, -1): "divergence_bearish",
            (1, 1): "confirming",
            (0, 0): "neutral",
        }[(move > 0) - (move < 0), (bought > 0) - (bought < 0)]
    )


def test_liquidity_sees_who_was_hunted() -> None:
    told = context(liquidations={"long_usd": 900_000.0, "short_usd": 10_000.0})
    found = liquidity_finding(snapshot(), told, report(MarketAnomaly.LIQUIDATION_CLUSTER))

    assert (found.anomaly, found.bias) == ("liquidation_hunting", Bias.BULLISH)


def book(lean: float, sizes: list[float]) -> BookFacts:
    sample = BookSample(
        time=NOW, spread_bips=0.1, imbalance5=lean, imbalance20=lean, imbalance100=lean
    )
    return BookFacts(
        samples=(sample,) * 3,
        bids=tuple((2999.0 - place, size) for place, size in enumerate(sizes)),
        asks=tuple((3001.0 + place, 1.0) for place in range(20)),
        buy_slippage_bips=0.5,
        sell_slippage_bips=None,
    )


@pytest.mark.parametrize(
    ("lean", "wall", "found", "anomaly", "side"),
    [
        (0.8, 1.0, (MarketAnomaly.MICROSTRUCTURE_IMBALANCE,), "microstructure_imbalance", "UP"),
        (-0.8, 1.0, (MarketAnomaly.MICROSTRUCTURE_IMBALANCE,), "microstructure_imbalance", "DOWN"),
        (0.1, 6.0, (), "fake_wall", "NEUTRAL"),
        (0.4, 1.0, (), "none", "UP"),
        (0.0, 1.0, (), "none", "NEUTRAL"),
    ],
)
def test_microstructure_sees_the_fuller_side_and_walls(
    lean: float, wall: float, found: tuple[MarketAnomaly, ...], anomaly: str, side: str
) -> None:
    said = microstructure_finding(book(lean, [1.0] * 19 + [wall]), report(*found), LIMITS)

    assert (said.anomaly, said.directional_bias) == (anomaly, side)


def test_an_expert_without_its_source_is_neutral_and_says_so() -> None:
    for said in (
        microstructure_finding(None, report(), LIMITS),
        macro_finding(context(), LIMITS),
        geometry_finding(snapshot(hours(5)), context()),
    ):
        assert said.bias is Bias.NEUTRAL
        assert said.confidence == 0
        assert said.rationale


def test_macro_counts_the_legs_it_knows() -> None:
    calm = context(options={"put_call": 0.5, "skew_25d": -0.05}, macro={"nasdaq_change": 0.02})
    divided = context(options={"put_call": 0.5}, macro={"nasdaq_change": -0.02})

    assert macro_finding(calm, LIMITS).bias is Bias.BULLISH
    assert macro_finding(divided, LIMITS).anomaly == "macro_divergence"


def test_geometry_names_levels_that_the_candles_show() -> None:
    candles = hours(80)
    candles[-1] = candles[-1]._replace(high=3100.0, close=3090.0)
    said = geometry_finding(snapshot(candles, mark=3090.0), context(funding={"rate": 0.0006}))

    assert (said.anomaly, said.bias) == ("clean_breakout", Bias.BULLISH)
    assert said.funding_visual == "extreme_positive"
    assert said.key_levels.major_support == 2995.0
    assert said.key_levels.major_resistance == 3100.0
    assert "fib 0.5" in said.fibonacci_context
