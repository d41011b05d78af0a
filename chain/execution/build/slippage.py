"""How far the price may drift under a plan with a swap.

All bytes are fixed on what each step guarantees the next. An exit pays less of one token when the
price drifts, and an entry takes more of one: what covers the two is a small part of the liquidity
that is given up, and what the wallet holds besides. That is moved along for the time of one
transaction and swept home; where there is none of it, less drift is survived.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from chain.base.units import BIPS
from chain.contracts.networks import NATIVE
from chain.execution.build.facts import Bips, BuildError, ChainFacts, PoolFacts, Span, Tolerance
from chain.execution.build.requests import CreateRequest, QuotedSwap, Request, ReRangeRequest
from chain.execution.build.sizing import (
    after_swap,
    guaranteed_by_exit,
    narrowed,
    size_entry,
    size_swap_entry,
)
from chain.math.liquidity import Amounts

if TYPE_CHECKING:
    from chain.contracts.pool_key import PoolKey

RE_RANGE_IDLE_BIPS = 100
"""Of what a position holds, what is not put into the next range."""
_CREATE_IDLE_BIPS = 300
"""Of the liquidity capital could buy now; what is not used never leaves the wallet."""
_PARTS = 100
"""Drift is told in hundredths of a basis point: a stable pair's range is a few points wide."""
_GAS_KEPT = 5_000_000
"""Of the longest plan and another: so much of the coin is not counted on."""


def survivable(request: Request, facts: ChainFacts) -> Tolerance:
    """The most drift the request can be built for, up to what the facts allow."""
    match request:
        case ReRangeRequest(position, span, QuotedSwap() as swap, int()):
            most = _most(facts, position.span, span)
            return _widest(partial(_covers_entry, request, swap, facts), most)
        case CreateRequest(pool, span, budget, QuotedSwap() as swap):
            now = _liquidity(pool, span, budget, swap, _tolerance(0))
            enough = now * (BIPS - _CREATE_IDLE_BIPS) // BIPS
            return _widest(
                lambda tolerance: _liquidity(pool, span, budget, swap, tolerance) >= enough,
                _most(facts, span),
            )
    return facts.tolerance


def with_besides(sure: Amounts, key: PoolKey, facts: ChainFacts) -> Amounts:
    """What is sure to be paid, and what the wallet holds besides, gas left out."""
    besides = []
    for token in (key.currency0, key.currency1):
        kept = _GAS_KEPT * facts.fees.max_fee_per_gas if token == NATIVE else 0
        besides.append(max(0, facts.balances.get(token, 0) - kept))
    return Amounts(sure.amount0 + besides[0], sure.amount1 + besides[1])


def _most(facts: ChainFacts, *spans: Span) -> int:
    bips: Bips = facts.tolerance.slippage_bips
    for span in spans:
        bips = narrowed(bips, span)
    return int(bips * _PARTS)


def _widest(survives: Callable[[Tolerance], bool], most: int) -> Tolerance:
    survived, too_far = 1, most + 1
    while too_far - survived > 1:
        middle = (survived + too_far) // 2
        if survives(_tolerance(middle)):
            survived = middle
        else:
            too_far = middle
    return _tolerance(survived)


def _covers_entry(
    moving: ReRangeRequest, swap: QuotedSwap, facts: ChainFacts, tolerance: Tolerance
) -> bool:
    """Whether an exit within the drift, and the wallet besides, surely pay for the entry."""
    pool = moving.position.pool
    sure = guaranteed_by_exit(moving.position, tolerance)
    funds = with_besides(sure, pool.key, facts)
    try:
        size_swap_entry(pool, moving.span, funds, swap, tolerance, liquidity=moving.liquidity)
    except BuildError:
        return False
    return True


def _liquidity(
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
