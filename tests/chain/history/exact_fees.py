"""The fees of a range, swap by swap and exact: what quicker ways are held against."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from chain.base.units import PIPS
from chain.history.events import FeeTerms, PricedSwap, protocol_fee_of
from chain.history.fee_rate import LiquidityRange

_FINER = 64
"""Bits kept below one unit while steps add up."""


class RangeFees(NamedTuple):
    fees0: int
    fees1: int
    swaps_inside: int
    """Swaps that spent at least part of their way inside the range."""


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
