"""Volatility, its windows, its regimes, and how figures are rounded."""

from math import inf, log, nan, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.numbers.regime import Regime, daily_sigma, daily_ticks, path_efficiency, read_regime
from agents.numbers.rounding import UnwritableNumberError, significant, writable
from agents.numbers.survival import SigmaEstimate, SigmaWindows, estimate_sigma, week_sigma

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


def test_both_windows_count_alike_by_their_squares() -> None:
    estimate = estimate_sigma(0.01, 0.07)
    assert estimate is not None
    assert estimate.windows is SigmaWindows.BOTH
    assert estimate.daily_sigma == pytest.approx(0.05)


def test_a_window_alone_is_named() -> None:
    assert estimate_sigma(0.02, None) == SigmaEstimate(0.02, SigmaWindows.DAY)
    assert estimate_sigma(None, 0.03) == SigmaEstimate(0.03, SigmaWindows.WEEK)
    assert estimate_sigma(None, None) is None


def test_a_week_is_told_by_the_day_the_week_and_the_month_or_not_at_all() -> None:
    assert week_sigma(0.03, 0.03, 0.03) == pytest.approx(0.03)
    assert week_sigma(0.02, 0.04, 0.06) == pytest.approx(
        (0.25 * 0.02**2 + 0.35 * 0.04**2 + 0.4 * 0.06**2) ** 0.5
    )
    assert week_sigma(0.02, 0.04, None) is None


finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (1234567.0, "1234570.0"),
        (0.000123456789, "0.000123457"),
        (-2.7182818284, "-2.71828"),
        (1 / 3, "0.333333"),
        (2 / 3, "0.666667"),
        (999999.5, "1000000.0"),
        (1e-300, "1e-300"),
        (-0.0, "0.0"),
        (-1e-320, "-1e-320"),
        (100, "100.0"),
    ],
)
def test_what_is_written(number: float, written: str) -> None:
    assert repr(significant(number)) == written


@pytest.mark.parametrize("tie", [1.234565, 1.234575, 0.1000005, 123456.5, 1.0000005e-7])
def test_the_last_bits_of_a_tie_do_not_show(tie: float) -> None:
    """Another library of mathematics may land a few units in the last place away."""
    up, down = tie, tie
    for _ in range(4):
        up, down = nextafter(up, inf), nextafter(down, -inf)
    assert significant(up) == significant(tie) == significant(down)


@given(finite)
def test_rounding_again_changes_nothing(number: float) -> None:
    once = significant(number)
    assert significant(once) == once
    assert once == pytest.approx(number, rel=5.000001e-6, abs=1e-320)
    digits = repr(abs(once)).split("e")[0].replace(".", "").strip("0")
    assert len(digits) <= 6


@given(st.floats(1e-200, 1e200), st.floats(1e-200, 1e200))
def test_order_is_kept(left: float, right: float) -> None:
    if left <= right:
        assert significant(left) <= significant(right)


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_what_no_payload_can_hold_is_refused(number: float) -> None:
    with pytest.raises(UnwritableNumberError):
        significant(number)


def test_unknown_and_never_are_written_as_nothing() -> None:
    assert writable(None) is None
    assert writable(inf) is None
    assert writable(1.23456789) == 1.23457
    for number in (nan, -inf):
        with pytest.raises(UnwritableNumberError):
            writable(number)
