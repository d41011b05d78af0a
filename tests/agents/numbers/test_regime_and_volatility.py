"""Every row of the regime table, on both sides of each threshold, and the volatility classes."""

from __future__ import annotations

from math import log

import pytest

from agents.numbers.regime import Regime, path_efficiency, read_regime
from agents.numbers.volatility import (
    ASSUMPTIONS,
    PairClass,
    daily_sigma,
    daily_ticks,
    pair_class,
    yearly_sigma,
)

ROWS = [
    (0.0351, 0.03, 0.1, Regime.STRESSED),
    (0.035, 0.03, 0.1, Regime.VOLATILE),
    (0.0101, 0.004, 0.1, Regime.STRESSED),
    (0.01, 0.004, 0.1, Regime.RANGING),
    (0.0221, 0.02, 0.9, Regime.VOLATILE),
    (0.022, 0.02, 0.9, Regime.TRENDING),
    (0.022, 0.02, 0.4, Regime.RANGING),
    (0.0061, 0.006, 0.41, Regime.TRENDING),
    (0.006, 0.006, 0.41, Regime.RANGING),
    (0.002, 0.002, 0.05, Regime.RANGING),
]


@pytest.mark.parametrize(("day", "week", "efficiency", "regime"), ROWS)
def test_the_first_matching_row_decides(
    day: float, week: float, efficiency: float, regime: Regime
) -> None:
    reading = read_regime(day, week, efficiency)
    assert reading.regime is regime
    assert reading.reason.endswith(".")
    assert (reading.sigma_24h, reading.sigma_7d, reading.path_efficiency) == (day, week, efficiency)


def test_the_reason_names_the_number_that_decided() -> None:
    assert "4.2 %" in read_regime(0.042, None, None).reason
    assert "2.5 × its 7 d level of 0.4 %" in read_regime(0.0101, 0.004, None).reason
    assert "55%" in read_regime(0.015, 0.015, 0.55).reason


def test_an_unknown_number_matches_no_row_and_is_said() -> None:
    assert read_regime(0.02, None, 0.2).regime is Regime.RANGING
    reading = read_regime(0.01, None, None)
    assert reading.regime is Regime.RANGING
    assert "7 d level and path" in reading.reason


def test_path_efficiency() -> None:
    assert path_efficiency(-30, 60) == 0.5
    assert path_efficiency(0, 0) is None


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("dollar", "dollar"), PairClass.STABLE),
        (("ether", "ether"), PairClass.PEGGED),
        (("bitcoin", "bitcoin"), PairClass.PEGGED),
        (("ether", "bitcoin"), PairClass.MAJORS),
        (("ether", "dollar"), PairClass.MAJOR),
        (("dollar", "bitcoin"), PairClass.MAJOR),
        (("other", "dollar"), PairClass.OTHER),
        (("other", "other"), PairClass.OTHER),
        (("ether", "other"), PairClass.OTHER),
        (("unheard-of", "dollar"), PairClass.OTHER),
    ],
)
def test_the_class_of_a_pair(kinds: tuple[str, str], expected: PairClass) -> None:
    assert pair_class(*kinds) is expected
    assert pair_class(*reversed(kinds)) is expected


def test_every_class_has_an_assumption() -> None:
    assert set(ASSUMPTIONS) == set(PairClass)
    assert all(assumption.daily_sigma > 0 for assumption in ASSUMPTIONS.values())


def test_volatility_in_ticks() -> None:
    assert daily_ticks(log(1.0001)) == 1.0
    assert daily_ticks(0.03) == pytest.approx(300.015, abs=0.001)
    assert daily_sigma(daily_ticks(0.0123)) == pytest.approx(0.0123)
    assert yearly_sigma(0.01) == pytest.approx(0.191050, abs=1e-6)
