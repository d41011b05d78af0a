"""Every row of the regime table, on both sides of each threshold."""

from __future__ import annotations

from math import log

import pytest

from agents.numbers.regime import Regime, daily_sigma, daily_ticks, path_efficiency, read_regime

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
    assert "4.2%" in read_regime(0.042, None, None).reason
    assert "2.5 × its 7 d level of 0.4%" in read_regime(0.0101, 0.004, None).reason
    assert "55%" in read_regime(0.015, 0.015, 0.55).reason


def test_an_unknown_number_matches_no_row_and_is_said() -> None:
    assert read_regime(0.02, None, 0.2).regime is Regime.RANGING
    reading = read_regime(0.01, None, None)
    assert reading.regime is Regime.RANGING
    assert "7 d level and path" in reading.reason


def test_path_efficiency() -> None:
    assert path_efficiency(-30, 60) == 0.5
    assert path_efficiency(0, 0) is None


def test_volatility_in_ticks() -> None:
    assert daily_ticks(log(1.0001)) == 1.0
    assert daily_ticks(0.03) == pytest.approx(300.015, abs=0.001)
    assert daily_sigma(daily_ticks(0.0123)) == pytest.approx(0.0123)
