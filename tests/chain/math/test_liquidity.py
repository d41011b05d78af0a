"""Amounts of a range: rounding always against the person, never in their favour."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chain.math.liquidity import (
    Amounts,
    LiquidityError,
    amounts_for_liquidity,
    liquidity_for_amounts,
)
from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick

all_ticks = st.integers(MIN_TICK, MAX_TICK)
near_ticks = st.integers(-200_000, 200_000)
liquidities = st.integers(1, 2**100)


@given(all_ticks, all_ticks, all_ticks, liquidities)
def test_a_burn_pays_at_most_what_the_mint_took(
    tick: int, one: int, other: int, liquidity: int
) -> None:
    assume(one != other)
    lower, upper = sorted((sqrt_price_at_tick(one), sqrt_price_at_tick(other)))
    price = sqrt_price_at_tick(tick)
    paid = amounts_for_liquidity(price, lower, upper, liquidity, round_up=True)
    back = amounts_for_liquidity(price, lower, upper, liquidity, round_up=False)
    assert 0 <= paid.amount0 - back.amount0 <= 2
    assert 0 <= paid.amount1 - back.amount1 <= 1
    if price <= lower:
        assert paid.amount1 == 0
    if price >= upper:
        assert paid.amount0 == 0


@given(near_ticks, near_ticks, near_ticks, st.integers(0, 2**96), st.integers(0, 2**96))
def test_bought_liquidity_never_costs_more_than_the_amounts(
    tick: int, one: int, other: int, amount0: int, amount1: int
) -> None:
    assume(one != other)
    lower, upper = sorted((sqrt_price_at_tick(one), sqrt_price_at_tick(other)))
    price = sqrt_price_at_tick(tick)
    try:
        liquidity = liquidity_for_amounts(price, lower, upper, amount0, amount1)
    except LiquidityError:
        return
    needed = amounts_for_liquidity(price, lower, upper, liquidity, round_up=True)
    assert needed.amount0 <= amount0
    assert needed.amount1 <= amount1


def test_a_worked_range() -> None:
    lower, upper = sqrt_price_at_tick(-600), sqrt_price_at_tick(600)
    liquidity = liquidity_for_amounts(2**96, lower, upper, 10**18, 10**18)
    # L = 1 / (1 − 1.0001^−300) by the white paper, for one whole token each side of par.
    assert liquidity / 10**18 == pytest.approx(1 / (1 - 1.0001**-300), rel=1e-12)
    assert amounts_for_liquidity(2**96, lower, upper, liquidity, round_up=True) == Amounts(
        10**18, 10**18
    )


def test_what_no_pool_can_hold_is_refused() -> None:
    low, high = sqrt_price_at_tick(0), sqrt_price_at_tick(1)
    with pytest.raises(LiquidityError):
        liquidity_for_amounts(low, low, high, 2**127, 0)
    with pytest.raises(LiquidityError):
        liquidity_for_amounts(low, high, low, 1, 1)
