"""What a range would have lost to arbitrage and earned in fees along a path of prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from chain.base.units import PIPS
from chain.history.flows import FeeTerms, protocol_fee_of

if TYPE_CHECKING:
    from chain.history.events import PricedSwap

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
    swaps: Sequence[PricedSwap], held: LiquidityRange, terms: FeeTerms, *, included: bool
) -> RangeFees:
    """The fees a range earned from swaps; the first swap only says where the path starts.

    A range that was in the pool (`included`) sold L·Δ of its own wherever the price went through
    it, and was paid the fee on that, whoever else was there: exact but for rounding. One that was
    not would have held the price back by its share: its fee is cut to active/(active + L), and
    active liquidity is known only at the ends of a swap, so a swap that crosses ticks is
    approximated by the end that lies inside.
    """
    if held.liquidity <= 0:
        return RangeFees(0, 0, 0)
    fees0 = fees1 = inside = 0
    for before, swap in pairwise(swaps):
        start, end = held.clamp(before.sqrt_price_x96), held.clamp(swap.sqrt_price_x96)
        if start == end or swap.fee >= PIPS:
            continue
        pips = swap.fee - protocol_fee_of(swap, terms)
        inside += 1
        numerator = held.liquidity * abs(end - start) * pips << _FINER
        denominator = PIPS - swap.fee
        if not included:
            active = (swap if end == swap.sqrt_price_x96 else before).liquidity
            numerator *= active
            denominator *= active + held.liquidity
        if swap.zero_for_one:
            fees0 += (numerator << 96) // (start * end * denominator)
        else:
            fees1 += numerator // (denominator << 96)
    return RangeFees(fees0 >> _FINER, fees1 >> _FINER, inside)
