"""How far a day's fees stray: the constants come from one pool's past and hold for others' days."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from math import exp

import pytest

from agents.numbers.fees import DAYS_BEFORE, LEAST_RATIOS, fee_ratios, fee_spread
from chain.base.table_file import read_timed_table
from tests.market_data import market_data

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
