"""The closed form against walks that know nothing of it, on a grid, printed as a table."""

from __future__ import annotations

import sys
from math import exp, sqrt
from random import Random
from typing import NamedTuple

import pytest

from agents.numbers.edges import Edges
from agents.numbers.survival import buffer_hours, mean_hours, median_hours, survival

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
    check(2_500, 4.5, capsys)


@pytest.mark.soak
def test_closed_form_against_a_large_monte_carlo(capsys: pytest.CaptureFixture[str]) -> None:
    check(40_000, 4.5, capsys)
