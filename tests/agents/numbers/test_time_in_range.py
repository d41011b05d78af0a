"""Time in range, and survival against Monte Carlo."""

import sys
from functools import cache
from math import cos, erf, exp, pi, sqrt
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.numbers.edges import Edges
from agents.numbers.outlook import time_in_range
from agents.numbers.survival import buffer_hours, mean_hours, median_hours, survival

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


HORIZONS = (6.0, 24.0, 72.0)
KNOWN = 0.0
"""The walks all have the volatility that is told."""


class Cell(NamedTuple):
    below: float
    above: float
    """Edges in daily σ."""


GRID = tuple(
    Cell(2 * half * fraction, 2 * half * (1 - fraction))
    for half in (1.0, 1.712, 2.745)
    for fraction in (0.1, 0.3, 0.5)
)


def exit_hours(cell: Cell, random: Random) -> float:
    """When one walk leaves, with the chance of leaving and coming back between two steps.

    Steps shorten towards an edge, so that a walk hardly ever leaves within a long one and the
    moment of leaving is known closely.
    """
    low, high = cell
    shortest = (min(cell) / 10) ** 2
    time = 0.0
    while True:
        near = min(low, high)
        step = max(near * near / 20, shortest)
        move = random.gauss(0.0, sqrt(step))
        next_low, next_high = low + move, high - move
        if (
            next_low <= 0
            or next_high <= 0
            or random.random() < exp(-2 * low * next_low / step) + exp(-2 * high * next_high / step)
        ):
            return 24 * (time + step * random.random())
        time += step
        low, high = next_low, next_high


def compare(cell: Cell, paths: int, random: Random) -> tuple[str, float]:
    """A row of the table and the worst deviation in it, in standard errors."""
    exits = sorted(exit_hours(cell, random) for _ in range(paths))
    edges = Edges(cell.below, cell.above)
    columns = []
    worst = 0.0
    for hours in HORIZONS:
        seen = sum(time > hours for time in exits) / paths
        told = survival(edges, 1.0, hours, KNOWN)
        error = max(sqrt(told * (1 - told) / paths), 1 / paths)
        worst = max(worst, abs(seen - told) / error)
        columns.append(f"{told:7.4f} {seen:7.4f}")
    for quantile, told in (
        (0.05, buffer_hours(edges, 1.0, scatter=KNOWN)),
        (0.5, median_hours(edges, 1.0, KNOWN)),
    ):
        # A quantile is checked by the share that left before it, whose error is known.
        left = sum(time <= told for time in exits) / paths
        worst = max(worst, abs(left - quantile) / sqrt(quantile * (1 - quantile) / paths))
        columns.append(f"{told:7.2f} {exits[int(quantile * paths)]:7.2f}")
    columns.append(f"{mean_hours(edges, 1.0, KNOWN):7.2f} {sum(exits) / paths:7.2f}")
    return f"{cell.below:5.2f} {cell.above:5.2f}   " + "   ".join(columns), worst


def check(paths: int, limit: float, capsys: pytest.CaptureFixture[str]) -> None:
    random = Random(20_240_607)
    rows = [compare(cell, paths, random) for cell in GRID]
    names = [f"S({hours:g} h)" for hours in HORIZONS] + ["buffer h", "median h", "mean h"]
    with capsys.disabled():
        sys.stdout.write(f"\n{paths} walks a row, each figure: closed form, Monte Carlo\n")
        sys.stdout.write("below above   " + "   ".join(f"{name:<15}" for name in names) + "\n")
        sys.stdout.writelines(f"{row}   {worst:4.1f} σ\n" for row, worst in rows)
    assert max(worst for _, worst in rows) < limit


def test_closed_form_against_monte_carlo(capsys: pytest.CaptureFixture[str]) -> None:
    check(800, 4.5, capsys)


@pytest.mark.soak
def test_closed_form_against_a_large_monte_carlo(capsys: pytest.CaptureFixture[str]) -> None:
    check(40_000, 4.5, capsys)
