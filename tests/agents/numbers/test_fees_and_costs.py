"""Fees, LVR and costs against worked values and against exact amounts."""

from __future__ import annotations

from math import inf, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.numbers import fees
from agents.numbers.costs import (
    CostedRecipe,
    MintedRange,
    MoveCost,
    break_even_hours,
    gas_cost,
    gas_units,
    gas_yield,
    move_cost,
)
from agents.numbers.edges import TICK_LOG, Edges, TickRange, edges_of, price_tick
from agents.numbers.inventory import PrepSwap, PriceSpan
from chain.math.liquidity import amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick

NOTHING_MINTED = MintedRange(PriceSpan(2**95, 2**97), 0, 500)


def around(width: float) -> Edges:
    """The range [P/(1+w), P(1+w)]."""
    distance = log(1 + width) / TICK_LOG
    return Edges(distance, distance)


@pytest.mark.parametrize(
    ("width", "multiple"),
    [
        (0.01, 201.499),
        (0.02, 101.498),
        (0.05, 41.494),
        (0.1, 21.488),
        (0.25, 9.472),
        (0.5, 5.449),
        (1.0, 3.414),
    ],
)
def test_concentration(width: float, multiple: float) -> None:
    full = fees.full_range_value(10**18, 0.0, 1.0)
    assert full / fees.position_value(10**18, 0.0, around(width), 1.0) == pytest.approx(
        multiple, abs=0.001
    )


@given(
    st.integers(-200_000, 200_000),
    st.integers(-3_000, 3_000),
    st.integers(10, 6_000),
    st.integers(10**12, 10**24),
)
def test_value_is_what_the_amounts_are_worth(
    tick: int, offset: int, width: int, liquidity: int
) -> None:
    ticks = TickRange(tick + offset, tick + offset + width)
    sqrt_price = sqrt_price_at_tick(tick)
    edges = edges_of(price_tick(sqrt_price), ticks)
    value = fees.position_value(liquidity, price_tick(sqrt_price), edges, 1.0)
    # A thousand times the liquidity, so that rounding to whole units does not show.
    scale = 10**30
    amounts = amounts_for_liquidity(
        sqrt_price,
        sqrt_price_at_tick(ticks.lower),
        sqrt_price_at_tick(ticks.upper),
        liquidity * scale,
        round_up=False,
    )
    exact = amounts.amount0 * sqrt_price**2 // 2**192 + amounts.amount1
    assert value * scale == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize(("width", "yearly"), [(0.1, 0.88), (0.2, 0.47)])
def test_lvr_of_a_year_at_three_percent_a_day(width: float, yearly: float) -> None:
    edges = around(width)
    value = fees.position_value(10**18, 0.0, edges, 1.0)
    lvr = 0.03**2 / 8 * fees.full_range_value(10**18, 0.0, 1.0)
    assert 365 * lvr / value == pytest.approx(yearly, abs=0.01)


def test_own_liquidity_belongs_in_the_denominator() -> None:
    assert fees.diluted(100.0, 75.0, 25.0) == 1.0
    assert fees.diluted(75.0, 75.0, 25.0) == 0.75
    assert fees.diluted(0.0, 0.0, 0.0) == 0.0


def test_a_position_in_range_is_taken_out_of_the_active_liquidity_once() -> None:
    assert fees.others_liquidity(100, 30, inside=True) == 70
    assert fees.others_liquidity(100, 30, inside=False) == 100


def test_implied_volatility_is_where_fees_and_lvr_meet() -> None:
    worth = 1_000_000.0
    sigma = fees.implied_daily_sigma(112.5 / worth)
    assert sigma == pytest.approx(0.03)
    assert sigma**2 / 8 * worth == pytest.approx(112.5)
    assert fees.implied_daily_sigma(0.0) == 0.0


@pytest.mark.parametrize(
    ("gwei", "fees_apr", "days"),
    [(1, 0.10, 2.7), (1, 0.20, 1.3), (5, 0.10, 6.0), (20, 0.20, 9.3), (20, 0.40, 4.6)],
)
def test_the_cost_of_a_swapping_move_in_days_of_fees(
    gwei: int, fees_apr: float, days: float
) -> None:
    """$10,000, half of it swapped in a 0.05 % pool at 5 bp slippage, ether at $3,000."""
    units = gas_units("v4", CostedRecipe.RERANGE_WITH_SWAP, as_one=False)
    gas = gas_cost(units, gwei * 10**9, 3_000 / 10**18)
    # Half the value is given; it comes back less the fee and less 5 bp.
    given = 5_000_000_000
    swap = PrepSwap(False, given, round(given * (1 - 0.0005 - 0.0005)), 500, 2**96)
    cost = move_cost(gas, swap, 2**96, 1e-6, NOTHING_MINTED)
    assert cost.swap_fee == pytest.approx(2.5)
    assert cost.slippage == pytest.approx(2.5)
    assert cost.total / (10_000 * fees_apr / 365) == pytest.approx(days, rel=0.05)


def test_a_move_without_a_swap_costs_its_gas() -> None:
    assert move_cost(0.9, None, 2**96, 1.0, NOTHING_MINTED) == MoveCost(0.9, 0.0, 0.0, 0.0)


def test_selling_currency0_is_valued_at_the_price_before() -> None:
    sqrt_price = 2 * 2**96  # four of currency1 for one of currency0
    swap = PrepSwap(True, 1_000, 3_980, 3_000, sqrt_price)
    cost = move_cost(0.0, swap, sqrt_price, 1.0, NOTHING_MINTED)
    assert cost.swap_fee == pytest.approx(12.0)
    assert cost.slippage == pytest.approx(8.0)


def test_rollups_add_the_data_fee() -> None:
    assert gas_cost(100, 10, 0.5) == 500
    assert gas_cost(100, 10, 0.5, l1_data_fee_wei=20) == 510


def test_ratios_tell_unknown_from_never() -> None:
    assert gas_yield(3.0, 2.0) == 1.5
    assert gas_yield(3.0, 0.0) == inf
    assert gas_yield(0.0, 0.0) == 0.0
    assert gas_yield(3.0, None) is None
    assert break_even_hours(2.0, 4.0) == 12.0
    assert break_even_hours(2.0, 0.0) == inf
    assert break_even_hours(2.0, -1.0) == inf
    assert break_even_hours(0.0, -1.0) == 0.0
    assert break_even_hours(2.0, None) is None


def test_implied_volatility_of_a_pool_by_its_yearly_rate() -> None:
    """σ_IV = √(8 · full-range fee APR), told per day on both sides."""
    apr = 0.2
    daily = fees.implied_daily_sigma(apr / 365)
    assert daily * sqrt(365) == pytest.approx(sqrt(8 * apr))
