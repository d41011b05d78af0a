"""A stake in a market, and a move against HOLD."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agents.numbers.advice import expected_edge
from agents.numbers.edges import Edges, TickRange
from agents.numbers.outlook import (
    PoolMarket,
    Stake,
    expected_life_hours,
    gain_over_hold,
    horizon_hours,
    look_at,
    net_over,
)
from agents.numbers.survival import StressBuffers

RISK = 0.03**2 / 8
MARKET = PoolMarket(
    price=0.0,
    daily_sigma=0.03,
    edge_7d=2.0,
    fee_rate_7d=2.0 * RISK,
    active_worth=2e6,
    others_worth=2e6,
    unit1_value=1e-18,
    fee_low_factor=0.5,
    fee_high_factor=2.0,
)
INSIDE = Stake(TickRange(-900, 900), 10**22)
OUTSIDE = Stake(TickRange(3_000, 4_800), 10**22)


def test_a_stake_in_range() -> None:
    seen = look_at(MARKET, INSIDE)
    assert seen.edges == Edges(900, 900)
    assert 0.99 < seen.in_range_share < 1
    assert seen.value == pytest.approx(2 * 10**4 * (1 - 1.0001**-450), rel=1e-9)
    # 20,000 dollars of full-range worth share what was paid to two millions.
    paid = expected_edge(2.0) * RISK * 20_000 * 2e6 / 2.02e6
    assert seen.fee_24h == pytest.approx(paid * seen.in_range_share)
    assert seen.lvr_24h == pytest.approx(0.03**2 / 4 * 10**4 * seen.in_range_share)
    assert seen.fee_24h is not None
    assert seen.lvr_24h is not None
    assert net_over(MARKET, INSIDE, 24.0).total == seen.fee_24h - seen.lvr_24h


@pytest.mark.parametrize("edge", [0.3, 1.0, 2.0, 5.0, 20.0])
def test_what_a_week_is_expected_to_net_lies_inside_its_span(edge: float) -> None:
    """However far the last week was from what pools usually pay."""
    spread = {"week_low_factor": 0.7, "week_high_factor": 1.5}
    seen = look_at(replace(MARKET, edge_7d=edge, fee_rate_7d=edge * RISK, **spread), INSIDE)
    low, expected, high = (each.total for each in (seen.week_low, seen.week, seen.week_high))

    assert low is not None
    assert expected is not None
    assert high is not None
    assert seen.week.fees is not None
    assert expected - low == pytest.approx(0.3 * seen.week.fees)
    assert high - expected == pytest.approx(0.5 * seen.week.fees)


def test_a_stake_out_of_range_has_no_life_and_hardly_earns() -> None:
    seen = look_at(MARKET, OUTSIDE)
    assert seen.exit.buffers == StressBuffers(0, 0, 0)
    assert seen.in_range_share < 1e-9
    assert seen.value is not None
    assert seen.value > 0


def test_from_outside_lvr_begins_where_the_price_comes_back_in() -> None:
    near = Stake(TickRange(200, 1_800), 10**22)
    seen = look_at(MARKET, near)
    assert 0.1 < seen.in_range_share < 0.2
    at_the_edge = 10**4 * 1.0001**100
    assert seen.lvr_24h == pytest.approx(0.03**2 / 4 * at_the_edge * seen.in_range_share)


def test_unknown_stays_unknown() -> None:
    no_fees = look_at(replace(MARKET, fee_rate_7d=None, edge_7d=None), INSIDE)
    assert no_fees.fee_24h is None
    assert no_fees.week.total is None
    assert no_fees.lvr_24h is not None
    no_price = look_at(replace(MARKET, unit1_value=None), INSIDE)
    assert no_price.value is None
    assert no_price.lvr_24h is None
    assert (
        gain_over_hold(replace(MARKET, fee_rate_7d=None, edge_7d=None), OUTSIDE, INSIDE, 24.0)
        is None
    )


@given(
    st.floats(-2_000, 2_000),
    st.integers(-2_000, 1_000),
    st.integers(10, 4_000),
    st.integers(1, 10**24),
)
def test_the_gain_is_the_difference_of_the_outlooks(
    price: float, lower: int, width: int, liquidity: int
) -> None:
    market = replace(MARKET, price=price)
    move = Stake(TickRange(lower, lower + width), liquidity)
    moved, held = look_at(market, move).week.total, look_at(market, INSIDE).week.total
    assert moved is not None
    assert held is not None
    assert gain_over_hold(market, INSIDE, move, 168.0) == moved - held
    assert gain_over_hold(market, None, move, 168.0) == moved


def test_at_twice_the_volatility_arbitrage_takes_four_times_as_much_and_fees_stay() -> None:
    wild = MARKET.at_multiples(volatility=2.0)
    assert wild.daily_sigma == 0.06
    assert wild.edge_7d == 0.5
    assert wild.fee_rate_7d == MARKET.fee_rate_7d
    assert wild.loss_rate == pytest.approx(4 * MARKET.loss_rate)
    poor = MARKET.at_multiples(fees=0.5)
    assert (poor.edge_7d, poor.daily_sigma) == (1.0, 0.03)
    assert poor.loss_rate == pytest.approx(MARKET.loss_rate)


def test_what_is_expected_is_drawn_towards_what_pools_usually_pay() -> None:
    for edge in (0.3, 0.83, 1.1, 3.0):
        market = replace(MARKET, edge_7d=edge, fee_rate_7d=edge * RISK)
        assert market.fee_rate == pytest.approx(expected_edge(edge) * RISK)
        assert market.loss_rate == pytest.approx(RISK)


def test_the_interval_is_around_the_weeks_own_fees_and_holds_what_is_expected() -> None:
    seen = look_at(MARKET, INSIDE)
    assert seen.fee_24h is not None
    plain = seen.fee_24h * 2.0 / expected_edge(2.0)
    assert seen.fee_low_24h == pytest.approx(0.5 * plain)
    assert seen.fee_high_24h == pytest.approx(2.0 * plain)
    rich = look_at(replace(MARKET, edge_7d=50.0, fee_rate_7d=50 * RISK), INSIDE)
    assert rich.fee_24h == rich.fee_low_24h


def test_a_gain_is_counted_for_the_moves_life_and_a_week_at_most() -> None:
    narrow, wide = Stake(TickRange(-300, 300), 10**22), Stake(TickRange(-3_000, 3_000), 10**22)
    assert horizon_hours(MARKET, narrow) == expected_life_hours(MARKET, narrow) < 168
    assert horizon_hours(MARKET, wide) == 168


def test_own_liquidity_shares_the_same_fees_with_the_others() -> None:
    huge = Stake(TickRange(-900, 900), 10**26)
    seen = look_at(MARKET, huge)
    assert seen.fee_24h is not None
    whole = expected_edge(2.0) * RISK * 2e6
    assert 0.98 * whole < seen.fee_24h < whole
