"""Fees per unit of liquidity, Q128.128 and modulo 2^256 as the contracts keep them.

The accumulators wrap and tick counters start anywhere: only differences mean something.
"""

from __future__ import annotations

from typing import NamedTuple

_WORD = 1 << 256


class FeeGrowth(NamedTuple):
    """A pair of accumulators, one per currency."""

    growth0: int
    growth1: int


class FeesOwed(NamedTuple):
    fees0: int
    fees1: int


def fee_growth_inside(
    tick: int,
    tick_lower: int,
    tick_upper: int,
    *,
    global_growth: FeeGrowth,
    outside_lower: FeeGrowth,
    outside_upper: FeeGrowth,
) -> FeeGrowth:
    """Growth between two ticks, by where `slot0.tick` stands."""
    pairs = zip(global_growth, outside_lower, outside_upper, strict=True)
    if tick < tick_lower:
        return FeeGrowth(*((lower - upper) % _WORD for _, lower, upper in pairs))
    if tick >= tick_upper:
        return FeeGrowth(*((upper - lower) % _WORD for _, lower, upper in pairs))
    return FeeGrowth(*((whole - lower - upper) % _WORD for whole, lower, upper in pairs))


def fees_owed(inside_now: FeeGrowth, inside_last: FeeGrowth, liquidity: int) -> FeesOwed:
    """What a position would be paid now, to the last unit."""
    return FeesOwed(
        *(
            (now - last) % _WORD * liquidity >> 128
            for now, last in zip(inside_now, inside_last, strict=True)
        )
    )
