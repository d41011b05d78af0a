"""The rule on real markets: the minutes of a pool on Polygon, and the semi-real pool of hours."""

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import pytest

from agents.backtest.deciders import PolicyName, advisor_of
from agents.backtest.hours import PoolBars
from agents.backtest.report import backtest
from agents.backtest.walking import BacktestTerms
from agents.numbers.advice import edge_ratio
from agents.numbers.rules import RiskProfile
from benchmarks.bar_files import (
    DATA,
    ETH_HOURS,
    POLYGON_MINUTES,
    BarRow,
    polygon_minutes,
    semi_real_hours,
)

SETS: dict[str, Callable[[], Iterable[BarRow]]] = {
    POLYGON_MINUTES: polygon_minutes,
    ETH_HOURS: semi_real_hours,
}


@cache
def _bars(name: str) -> PoolBars:
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not in {DATA}")
    columns = np.array(list(SETS[name]())).T.copy()
    bars = PoolBars(*columns)
    return bars._replace(
        low=np.minimum(bars.low, bars.price), high=np.maximum(bars.high, bars.price)
    )


def test_the_pool_on_polygon_paid_less_than_its_risk() -> None:
    bars = _bars(POLYGON_MINUTES)
    squares = float((np.diff(np.log(bars.price[59::60])) ** 2).sum())

    edge = edge_ratio(float((bars.fees_usd / bars.liquidity_usd).sum()), squares)

    assert edge == pytest.approx(0.85, abs=0.02)


@pytest.mark.parametrize("gas", [0.05, 5.0])
@pytest.mark.parametrize("profile", RiskProfile)
@pytest.mark.parametrize(("name", "windows"), [(POLYGON_MINUTES, 4), (ETH_HOURS, 114)])
def test_the_advice_acts_seldom_and_loses_to_neither_never_nor_wide_beyond_chance(
    name: str, windows: int, profile: RiskProfile, gas: float
) -> None:
    found = backtest(_bars(name), BacktestTerms(gas_usd=gas, window_hours=168), advisor_of(profile))

    assert found.windows == windows
    assert found.policies[PolicyName.ADVICE].actions_per_week <= 2
    for other in (PolicyName.NEVER, PolicyName.WIDE):
        high = found.differences[f"advice-{other}"].high
        assert high is not None
        assert high >= 0
