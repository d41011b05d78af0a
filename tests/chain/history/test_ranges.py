"""Losses and fees of a range along a path, against exact fractions and the white paper."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from math import exp, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.history.events import FeeTerms, fees, fees_of_swap
from chain.history.fee_rate import LiquidityRange, realised_lvr
from chain.math.fees import ProtocolFee
from chain.math.ticks import sqrt_price_at_tick
from tests.chain.history.exact_fees import range_fees
from tests.chain.history.market import LIQUIDITY, swap_between, swaps_through

FREE = FeeTerms(3000, ProtocolFee(0, 0))
near = st.integers(-50_000, 50_000)
HELD = LiquidityRange(sqrt_price_at_tick(-1000), sqrt_price_at_tick(1000), 10**18)


def holdings(sqrt_price: int, held: LiquidityRange) -> tuple[Fraction, Fraction]:
    """x and y of the white paper, without any rounding."""
    inside = held.clamp(sqrt_price)
    amount0 = Fraction(held.liquidity << 96, inside) - Fraction(
        held.liquidity << 96, held.sqrt_upper
    )
    return amount0, Fraction(held.liquidity * (inside - held.sqrt_lower), 2**96)


def worth(sqrt_price: int, held: LiquidityRange) -> Fraction:
    amount0, amount1 = holdings(sqrt_price, held)
    return amount0 * Fraction(sqrt_price**2, 2**192) + amount1


@given(st.lists(near, min_size=1, max_size=12), near, st.integers(1, 40_000), st.integers(1, 2**80))
def test_lvr_is_the_definition_to_the_unit(
    path: list[int], lower: int, width: int, liquidity: int
) -> None:
    held = LiquidityRange(sqrt_price_at_tick(lower), sqrt_price_at_tick(lower + width), liquidity)
    prices = [sqrt_price_at_tick(tick) for tick in path]
    exact = Fraction(0)
    for before, after in pairwise(prices):
        amount0, _ = holdings(before, held)
        move = Fraction(after**2 - before**2, 2**192)
        step = worth(before, held) + amount0 * move - worth(after, held)
        assert step >= 0
        exact += step
    assert abs(realised_lvr(prices, held) - exact) <= Fraction(1, 2) + Fraction(1, 2**60)


def test_lvr_of_a_random_walk_is_sigma_squared_over_eight() -> None:
    draw = random.Random(5)
    sigma, steps = 0.02, 20_000
    full = LiquidityRange(sqrt_price_at_tick(-887220), sqrt_price_at_tick(887220), 10**30)
    level, prices, rate = 0.0, [2**96], 0.0
    for _ in range(steps):
        level += draw.gauss(0, sigma / sqrt(steps))
        prices.append(int(exp(level / 2) * 2**96))
        rate += sigma**2 / 8 / steps * float(worth(prices[-1], full))
    assert realised_lvr(prices, full) == pytest.approx(rate, rel=0.05)


def test_outside_the_range_nothing_is_lost_or_earned() -> None:
    away = [sqrt_price_at_tick(tick) for tick in (2000, 3000, 2500, 5000)]
    assert realised_lvr(away, HELD) == 0
    assert range_fees(swaps_through(away), HELD, FREE, included=False) == (0, 0, 0)


def test_the_share_of_a_range_that_is_all_the_liquidity_is_all_the_fees() -> None:
    prices = [sqrt_price_at_tick(tick) for tick in (0, 300, -200, 500, 100)]
    swaps = swaps_through(prices)
    whole = HELD._replace(liquidity=LIQUIDITY)
    total = fees(swaps[1:], FREE)
    earned = range_fees(swaps, whole, FREE, included=True)
    assert earned.swaps_inside == 4
    assert 0 <= total.providers0 - earned.fees0 <= 4
    assert 0 <= total.providers1 - earned.fees1 <= 4
    shared = range_fees(swaps, whole, FREE, included=False)
    assert shared.fees0 == pytest.approx(total.providers0 / 2, rel=1e-9)
    assert shared.fees1 == pytest.approx(total.providers1 / 2, rel=1e-9)


@pytest.mark.parametrize(
    ("start", "end"), [(0, 3000), (3000, 0), (-4000, 500), (500, -4000), (-3000, 3000)]
)
def test_a_swap_through_the_edge_pays_for_the_part_inside(start: int, end: int) -> None:
    """With one liquidity everywhere the fee of the part inside is known exactly."""
    first, last = sqrt_price_at_tick(start), sqrt_price_at_tick(end)
    swaps = [swap_between(first - first // 10**9, first), swap_between(first, last)]
    whole = HELD._replace(liquidity=LIQUIDITY)
    earned = range_fees(swaps, whole, FREE, included=True)
    inside = fees_of_swap(swap_between(HELD.clamp(first), HELD.clamp(last)), FREE)
    assert earned.fees0 == pytest.approx(inside.providers0, rel=1e-9, abs=1)
    assert earned.fees1 == pytest.approx(inside.providers1, rel=1e-9, abs=1)
