"""How far a day's fees stray: the constants come from one pool's past and hold for others' days."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime

import pytest

from agents.numbers.fees import (
    FITTED,
    LEAST_RATIOS,
    fee_ratios,
    fee_spread,
    measured_spread,
)
from chain.base.table_file import read_timed_table
from tests.market_data import market_data

FEE = 0.0005


def inside(ratios: list[float]) -> float:
    return sum(FITTED.low <= one <= FITTED.high for one in ratios) / len(ratios)


def pool_days() -> tuple[list[int], list[float]]:
    """The years of the days, and their fees."""
    table = read_timed_table(
        market_data("eth-usdt-500-pool-days-2021-to-2023.csv"), ["volume_usd"], ["date"]
    )
    years = [datetime.fromtimestamp(time, UTC).year for time in table.times]
    return years, [volume * FEE for volume in table.columns["volume_usd"]]


def test_the_constants_are_the_quantiles_of_2021_and_2022() -> None:
    years, fees = pool_days()
    fit = [fee for year, fee in zip(years, fees, strict=True) if year < 2023]
    spread = measured_spread(fee_ratios(fit))
    assert spread[:3] == pytest.approx(FITTED[:3], abs=0.0005)
    assert spread.days == FITTED.days


def test_four_of_five_days_of_2023_lie_inside() -> None:
    years, fees = pool_days()
    first = years.index(2023)
    ratios = fee_ratios(fees[first - 7 :])
    assert len(ratios) == len(fees) - first
    assert 0.72 <= inside(ratios) <= 0.88


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
    ratios = fee_ratios([by_day[day] for day in sorted(by_day)])
    assert len(ratios) >= 27
    assert 0.60 <= inside(ratios) <= 0.95


def test_a_pools_own_days_take_the_place_of_the_fit_once_there_are_enough() -> None:
    steady = [100.0] * (7 + LEAST_RATIOS)
    own = fee_spread(steady)
    assert own[:3] == (1.0, 1.0, 1.0)
    assert (own.days, own.fitted) == (LEAST_RATIOS, False)
    assert fee_spread(steady[1:]) is FITTED
    assert fee_spread([]) is FITTED


def test_quantiles_lie_between_neighbours() -> None:
    spread = measured_spread([float(one) for one in range(11)])
    assert spread[:3] == (1.0, 5.0, 9.0)
    assert measured_spread([2.0]) == (2.0, 2.0, 2.0, 1, False)


def test_nothing_is_expected_of_a_week_that_paid_nothing() -> None:
    assert fee_ratios([0.0] * 7 + [5.0]) == []
    assert fee_ratios([1.0] * 7 + [0.0, 7.0]) == [0.0, 7.0 / (6 / 7)]
