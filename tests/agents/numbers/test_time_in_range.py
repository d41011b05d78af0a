"""The share of time in range: closed form against the integral it stands for, and its limits."""

from __future__ import annotations

from functools import cache
from math import cos, erf, pi, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.numbers.edges import Edges
from agents.numbers.outlook import time_in_range
from agents.numbers.survival import survival

distances = st.floats(-20_000, 20_000)


@cache
def gauss_legendre(count: int) -> tuple[tuple[float, float], ...]:
    """Points and weights on [−1, 1], by Newton on the Legendre polynomial."""
    found = []
    for index in range(count):
        x = cos(pi * (index + 0.75) / (count + 0.5))
        for _ in range(8):
            before, value = 1.0, x
            for degree in range(2, count + 1):
                before, value = (
                    value,
                    ((2 * degree - 1) * x * value - (degree - 1) * before) / degree,
                )
            slope = count * (x * value - before) / (x * x - 1)
            x -= value / slope
        found.append((x, 2 / ((1 - x * x) * slope * slope)))
    return tuple(found)


def integral(edges: Edges, daily_ticks: float, hours: float, points: int = 32) -> float:
    """(1/T) ∫ [Φ(u/σ√t) − Φ(−d/σ√t)] dt by Gauss in √t."""
    horizon = sqrt(hours / 24)
    total = 0.0
    for x, weight in gauss_legendre(points):
        root = horizon * (x + 1) / 2
        spread = daily_ticks * root * sqrt(2)
        inside = (erf(edges.above / spread) + erf(edges.below / spread)) / 2
        total += weight * horizon / 2 * inside * 2 * root
    return total / (hours / 24)


@given(st.floats(-900, 3_000), st.floats(-900, 3_000), st.floats(100, 600), st.floats(6, 168))
def test_the_closed_form_is_the_integral(
    below: float, above: float, ticks: float, hours: float
) -> None:
    if below + above <= 0:
        return
    edges = Edges(below, above)
    # Where an edge is much nearer than the spread the integrand has a kink 32 points blur.
    assert time_in_range(edges, ticks, hours) == pytest.approx(
        integral(edges, ticks, hours, points=96), abs=2e-5
    )


def test_thirty_two_points_agree_on_ordinary_ranges() -> None:
    for below, above in ((300, 300), (500, 900), (-200, 900), (1_200, -150)):
        edges = Edges(below, above)
        assert time_in_range(edges, 300) == pytest.approx(integral(edges, 300, 24), abs=1e-6)


@given(st.floats(0.1, 20_000), st.floats(0.1, 20_000), st.floats(1, 3_000), st.floats(1, 500))
def test_coming_back_counts_so_the_share_is_at_least_the_survival(
    below: float, above: float, ticks: float, hours: float
) -> None:
    edges = Edges(below, above)
    assert time_in_range(edges, ticks, hours) >= survival(edges, ticks, hours, scatter=0.0) - 1e-9


@given(distances, distances, st.floats(1, 3_000), st.floats(1, 500))
def test_a_share_is_a_share_and_a_wider_range_has_more(
    below: float, above: float, ticks: float, hours: float
) -> None:
    if below + above <= 0:
        return
    share = time_in_range(Edges(below, above), ticks, hours)
    assert 0 <= share <= 1
    assert time_in_range(Edges(below + 100, above + 100), ticks, hours) >= share - 1e-12


def test_from_outside_the_price_may_come_in() -> None:
    near, far = Edges(-100, 1_100), Edges(-5_000, 6_000)
    assert 0.2 < time_in_range(near, 300) < 0.5
    assert time_in_range(far, 300) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("ticks", "hours"), [(0.0, 24.0), (300.0, 0.0), (float("nan"), 24.0)])
def test_no_volatility_or_no_horizon_is_refused(ticks: float, hours: float) -> None:
    with pytest.raises(ValueError, match="above zero"):
        time_in_range(Edges(100, 100), ticks, hours)
