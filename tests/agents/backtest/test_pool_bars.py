"""Bars from a pool's hours: prices both ways round, fees in dollars, hours nobody swapped in."""

from __future__ import annotations

from math import exp, sqrt
from random import Random

import pytest

from agents.backtest.hours import bar_hours
from agents.backtest.report import BacktestError, BarUnits, bars_of_hours
from agents.numbers.advice import edge_ratio
from chain.base.units import HOUR, Known
from chain.history.fee_rate import hour_sums
from chain.history.hours import HourRow, PoolHours
from chain.rpc.records import Block

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
