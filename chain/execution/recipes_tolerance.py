"""How far the price may drift under a plan with a swap, for a small part of its liquidity.

All bytes are fixed on what each step guarantees the next, so every bit of drift that is survived
is paid for with tokens that stay in the wallet: on a narrow range far more than on a wide one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from chain.execution.building_facts import BIPS, BuildError, Tolerance
from chain.execution.recipes_sizing import after_swap, size_entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from chain.execution.building_facts import PoolFacts, Span
    from chain.execution.building_requests import QuotedSwap
    from chain.math.liquidity import Amounts

MOST_IDLE_BIPS = 100
"""Of the liquidity an undisturbed market would allow, what is given up for drift."""
_PARTS = 100
"""Drift is told in hundredths of a basis point: a stable pair's range is a few points wide."""


def widest_tolerance(liquidity_at: Callable[[Tolerance], int]) -> Tolerance:
    """The most drift, up to the usual bound, whose price in liquidity stays under the limit."""
    enough = liquidity_at(_tolerance(0)) * (BIPS - MOST_IDLE_BIPS) // BIPS
    survived, too_far = 1, int(Tolerance().slippage_bips * _PARTS) + 1
    while too_far - survived > 1:
        middle = (survived + too_far) // 2
        if liquidity_at(_tolerance(middle)) >= enough:
            survived = middle
        else:
            too_far = middle
    return _tolerance(survived)


def liquidity_after_swap(
    pool: PoolFacts, span: Span, funds: Amounts, swap: QuotedSwap, tolerance: Tolerance
) -> int:
    """What these funds are sure to enter the range with; nothing where they cannot."""
    try:
        swapped = after_swap(pool, funds, swap, tolerance)
        return size_entry(span, swapped.sqrt_price, swapped.holding, tolerance).liquidity
    except BuildError:
        return 0


def _tolerance(parts: int) -> Tolerance:
    # Nothing is left to chance within the drift: the whole of it is survived.
    return Tolerance(Fraction(parts, _PARTS), idle_bips=BIPS)
