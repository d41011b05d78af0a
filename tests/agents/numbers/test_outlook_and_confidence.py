"""A stake in a market, a move against HOLD, and how sure the choice is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agents.numbers.choosing import VolatilityWindow
from agents.numbers.confidence import (
    Contest,
    exit_confidence,
    hold_confidence,
    move_confidence,
    share_of,
    volatility_multiples,
)
from agents.numbers.edges import Edges, TickRange
from agents.numbers.outlook import PoolMarket, Stake, expected_life_hours, gain_over_hold, look_at
from agents.numbers.survival import StressBuffers

MARKET = PoolMarket(
    price=0.0,
    daily_sigma=0.03,
    others_liquidity=10**24,
    pool_fees_24h=5_000.0,
    unit1_value=1e-18,
)
INSIDE = Stake(TickRange(-900, 900), 10**22)
OUTSIDE = Stake(TickRange(3_000, 4_800), 10**22)


def against(market: PoolMarket, *moves: tuple[Stake, float]) -> Contest:
    """A position out of its range, and where it could go."""
    return Contest(market, OUTSIDE, moves)


def test_a_stake_in_range() -> None:
    seen = look_at(MARKET, INSIDE)
    assert seen.edges == Edges(900, 900)
    assert 0.99 < seen.in_range_share < 1
    assert seen.value == pytest.approx(2 * 10**4 * (1 - 1.0001**-450), rel=1e-9)
    assert seen.fee_24h == pytest.approx(5_000 * seen.in_range_share / 101)
    assert seen.lvr_24h == pytest.approx(0.03**2 / 4 * 10**4 * seen.in_range_share)
    assert seen.fee_24h is not None
    assert seen.lvr_24h is not None
    assert seen.net_24h == seen.fee_24h - seen.lvr_24h
    assert expected_life_hours(MARKET, INSIDE) == seen.exit.mean_hours


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
    no_fees = look_at(replace(MARKET, pool_fees_24h=None), INSIDE)
    assert no_fees.fee_24h is None
    assert no_fees.net_24h is None
    assert no_fees.lvr_24h is not None
    no_price = look_at(replace(MARKET, unit1_value=None), INSIDE)
    assert no_price.value is None
    assert no_price.lvr_24h is None
    assert gain_over_hold(replace(MARKET, pool_fees_24h=None), OUTSIDE, INSIDE) is None


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
    moved, held = look_at(market, move).net_24h, look_at(market, INSIDE).net_24h
    assert moved is not None
    assert held is not None
    assert gain_over_hold(market, INSIDE, move) == moved - held
    assert gain_over_hold(market, None, move) == moved


def test_stress_changes_volatility_alone() -> None:
    assert MARKET.stressed(2) == replace(MARKET, daily_sigma=0.06)


def test_the_draws_run_from_half_to_twice() -> None:
    multiples = volatility_multiples()
    assert multiples[0] == 0.5
    assert multiples[-1] == 2.0
    assert multiples[len(multiples) // 2] == 1.0
    assert list(multiples) == sorted(multiples)
    assert share_of(lambda multiple: multiple <= 1.0) == 21 / 41
    assert share_of(lambda multiple: multiple > 1, multiples=[0.5, 1.5]) == 0.5


def test_a_move_out_of_nothing_into_earning_is_sure_when_cheap() -> None:
    assert move_confidence(against(MARKET, (INSIDE, 0.1))) == 1.0
    assert hold_confidence([against(MARKET, (INSIDE, 0.1))]) == 0.0


def test_a_move_that_costs_too_much_is_never_sure() -> None:
    assert move_confidence(against(MARKET, (INSIDE, 1e9))) == 0.0
    assert hold_confidence([against(MARKET, (INSIDE, 1e9))]) == 1.0


def test_in_between_confidence_falls_with_the_cost() -> None:
    shares = [move_confidence(against(MARKET, (INSIDE, cost))) for cost in (50, 200, 800, 3_200)]
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) >= 3


def test_unknown_fees_leave_no_confidence_in_a_move() -> None:
    blind = replace(MARKET, pool_fees_24h=None)
    assert move_confidence(against(blind, (INSIDE, 0.0))) == 0.0
    assert hold_confidence([against(blind, (INSIDE, 0.0))]) == 1.0


def test_holding_against_several_moves_counts_the_best_of_them() -> None:
    moves = [(INSIDE, 1e9), (INSIDE, 200.0)]
    assert hold_confidence([against(MARKET, *moves)]) == pytest.approx(
        1 - move_confidence(against(MARKET, (INSIDE, 200.0)))
    )


def test_a_pool_where_a_move_wins_is_enough_to_doubt_hold() -> None:
    """Moves into several pools are each judged in the market of their own pool."""
    dead = replace(MARKET, pool_fees_24h=0.0)
    idle, tempting = Contest(dead, None, ((INSIDE, 0.1),)), Contest(MARKET, None, ((INSIDE, 0.1),))
    assert hold_confidence([idle]) == 1.0
    assert hold_confidence([idle, tempting]) == hold_confidence([tempting]) < 0.5


def test_a_healthy_position_is_left_only_for_twice_as_much() -> None:
    hold = Stake(TickRange(-900, 900), 10**22)
    better = Stake(TickRange(-900, 900), 15 * 10**21)
    assert move_confidence(Contest(MARKET, hold, ((better, 0.1),))) == 1.0
    assert move_confidence(Contest(MARKET, hold, ((better, 0.1),), healthy=True)) == 0.0


def test_exit_confidence_is_how_far_the_market_beats_the_fees() -> None:
    far, close = VolatilityWindow(0.08, 0.02), VolatilityWindow(0.0201, 0.02)
    assert exit_confidence(far, far) == 1.0
    assert exit_confidence(far, close) == 21 / 41
    assert exit_confidence(far, VolatilityWindow(None, 0.02)) == 0.0
