"""Hourly closes, volatility and the shape of a path, against figures worked out by hand."""

from __future__ import annotations

import random
from math import exp, sqrt
from typing import TYPE_CHECKING

import pytest

from chain.base.units import HOUR, Known, Quantity, Unknown
from chain.history.volatility import (
    path_efficiency,
    realised_volatility,
)
from tests.chain.history.market import path_of

if TYPE_CHECKING:
    from chain.history.volatility import PricePath

NOW = 1_000_000_000


def at(log_price: float) -> int:
    return int(exp(log_price / 2) * 2**96)


def hourly(log_prices: list[float]) -> PricePath:
    """One swap a minute before each full hour back from now."""
    count = len(log_prices)
    return path_of(
        (
            (NOW - (count - 1 - index) * HOUR - 60, at(value))
            for index, value in enumerate(log_prices)
        ),
        NOW,
    )


def value(quantity: Quantity[float]) -> float:
    assert isinstance(quantity, Known), quantity
    return quantity.value


def test_alternating_hours_have_the_volatility_of_one_step() -> None:
    path = hourly([0.01 * (index % 2) for index in range(25)])
    assert value(realised_volatility(path, 24)) == pytest.approx(0.01 * sqrt(24), rel=1e-9)
    assert value(path_efficiency(path, 24)) == pytest.approx(0, abs=1e-9)


def test_a_straight_line_is_efficient() -> None:
    path = hourly([0.002 * index for index in range(25)])
    assert value(path_efficiency(path, 24)) == pytest.approx(1)


def test_a_random_walk_is_measured_as_it_was_made() -> None:
    draw = random.Random(11)
    sigma = 0.03 / sqrt(24)
    levels = [0.0]
    for _ in range(168):
        levels.append(levels[-1] + draw.gauss(0, sigma))
    measured = value(realised_volatility(hourly(levels), 168))
    assert measured == pytest.approx(0.03, rel=0.15)


def test_only_the_hours_asked_for_count() -> None:
    wild = [0.5 * (index % 2) for index in range(100)]
    path = hourly(wild + [0.01 * (index % 2) for index in range(25)])
    assert value(realised_volatility(path, 24)) == pytest.approx(0.01 * sqrt(24), rel=1e-9)


def test_what_happens_between_two_closes_is_no_volatility() -> None:
    calm = [(NOW - back * HOUR - 60, at(0)) for back in range(24, -1, -1)]
    spike = (NOW - 5 * HOUR - 30, at(1.0))
    back = (NOW - 5 * HOUR - 20, at(0))
    path = path_of(sorted([*calm, spike, back]), NOW)
    assert value(realised_volatility(path, 24)) == 0


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (path_of([], NOW), "the pool's swaps reach back 0 of 24 hours"),
        (
            path_of([(NOW - 5 * HOUR, at(0)), (NOW, at(1))], NOW),
            "the pool's swaps reach back 5 of 24 hours",
        ),
        (
            path_of([(NOW - 50 * HOUR, at(0)), (NOW - 30 * HOUR, at(1))], NOW),
            "nobody swapped in the last 24 hours",
        ),
    ],
)
def test_what_cannot_be_known_is_unknown(path: PricePath, reason: str) -> None:
    for measure in (realised_volatility, path_efficiency):
        assert measure(path, 24) == Unknown(reason)


def test_a_still_price_has_no_direction() -> None:
    path = hourly([0.0] * 25)
    assert path_efficiency(path, 24) == Unknown("the price did not move in the last 24 hours")


def test_figures_name_their_source_block_and_time() -> None:
    found = realised_volatility(hourly([0.01 * (index % 2) for index in range(25)]), 24)
    assert isinstance(found, Known)
    assert (found.source, found.block, found.time) == ("24 pool swaps", 99, float(NOW))
