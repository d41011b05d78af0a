"""Votes, and rates of triage."""

from random import Random

import numpy as np
import pytest

from agents.trade.expert_rules import RISK_BUDGET, classify
from agents.trade.judging import count_votes
from agents.trade.stages import conflict_map
from agents.trade.terms import HIERARCHY, Bias, DeskLimits, ExpertName, MarketRegime, TradeMode
from agents.trade.triage import TradedHours, spike_of, spike_ratios, triage_rates
from chain.base.table_file import TableError
from chain.exchange.public.market import Candle
from tests.agents.trade.cases import context, finding, hours, snapshot

LIMITS = DeskLimits()
EQUAL = dict.fromkeys(ExpertName, 1.0)
UP, DOWN, NEITHER = Bias.BULLISH, Bias.BEARISH, Bias.NEUTRAL


def test_the_hierarchy_is_the_given_one() -> None:
    swing, position = HIERARCHY[TradeMode.SWING], HIERARCHY[TradeMode.POSITION]

    assert [one.value for one in swing] == ["microstructure", "liquidity", "macro", "vlm_geometry"]
    assert [one.value for one in position] == [
        "macro",
        "liquidity",
        "vlm_geometry",
        "microstructure",
    ]


@pytest.mark.parametrize(
    ("mode", "first"),
    [(TradeMode.SWING, ExpertName.MICROSTRUCTURE), (TradeMode.POSITION, ExpertName.MACRO)],
)
def test_a_deadlock_goes_to_the_first_of_the_mode(mode: TradeMode, first: ExpertName) -> None:
    divided = [
        finding("liquidity", NEITHER, 0.5),
        finding("microstructure", UP, 0.3),
        finding("macro", DOWN, 0.3),
        finding("vlm_geometry", NEITHER, 0.5),
    ]

    vote = count_votes(divided, EQUAL, mode, LIMITS)

    assert vote.deadlock is first
    assert vote.direction == (1 if first is ExpertName.MICROSTRUCTURE else -1)


def test_agreement_is_strong_and_silence_is_nothing() -> None:
    names = [one.value for one in ExpertName]
    agreed = count_votes([finding(one, UP, 0.8) for one in names], EQUAL, TradeMode.SWING, LIMITS)
    silent = count_votes(
        [finding(one, NEITHER, 0.9) for one in names], EQUAL, TradeMode.SWING, LIMITS
    )

    assert agreed.direction == 1
    assert agreed.strength == pytest.approx(0.8)
    assert (silent.direction, silent.strength) == (0, 0.0)


def test_trust_changes_weights_and_nobody_is_left_out() -> None:
    said = [
        finding("liquidity", UP, 0.8),
        finding("microstructure", DOWN, 0.8),
        finding("macro", DOWN, 0.8),
        finding("vlm_geometry", NEITHER, 0.1),
    ]
    doubted = EQUAL | {ExpertName.MICROSTRUCTURE: 0.1, ExpertName.MACRO: 0.1}

    assert count_votes(said, EQUAL, TradeMode.SWING, LIMITS).direction == -1
    assert count_votes(said, doubted, TradeMode.SWING, LIMITS).direction == 1


def test_the_conflict_map_names_who_is_against_whom_and_who_breaks_the_tie() -> None:
    regime = classify(snapshot(), context(), LIMITS)
    said = [
        finding("liquidity", UP, 0.4),
        finding("microstructure", DOWN, 0.6),
        finding("macro", NEITHER, 0.1),
        finding("vlm_geometry", UP, 0.5),
    ]

    found = conflict_map(said, regime, TradeMode.SWING)

    assert [one.between for one in found.conflicts] == [
        (ExpertName.LIQUIDITY, ExpertName.MICROSTRUCTURE),
        (ExpertName.MICROSTRUCTURE, ExpertName.GEOMETRY),
    ]
    assert all(one.tiebreaker.startswith("microstructure") for one in found.conflicts)
    assert found.highest_confidence_expert is ExpertName.MICROSTRUCTURE
    assert found.consensus_signals == ()
    assert regime.trust_directive in found.regime_note
    assert found.key_uncertainty


def test_what_nobody_contradicts_is_a_consensus_with_its_prices() -> None:
    regime = classify(snapshot(), context(), LIMITS)
    said = [finding(one.value, UP, 0.4) for one in ExpertName]

    found = conflict_map(said, regime, TradeMode.SWING)

    assert found.dominant_signal is UP
    assert found.conflicts == ()
    assert "2,990.00" in found.consensus_signals[0]


def test_regimes_are_told_by_their_numbers() -> None:
    flat = snapshot()
    panic = context(options={"dvol_z": 2.5})
    rising = hours(130)
    for place, one in enumerate(rising):
        price = 3000.0 + place * 5
        rising[place] = one._replace(
            open=price, close=price + 5, high=price + 6, low=price - 1, taker_buy=60.0
        )
    falling = [
        one._replace(
            open=6000 - one.open, close=6000 - one.close, high=6000 - one.low, low=6000 - one.high
        )
        for one in rising
    ]
    bought = [one._replace(taker_buy=one.volume * 0.55) for one in hours()]

    def regime(market: object, about: object = None) -> MarketRegime:
        return classify(market, about or context(), LIMITS).regime  # type: ignore[arg-type]

    assert regime(flat) is MarketRegime.RANGE_BOUND
    assert regime(flat, panic) is MarketRegime.VOLATILITY_PANIC
    assert regime(snapshot(rising)) is MarketRegime.BULL_MOMENTUM
    assert regime(snapshot(falling)) is MarketRegime.BEAR_MOMENTUM
    assert regime(snapshot(bought)) is MarketRegime.SIDEWAYS_ACCUMULATION
    assert regime(snapshot(hours(10))) is MarketRegime.RANGE_BOUND
    assert set(RISK_BUDGET) == set(MarketRegime)
    assert classify(flat, panic, LIMITS).risk_budget_pct == 10.0


HOUR = 3_600
START = 1_704_067_200
"""2024-01-01 00:00 UTC."""


def drawn(count: int) -> list[Candle]:
    draws, price, candles = Random(8), 2_000.0, []
    for place in range(count):
        wild = 6.0 if place % 48 >= 40 else 1.0
        after = price * (1 + draws.gauss(0, 0.004 * wild))
        high, low = (edge(price, after) for edge in (max, min))
        volume = draws.uniform(50, 150) * (6.0 if place % 48 == 47 else 1.0)
        time = START + place * HOUR
        candles.append(Candle(time, price, high * 1.001, low * 0.999, after, volume, volume / 2))
        price = after
    return candles


def arrays(candles: list[Candle]) -> TradedHours:
    rows = [(one.time, one.high, one.low, one.close, one.volume) for one in candles]
    return TradedHours(*np.array(rows, dtype=np.float64).T)


def test_arrays_tell_what_triage_tells_hour_by_hour() -> None:
    candles, limits = drawn(400), DeskLimits()
    atr, volume = spike_ratios(arrays(candles), limits)
    least, spikes = limits.atr_hours + 14, 0
    for place in range(least - 1, len(candles)):
        spike = spike_of(candles[: place + 1], limits)
        assert spike is not None
        assert (atr[place], volume[place]) == pytest.approx((spike.atr_ratio, spike.volume_ratio))
        spikes += spike.is_one(limits)
    assert spikes >= 2
    assert np.isnan(atr[least - 2])

    rates = triage_rates(arrays(candles), limits)
    assert rates.months[0].month == "2024-01"
    assert spikes - 2 <= sum(one.spikes for one in rates.months) <= spikes
    assert rates.after_all.hours == sum(one.hours for one in rates.months)


def test_hours_beside_a_gap_are_not_judged() -> None:
    whole = arrays(drawn(300))
    late = whole.times.copy()
    late[200:] += HOUR
    judged = [triage_rates(one).after_all.hours for one in (whole, whole._replace(times=late))]

    assert judged[0] - judged[1] == 24 + 4
    with pytest.raises(TableError, match="judged"):
        triage_rates(arrays(drawn(50)))
