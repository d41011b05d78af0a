"""What a range would have lost to arbitrage and earned in fees along a path of prices."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from chain.history.flows import FeeTerms, fees_of_swap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chain.history.events import SwapEvent

_FINER = 64
"""Bits kept below one unit while steps add up."""


class LiquidityRange(NamedTuple):
    """Liquidity between two square-root prices."""

    sqrt_lower: int
    sqrt_upper: int
    liquidity: int

    def clamp(self, sqrt_price: int) -> int:
        return min(max(sqrt_price, self.sqrt_lower), self.sqrt_upper)


class RangeFees(NamedTuple):
    fees0: int
    fees1: int
    swaps_inside: int
    """Swaps that spent at least part of their way inside the range."""


def realised_lvr(sqrt_prices: Iterable[int], held: LiquidityRange) -> int:
    """Loss-versus-rebalancing along these prices, in units of currency1.

    Each step loses V(p₀) + x(p₀)·(p₁ − p₀) − V(p₁): what the position is worth less than the
    same tokens left alone. With c the price's root held within the range this is
    L·(c₁ − c₀)·(s₁² − c₀c₁)/(c₀c₁), never negative. The finer the steps, the more noise that
    reverts is counted as loss: hourly closes measure the market, every swap the pool.
    """
    total = 0
    for before, after in pairwise(sqrt_prices):
        start, end = held.clamp(before), held.clamp(after)
        moved = held.liquidity * (end - start) * (after * after - start * end)
        total += (moved << _FINER) // (start * end << 96)
    return total + (1 << _FINER - 1) >> _FINER


def range_fees(
    swaps: Sequence[SwapEvent], held: LiquidityRange, terms: FeeTerms, *, included: bool
) -> RangeFees:
    """The fees a range earned from swaps, by its share of the active liquidity.

    `included` says whether the pool's liquidity already contained it; otherwise its own is added,
    as if nobody had traded differently. A swap that crosses ticks is approximated: its fee is
    spread along its price path, and its liquidity taken from the end of it that lies inside.
    The first swap only says where the path starts. Fee growth gives the exact figure for a
    position that exists.
    """
    fees0 = fees1 = inside = 0
    for before, swap in pairwise(swaps):
        part, whole = _part_inside(before.sqrt_price_x96, swap, held)
        if part == 0:
            continue
        ends_inside = held.clamp(swap.sqrt_price_x96) == swap.sqrt_price_x96
        active = swap.liquidity if ends_inside else before.liquidity
        active += 0 if included else held.liquidity
        if active == 0:
            continue
        inside += 1
        share = min(held.liquidity, active)
        paid = fees_of_swap(swap, terms)
        fees0 += (paid.providers0 * share * part << _FINER) // (active * whole)
        fees1 += (paid.providers1 * share * part << _FINER) // (active * whole)
    return RangeFees(fees0 >> _FINER, fees1 >> _FINER, inside)


def _part_inside(start: int, swap: SwapEvent, held: LiquidityRange) -> tuple[int, int]:
    """How much of the swap's way through the price lies inside the range, of how much."""
    end = swap.sqrt_price_x96
    if start == end:
        return int(held.clamp(end) == end), 1
    from_inside, to_inside = held.clamp(start), held.clamp(end)
    if swap.zero_for_one:
        # Input of currency0 grows with 1/√P: between prices a and b it is in proportion to
        # (a − b)/(a·b).
        return (from_inside - to_inside) * start * end, (start - end) * from_inside * to_inside
    return to_inside - from_inside, end - start
