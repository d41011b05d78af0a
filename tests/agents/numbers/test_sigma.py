"""The one estimate of volatility."""

from __future__ import annotations

import pytest

from agents.numbers.survival import SigmaEstimate, SigmaWindows, estimate_sigma, week_sigma


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
