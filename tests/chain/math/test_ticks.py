"""Ticks at the edges, where wrong constants and wrong rounding show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.math.ticks import (
    MAX_SQRT_PRICE,
    MAX_TICK,
    MIN_SQRT_PRICE,
    MIN_TICK,
    TickError,
    nearest_usable_tick,
    sqrt_price_at_tick,
    tick_at_sqrt_price,
    usable_ticks,
)

KNOWN = {
    -887272: 4295128739,
    -887271: 4295343490,
    0: 2**96,
    887271: 1461373636630004318706518188784493106690254656249,
    887272: 1461446703485210103287273052203988822378723970342,
    # A table that starts from 2^128 − 1 is wrong first at these.
    230536: 8028879374562859404746102907483260,
    262144: 38992368544603139932233054999993536,
    294762: 199175114288266715987152048488552020,
    524288: 19190206568837448476620805525116361302670,
}


@pytest.mark.parametrize(("tick", "sqrt_price"), KNOWN.items())
def test_known_prices(tick: int, sqrt_price: int) -> None:
    assert sqrt_price_at_tick(tick) == sqrt_price


@given(st.integers(MIN_TICK, MAX_TICK - 1))
def test_a_tick_owns_every_price_up_to_the_next(tick: int) -> None:
    lowest, next_lowest = sqrt_price_at_tick(tick), sqrt_price_at_tick(tick + 1)
    assert lowest < next_lowest
    assert tick_at_sqrt_price(lowest) == tick
    assert tick_at_sqrt_price((lowest + next_lowest) // 2) == tick
    assert tick_at_sqrt_price(next_lowest - 1) == tick


@given(st.integers(MIN_SQRT_PRICE, MAX_SQRT_PRICE - 1))
def test_every_price_lies_in_its_tick(sqrt_price: int) -> None:
    tick = tick_at_sqrt_price(sqrt_price)
    assert sqrt_price_at_tick(tick) <= sqrt_price < sqrt_price_at_tick(tick + 1)


@pytest.mark.parametrize("tick", [MIN_TICK - 1, MAX_TICK + 1, 2**23])
def test_ticks_beyond_the_range_are_refused(tick: int) -> None:
    with pytest.raises(TickError):
        sqrt_price_at_tick(tick)
    with pytest.raises(TickError):
        nearest_usable_tick(tick, 1)


@pytest.mark.parametrize("sqrt_price", [0, MIN_SQRT_PRICE - 1, MAX_SQRT_PRICE, 2**160])
def test_prices_beyond_the_range_are_refused(sqrt_price: int) -> None:
    with pytest.raises(TickError):
        tick_at_sqrt_price(sqrt_price)


@pytest.mark.parametrize(
    ("tick", "spacing", "expected"),
    [
        (5, 10, 10),
        (15, 10, 20),
        (25, 10, 30),
        (-5, 10, 0),
        (-15, 10, -10),
        (-6, 10, -10),
        (4, 10, 0),
        (30, 60, 60),
        (-30, 60, 0),
        (MIN_TICK, 60, -887220),
        (MAX_TICK, 60, 887220),
        (MAX_TICK, 200, 887200),
        (MIN_TICK, 32767, -27 * 32767),
    ],
)
def test_half_way_goes_up(tick: int, spacing: int, expected: int) -> None:
    assert nearest_usable_tick(tick, spacing) == expected


@given(st.integers(MIN_TICK, MAX_TICK), st.integers(1, 32767))
def test_the_nearest_usable_tick_is_usable_and_nearest(tick: int, spacing: int) -> None:
    lowest, highest = usable_ticks(spacing)
    found = nearest_usable_tick(tick, spacing)
    assert found % spacing == 0
    assert MIN_TICK <= lowest <= found <= highest <= MAX_TICK
    for other in (found - spacing, found + spacing):
        assert abs(found - tick) <= abs(other - tick) or not lowest <= other <= highest


@pytest.mark.parametrize("spacing", [0, -1, 32768])
def test_spacings_that_do_not_exist_are_refused(spacing: int) -> None:
    with pytest.raises(TickError):
        nearest_usable_tick(0, spacing)
