"""Fees, costs, and the interval around a week's fees."""

from collections import defaultdict
from datetime import UTC, datetime
from math import exp, inf, log, sqrt

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
from agents.numbers.fees import DAYS_BEFORE, LEAST_RATIOS, fee_ratios, fee_spread
from agents.numbers.inventory import PrepSwap, PriceSpan
from chain.base.table_file import read_timed_table
from chain.math.liquidity import amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from tests.market_data import market_data

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
    assert fees.dilute_rate(100.0, 75.0, 25.0) == 1.0
    assert fees.dilute_rate(75.0, 75.0, 25.0) == 0.75
    assert fees.dilute_rate(0.0, 0.0, 0.0) == 0.0


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


FEE = 0.0005


def covered(days: list[float], span: int = 1) -> float:
    """How often the mean of the next days lay between the ends that the week before them gave."""
    hits = []
    for place in range(DAYS_BEFORE, len(days) - span + 1):
        before = days[place - DAYS_BEFORE : place]
        spread = fee_spread(before)
        came = sum(days[place : place + span]) / span / (sum(before) / DAYS_BEFORE)
        low, high = spread[:2] if span == 1 else (spread.week_low, spread.week_high)
        hits.append(low <= came <= high)
    return sum(hits) / len(hits)


def pool_days() -> tuple[list[int], list[float]]:
    """The years of the days, and their fees."""
    table = read_timed_table(
        market_data("eth-usdt-500-pool-days-2021-to-2023.csv"), ["volume_usd"], ["date"]
    )
    years = [datetime.fromtimestamp(time, UTC).year for time in table.times]
    return years, [volume * FEE for volume in table.columns["volume_usd"]]


@pytest.mark.parametrize("year", [2021, 2022, 2023])
@pytest.mark.parametrize("span", [1, 7])
def test_four_of_five_days_and_weeks_lie_inside(year: int, span: int) -> None:
    years, fees = pool_days()
    of_year = [fee for of, fee in zip(years, fees, strict=True) if of == year]
    assert 0.72 <= covered(of_year, span) <= 0.88


def test_a_days_ends_are_too_wide_for_a_week() -> None:
    spread = fee_spread([3.0, 1.0, 2.0, 5.0, 2.0, 1.0, 2.0])
    assert spread.low < spread.week_low < 1 < spread.week_high <= spread.high


def test_days_of_another_pool_lie_inside() -> None:
    """Fees per unit of full-range worth, since this pool's liquidity is known."""
    table = read_timed_table(
        market_data("polygon-usdc-weth-500-minutes-2022-07-19-to-08-22.csv.gz"),
        ["closeTick", "inAmount0", "inAmount1", "currentLiquidity"],
    )
    by_day: dict[int, float] = defaultdict(float)
    for time, tick, in0, in1, liquidity in zip(table.times, *table.columns.values(), strict=True):
        root = 1.0001 ** (tick / 2)
        by_day[int(time // 86_400)] += FEE * (in0 * root + in1 / root) / (2 * liquidity)
    days = [by_day[day] for day in sorted(by_day)]
    assert 0.72 <= covered(days) <= 0.88


def test_a_restless_week_widens_the_interval_and_a_still_one_leaves_its_least() -> None:
    still = fee_spread([100.0] * 7)
    assert still.low == pytest.approx(exp(-0.81 * 0.55))
    assert still.high == pytest.approx(exp(0.57 * 0.55))
    wild = fee_spread([1.0, 100.0] * 3 + [1.0])
    assert wild.low < still.low
    assert wild.high > still.high
    assert still.days == 7
    assert fee_spread([100.0] * 6).days == fee_spread([0.0, *[9.0] * 6]).days == 0


def test_a_pools_own_days_take_the_place_of_the_fit_once_there_are_enough() -> None:
    steady = [100.0] * (7 + LEAST_RATIOS)
    own = fee_spread(steady)
    assert own[:2] == (1.0, 1.0)
    assert own.days == LEAST_RATIOS
    assert fee_spread(steady[1:]).days == DAYS_BEFORE


def test_nothing_is_expected_of_a_week_that_paid_nothing() -> None:
    assert fee_ratios([0.0] * 7 + [5.0]) == []
    assert fee_ratios([1.0] * 7 + [0.0, 7.0]) == [0.0, 7.0 / (6 / 7)]
