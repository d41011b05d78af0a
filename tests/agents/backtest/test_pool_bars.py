"""Bars of pools, made up and real, and what holding through them earns."""

from math import exp, inf, log, sqrt
from random import Random

import numpy as np
import pytest

from agents.backtest.hours import PoolBars, bar_hours
from agents.backtest.report import BacktestError, BarUnits, bars_of_hours
from agents.backtest.walking import (
    HeldRanges,
    bar_series,
    fees_earned,
    held_ranges,
    realised_lvr,
    tokens_of,
)
from agents.numbers.advice import edge_ratio
from chain.base.units import HOUR, Known
from chain.history import fee_rate
from chain.history.fee_rate import hour_sums
from chain.history.hours import HourRow, PoolHours
from chain.rpc.records import Block
from tests.agents.backtest.made_up_bars import bars_along, random_prices

BEGIN = 1_700_000_000 // HOUR * HOUR
WETH_USDC = BarUnits(decimals0=18, decimals1=6, inverted=False, money_usd=2.0)


def _root(dollars: float) -> int:
    """Of a price in units: USDC has twelve digits fewer than WETH."""
    return int(sqrt(dollars * 1e-12) * 2**96)


def _row(hour: int, close: float, low: float, high: float, fees1: int = 5_000_000) -> HourRow:
    """With 0.001 WETH and some USDC of fees, paid by liquidity worth 100,000 USDC."""
    paid = (0.001 * close if fees1 else 0.0) + fees1 / 1e6
    fees0 = 10**15 if fees1 else 0
    rate = paid / 100_000
    return HourRow(
        BEGIN + hour * HOUR, _root(close), _root(low), _root(high), fees0, fees1, 0, 0, rate, 3, 0
    )


def _hours(*rows: HourRow, until: int) -> PoolHours:
    last = Block(9, "0x9", "0x8", BEGIN + until, None, 0, 0)
    return PoolHours("0xab", BEGIN, last, rows, (), BEGIN)


def test_a_row_is_a_bar_with_its_fees_and_the_liquidity_they_were_paid_to() -> None:
    rows = _row(0, 2000, 1990, 2010), _row(1, 2020, 2015, 2030)

    bars = bars_of_hours(_hours(*rows, until=2 * HOUR + 5), WETH_USDC)

    assert bars.times.tolist() == [BEGIN + HOUR, BEGIN + 2 * HOUR]
    assert bars.price == pytest.approx([2000, 2020])
    assert bars.high == pytest.approx([2010, 2030])
    # The second hour began where the first one closed.
    assert bars.low == pytest.approx([1990, 2000])
    assert bars.fees_usd == pytest.approx([2 * 7.0, 2 * 7.02])
    assert bars.liquidity_usd == pytest.approx([200_000, 200_000])


def test_turned_over_the_money_is_token0() -> None:
    rows = _row(0, 2000, 1990, 2010), _row(1, 2000, 2000, 2000)
    units = WETH_USDC._replace(inverted=True, money_usd=2000.0)

    bars = bars_of_hours(_hours(*rows, until=2 * HOUR), units)

    assert bars.price[0] == pytest.approx(1 / 2000)
    assert bars.low[0] == pytest.approx(1 / 2010)
    assert bars.high[0] == pytest.approx(1 / 1990)
    assert bars.fees_usd[0] == pytest.approx(7.0)
    assert bars.liquidity_usd[0] == pytest.approx(100_000)


def test_hours_without_a_swap_keep_the_price_and_pay_nothing() -> None:
    rows = _row(0, 2000, 2000, 2000), _row(3, 2100, 2100, 2100)

    bars = bars_of_hours(_hours(*rows, until=6 * HOUR), WETH_USDC)

    assert bars.price == pytest.approx([2000, 2000, 2000, 2100, 2100, 2100])
    assert bars.fees_usd[1:3].tolist() == [0, 0]
    assert bars.low[3] == pytest.approx(2000)
    assert (bars.liquidity_usd > 0).all()


def test_an_hour_that_still_goes_on_is_left_out() -> None:
    rows = [_row(hour, 2000, 2000, 2000) for hour in range(3)]

    assert len(bars_of_hours(_hours(*rows, until=3 * HOUR - 1), WETH_USDC).times) == 2


def test_what_is_remembered_from_before_is_not_looked_at() -> None:
    rows = [_row(hour, 2000, 2000, 2000) for hour in range(5)]

    bars = bars_of_hours(_hours(*rows, until=5 * HOUR), WETH_USDC, since=BEGIN + HOUR + 1)

    assert bars.times[0] == BEGIN + 3 * HOUR


def test_bars_begin_with_the_first_fees_and_swaps_that_paid_none_keep_the_liquidity() -> None:
    free = [_row(hour, 2000, 2000, 2000, fees1=0) for hour in (0, 2)]
    rows = free[0], _row(1, 2000, 2000, 2000), free[1]

    bars = bars_of_hours(_hours(*rows, until=3 * HOUR), WETH_USDC)

    assert bars.times[0] == BEGIN + 2 * HOUR
    assert bars.liquidity_usd == pytest.approx([200_000, 200_000])


@pytest.mark.parametrize("rows", [(), (_row(0, 2000, 2000, 2000),)])
def test_a_pool_nobody_swaps_in_has_no_bars(rows: tuple[HourRow, ...]) -> None:
    with pytest.raises(BacktestError):
        bars_of_hours(_hours(*rows, until=HOUR), WETH_USDC)


def test_the_edge_of_bars_is_that_of_the_hours_they_were_made_of() -> None:
    random = Random(5)
    price, rows = 2000.0, []
    for hour in range(200):
        before, price = price, price * exp(random.gauss(0, 0.01))
        fees = random.randrange(1_000_000, 9_000_000)
        rows.append(_row(hour, price, min(before, price), max(before, price), fees))
    hours = _hours(*rows, until=200 * HOUR - 1)

    known = bar_hours(bars_of_hours(_hours(*rows, until=200 * HOUR), WETH_USDC)).edge[-1]

    sums = hour_sums(hours, 168)
    assert isinstance(sums, Known)
    told = edge_ratio(sums.value.fee_rate, sums.value.squared_returns)
    assert known == pytest.approx(told)


def _one(lower: float, upper: float, liquidity: float) -> HeldRanges:
    return held_ranges(np.array([lower]), np.array([upper]), np.array([liquidity]))


def _earned(bars: PoolBars, held: HeldRanges) -> tuple[float, float]:
    count = len(bars.times)
    found = fees_earned(bar_series(bars, 1.0), np.array([0]), np.array([count]), held)
    return float(found.fees_usd[0]), float(found.bars_inside[0])


def test_a_price_that_stands_still_pays_its_share_of_every_fee() -> None:
    bars = bars_along(np.full(50, 100.0), fees=7.0, liquidity=2_000.0)
    own = 100.0  # 2·L·√100 = 2,000: as much as all others together
    held = _one(log(90), log(110), own)

    fees, inside = _earned(bars, held)

    assert fees == pytest.approx(50 * 7.0 / 2)
    assert inside == 50


@pytest.mark.parametrize(("lower", "upper"), [(101, 110), (90, 100), (90, 99)])
def test_a_price_outside_earns_nothing_and_the_upper_edge_is_outside(
    lower: float, upper: float
) -> None:
    bars = bars_along(np.full(5, 100.0))

    assert _earned(bars, _one(log(lower), log(upper), 1.0)) == (0, 0)


def test_a_bar_that_crosses_an_edge_counts_by_the_part_inside() -> None:
    bars = bars_along(np.array([100.0, 121.0]), fees=4.0, liquidity=1e9)
    held = _one(log(110), log(200), 1e12)

    found = fees_earned(bar_series(bars, 1.0), np.array([1]), np.array([2]), held)

    # From 100 to 121 is twice the way from 110 to 121; nearly all liquidity is one's own.
    assert found.bars_inside[0] == pytest.approx(0.5)
    assert found.fees_usd[0] == pytest.approx(2.0, rel=1e-3)


def test_windows_of_different_lengths_earn_what_they_earn_alone() -> None:
    bars = bars_along(random_prices(300))
    series = bar_series(bars, 1.0)
    first, last = np.array([0, 10, 200, 40]), np.array([100, 15, 300, 40])
    held = held_ranges(np.full(4, log(1900)), np.full(4, log(2100)), np.array([1e3, 2e3, 5.0, 1.0]))

    together = fees_earned(series, first, last, held)

    for place in range(4):
        part = HeldRanges(*(field[place : place + 1] for field in held))
        alone = fees_earned(series, first[place : place + 1], last[place : place + 1], part)
        assert together.fees_usd[place] == pytest.approx(alone.fees_usd[0])
        assert together.bars_inside[place] == pytest.approx(alone.bars_inside[0])


def test_lvr_is_what_the_integers_of_the_chain_say() -> None:
    prices = random_prices(200) / 1000
    roots = [int(sqrt(price) * 2**96) for price in prices]
    lower, upper, liquidity = 1.9, 2.1, 10**24
    exact = fee_rate.realised_lvr(
        roots,
        fee_rate.LiquidityRange(int(sqrt(lower) * 2**96), int(sqrt(upper) * 2**96), liquidity),
    )

    found = realised_lvr(np.sqrt(prices[None, :]), _one(log(lower), log(upper), float(liquidity)))

    assert found[0] == pytest.approx(exact, rel=1e-9)


def test_over_the_full_range_a_trend_loses_the_textbook_loss() -> None:
    start, end, liquidity = 100.0, 144.0, 50.0
    held = _one(-inf, inf, liquidity)
    before0, before1 = tokens_of(held, np.sqrt([start]))
    after0, after1 = tokens_of(held, np.sqrt([end]))

    loss = before0 * end + before1 - after0 * end - after1

    ratio = end / start
    textbook = 1 - 2 * sqrt(ratio) / (1 + ratio)
    assert loss[0] == pytest.approx(textbook * (before0 * end + before1)[0])
    assert realised_lvr(np.sqrt(np.array([[start, end]])), held)[0] == pytest.approx(loss[0])


def test_below_its_range_a_position_is_token0_and_above_it_token1() -> None:
    held = _one(log(90), log(110), 10.0)

    below0, below1 = tokens_of(held, np.sqrt([exp(4)]))
    above0, above1 = tokens_of(held, np.sqrt([exp(5)]))

    assert (below0[0], below1[0]) == (pytest.approx(10 * (90**-0.5 - 110**-0.5)), 0)
    assert (above0[0], above1[0]) == (0, pytest.approx(10 * (110**0.5 - 90**0.5)))
