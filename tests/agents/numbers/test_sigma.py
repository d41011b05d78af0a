"""The one estimate of volatility."""

from __future__ import annotations

import pytest

from agents.numbers.survival import SigmaEstimate, SigmaWindows, estimate_sigma


def test_both_windows_count_alike_by_their_squares() -> None:
    estimate = estimate_sigma(0.01, 0.07)
    assert estimate is not None
    assert estimate.windows is SigmaWindows.BOTH
    assert estimate.daily_sigma == pytest.approx(0.05)


def test_a_window_alone_is_named() -> None:
    assert estimate_sigma(0.02, None) == SigmaEstimate(0.02, SigmaWindows.DAY)
    assert estimate_sigma(None, 0.03) == SigmaEstimate(0.03, SigmaWindows.WEEK)
    assert estimate_sigma(None, None) is None
