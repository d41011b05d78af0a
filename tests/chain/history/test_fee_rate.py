"""What a pool paid over what arbitrage took: on real minutes, and where nothing can be said."""

from collections import defaultdict
from itertools import pairwise
from math import log
from statistics import median

import pytest

from agents.numbers.advice import edge_ratio
from chain.base.table_file import read_timed_table
from chain.base.units import DAY, HOUR, Known, Unknown
from chain.history.fee_rate import daily_rates, hour_sums
from chain.history.hours import HourRow, PoolHours
from chain.math.ticks import sqrt_price_at_tick
from chain.rpc.records import Block
from tests.market_data import market_data

FEE = 0.0005
POOL = "0x" + "ab" * 32


def row(hour: int, tick: int, rate: float) -> HourRow:
    root = sqrt_price_at_tick(tick)
    return HourRow(hour, root, root, root, 0, 0, 0.0, 0.0, rate, 1, 0)


def hours_of(rows: list[HourRow], end: int) -> PoolHours:
    block = Block(9, "0x" + "aa" * 32, "0x" + "bb" * 32, end, 1, 0, 1)
    return PoolHours(POOL, rows[0].hour if rows else 0, block, tuple(rows), (), end)


def real_rows() -> list[HourRow]:
    table = read_timed_table(
        market_data("polygon-usdc-weth-500-minutes-2022-07-19-to-08-22.csv.gz"),
        ["closeTick", "inAmount0", "inAmount1", "currentLiquidity"],
    )
    rates: dict[int, float] = defaultdict(float)
    ticks: dict[int, int] = {}
    for time, tick, in0, in1, liquidity in zip(table.times, *table.columns.values(), strict=True):
        hour = int(time) // HOUR * HOUR
        root = 1.0001 ** (tick / 2)
        rates[hour] += FEE * (in0 * root + in1 / root) / (2 * liquidity)
        ticks[hour] = int(tick)
    return [row(hour, ticks[hour], rates[hour]) for hour in sorted(rates)]


def edge(rows: list[HourRow], end: int, count: int) -> float:
    sums = hour_sums(hours_of(rows, end), count)
    assert isinstance(sums, Known)
    found = edge_ratio(sums.value.fee_rate, sums.value.squared_returns)
    assert found is not None
    return found


def test_real_minutes_paid_less_than_arbitrage_took() -> None:
    rows = real_rows()
    first, last = rows[0].hour, rows[-1].hour + HOUR - 1
    assert edge(rows, last, (last - first) // HOUR + 1) == pytest.approx(0.87, abs=0.02)
    weeks = [edge(rows, end, 168) for end in range(first + 7 * DAY - 1, last + 1, DAY)]
    assert 0.58 < min(weeks) < max(weeks) < 1.09
    assert median(weeks) == pytest.approx(0.84, abs=0.03)


def test_the_same_hours_stand_above_and_below_the_line() -> None:
    end = 200 * HOUR + 1800
    rows = [row(hour * HOUR, 10 * (hour % 3), 1e-6) for hour in range(201)]
    sums = hour_sums(hours_of(rows, end), 168)
    assert isinstance(sums, Known)
    assert sums.value.fee_rate == pytest.approx(168e-6)
    closes = [one.close for one in rows[32:]]
    squares = sum((2 * log(after / before)) ** 2 for before, after in pairwise(closes))
    assert sums.value.squared_returns == pytest.approx(squares)
    assert sums.value.seconds == 167 * HOUR + 1800


def test_a_young_or_silent_pool_has_no_edge() -> None:
    end = 200 * HOUR
    young = [row(hour * HOUR, hour, 1e-6) for hour in range(60, 201)]
    silent = [row(0, 5, 1e-6)]
    assert isinstance(hour_sums(hours_of(young, end), 168), Unknown)
    assert isinstance(hour_sums(hours_of(silent, end), 168), Unknown)
    assert isinstance(hour_sums(hours_of([], end), 168), Unknown)


def test_only_whole_days_have_a_rate() -> None:
    rows = [row(hour * HOUR, 0, 1.0) for hour in range(5, 80)]
    assert daily_rates(rows, 5 * HOUR, 80 * HOUR) == [24.0, 24.0]
