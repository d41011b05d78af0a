"""How much: minimums of an exit, liquidity of an entry, and how far the price may drift."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import NamedTuple

from chain.base.units import BIPS
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.execution.plan.facts import (
    Bips,
    BuildError,
    ChainFacts,
    PoolFacts,
    PositionFacts,
    Span,
    Tolerance,
)
from chain.execution.plan.requests import CreateRequest, QuotedSwap, Request, ReRangeRequest
from chain.math.liquidity import Amounts, liquidity_for_amounts
from chain.math.ticks import MAX_SQRT_PRICE, MIN_SQRT_PRICE
from chain.protocols.reference import position_label

# Along a price band what a range holds is monotone, and so is the ratio of what is there to what
# a mint takes; the extremes therefore lie at the band's ends or where a range begins or ends
# inside it.
_ROUNDING = 2
"""A burn rounds down and a mint up: so many units may be missing between the two."""


_BAND_SHARE = 8
"""A range this many times wider than the drift on either side keeps most of both minimums."""


class Band(NamedTuple):
    """The square-root prices between which a transaction must still go through."""

    lowest: int
    highest: int

    def edges_inside(self, span: Span) -> tuple[int, ...]:
        return tuple(edge for edge in span.sqrt_prices if self.lowest < edge < self.highest)


class Sized(NamedTuple):
    liquidity: int
    most: Amounts
    """What the mint may take at the worst price it still accepts."""


class Given(NamedTuple):
    """What is given to a range whose contract makes of it what liquidity it can."""

    liquidity: int
    """At the present price."""
    given: Amounts
    least: Amounts
    """What the range must take of it, or the chain refuses."""


class Swapped(NamedTuple):
    """What there is to enter a range with, where the swap before it paid no more than it must."""

    bought: int
    kept: Amounts
    """Out of the swap."""
    holding: Amounts
    sqrt_price: int
    """Of the pool entered."""


class SwapEntry(NamedTuple):
    """An entry that a swap comes before, in one transaction."""

    bought: int
    sized: Sized
    brought: Amounts
    """From the wallet, besides what the swap buys."""
    spent: Amounts
    """All that leaves the wallet at first, sold or brought."""


def narrowed(bips: Bips, span: Span) -> Bips:
    """Drift no wider than a part of the range: a band as wide as it would promise nothing.

    A tick is about a basis point.
    """
    return min(bips, span.width // _BAND_SHARE or 1)


def drift_band(sqrt_price: int, bips: Bips, span: Span) -> Band:
    """The drift to survive, narrowed with the range."""
    return price_band(sqrt_price, narrowed(bips, span))


def price_band(sqrt_price: int, bips: Bips) -> Band:
    squared = sqrt_price * sqrt_price
    lowest = isqrt(squared * (BIPS - bips) // BIPS)
    highest = isqrt(squared * (BIPS + bips) // BIPS) + 1
    return Band(max(lowest, MIN_SQRT_PRICE), min(highest, MAX_SQRT_PRICE - 1))


def least_paid(span: Span, liquidity: int, band: Band) -> Amounts:
    """What removing the liquidity pays at least, fees aside, at any price of the band."""
    return Amounts(
        span.holds(band.highest, liquidity, round_up=False).amount0,
        span.holds(band.lowest, liquidity, round_up=False).amount1,
    )


def most_taken(span: Span, liquidity: int, band: Band) -> Amounts:
    """What adding the liquidity takes at most at any price of the band."""
    return Amounts(
        span.holds(band.lowest, liquidity, round_up=True).amount0,
        span.holds(band.highest, liquidity, round_up=True).amount1,
    )


def least_taken(span: Span, given: Amounts, band: Band) -> Amounts:
    """What a range takes at least of what it is given, at any price of the band.

    More of one token is less of the other: each is least at the end where the other is all used.
    """

    def taken(price: int) -> Amounts:
        liquidity = liquidity_for_amounts(price, *span.sqrt_prices, *given)
        return span.holds(price, liquidity, round_up=True)

    return Amounts(taken(band.highest).amount0, taken(band.lowest).amount1)


def exit_minimums(position: PositionFacts, liquidity: int, tolerance: Tolerance) -> Amounts:
    """What removing a part of the liquidity must pay, fees aside."""
    price, bips = position.pool.sqrt_price_x96, tolerance.slippage_bips
    return least_paid(position.span, liquidity, drift_band(price, bips, position.span))


def guaranteed_by_exit(position: PositionFacts, tolerance: Tolerance) -> Amounts:
    """What leaving pays at least: the minimums in the calldata and the fees owed already.

    A swap that follows the exit must be sized, and quoted, on these.
    """
    least = exit_minimums(position, position.liquidity, tolerance)
    return least.plus(position.owed)


def part_of(position: PositionFacts, percent: int) -> int:
    if not 1 <= percent <= 100:
        raise BuildError(f"{percent}% cannot be taken out. Name a part from 1 to 100%.")
    return position.liquidity * percent // 100


def needs_liquidity(position: PositionFacts) -> None:
    if position.liquidity == 0:
        raise BuildError(
            f"Position {position_label(position.ref)} holds no liquidity, so there is nothing to "
            f"move. End it: zuno close {position.ref}"
        )


def buys_liquidity(span: Span, sqrt_price: int, funds: Amounts) -> bool:
    spendable = (max(0, amount - _ROUNDING) for amount in funds)
    return liquidity_for_amounts(sqrt_price, *span.sqrt_prices, *spendable) > 0


def size_entry(span: Span, sqrt_price: int, funds: Amounts, tolerance: Tolerance) -> Sized:
    """The liquidity a fixed budget can pay for, with no more than the budget ever taken."""
    return _sized(span, sqrt_price, lambda _: funds, (), tolerance)


def least_bought(swap: QuotedSwap, tolerance: Tolerance) -> int:
    """What the swap must pay, or the chain refuses it."""
    bought = int(swap.amount_out * (BIPS - tolerance.slippage_bips) // BIPS)
    if bought == 0:
        raise BuildError("The swap would buy nothing. Sell more, or ask for a new plan.")
    return bought


def after_swap(pool: PoolFacts, funds: Amounts, swap: QuotedSwap, tolerance: Tolerance) -> Swapped:
    bought = least_bought(swap, tolerance)
    if swap.zero_for_one:
        kept = Amounts(funds.amount0 - swap.amount_in, funds.amount1)
        holding = Amounts(kept.amount0, kept.amount1 + bought)
    else:
        kept = Amounts(funds.amount0, funds.amount1 - swap.amount_in)
        holding = Amounts(kept.amount0 + bought, kept.amount1)
    if min(kept) < 0:
        raise BuildError("The swap sells more than is sure to be there. Ask for a new plan.")
    price = swap.sqrt_price_after if swap.pool == pool.key else pool.sqrt_price_x96
    return Swapped(bought, kept, holding, price)


def size_swap_entry(
    pool: PoolFacts,
    span: Span,
    funds: Amounts,
    swap: QuotedSwap,
    tolerance: Tolerance,
    *,
    liquidity: int | None = None,
) -> SwapEntry:
    """With this liquidity, or with all that the funds are sure to pay for; never more than they."""
    bought, kept, holding, price = after_swap(pool, funds, swap, tolerance)
    if liquidity is None:
        sized = size_entry(span, price, holding, tolerance)
    else:
        band = drift_band(price, tolerance.slippage_bips, span)
        sized = Sized(liquidity, most_taken(span, liquidity, band))
    arriving = Amounts(0, bought) if swap.zero_for_one else Amounts(bought, 0)
    sold = Amounts(swap.amount_in, 0) if swap.zero_for_one else Amounts(0, swap.amount_in)
    brought = Amounts(
        *(max(0, most - there) for most, there in zip(sized.most, arriving, strict=True))
    )
    if any(need > there for need, there in zip(brought, kept, strict=True)):
        raise BuildError("The swap leaves less than the range takes. Ask for a new plan.")
    return SwapEntry(bought, sized, brought, sold.plus(brought))


def size_move(position: PositionFacts, span: Span, tolerance: Tolerance) -> Sized:
    """The liquidity of a new range that the burn of the old one pays for at the same price."""

    def funds(sqrt_price: int) -> Amounts:
        held = position.span.holds(sqrt_price, position.liquidity, round_up=False)
        return held.plus(position.owed)

    return _sized(span, position.pool.sqrt_price_x96, funds, (position.span,), tolerance)


def size_given(span: Span, sqrt_price: int, funds: Amounts, tolerance: Tolerance) -> Given:
    """All that the range takes of the funds now: at no price it takes more than it is given."""
    spendable = (max(0, amount - _ROUNDING) for amount in funds)
    liquidity = liquidity_for_amounts(sqrt_price, *span.sqrt_prices, *spendable)
    return _given(span, sqrt_price, liquidity, tolerance)


def size_given_by_exit(position: PositionFacts, span: Span, tolerance: Tolerance) -> Given:
    """What the close of a position pays for at any price of the band, without anything besides."""
    sized = size_move(position, span, tolerance)
    return _given(span, position.pool.sqrt_price_x96, sized.liquidity, tolerance)


def given_after_swap(
    pool: PoolFacts,
    span: Span,
    funds: Amounts,
    swap: QuotedSwap,
    tolerance: Tolerance,
    *,
    liquidity: int | None = None,
) -> Given:
    """With this liquidity, or with all that the funds are sure to pay for after the swap."""
    _, _, holding, price = after_swap(pool, funds, swap, tolerance)
    if liquidity is None:
        return size_given(span, price, holding, tolerance)
    entry = _given(span, price, liquidity, tolerance)
    if any(need > there for need, there in zip(entry.given, holding, strict=True)):
        raise BuildError("The swap leaves less than the range takes. Ask for a new plan.")
    return entry


def left_by_swap(sure: Amounts, swap: QuotedSwap, tolerance: Tolerance) -> Amounts:
    """What is sure to be there after a swap, where the wallet lends what it sells beyond it."""
    bought = least_bought(swap, tolerance)
    if swap.zero_for_one:
        return Amounts(max(0, sure.amount0 - swap.amount_in), sure.amount1 + bought)
    return Amounts(sure.amount0 + bought, max(0, sure.amount1 - swap.amount_in))


def size_within(
    span: Span, sqrt_price: int, liquidity: int, funds: Amounts, tolerance: Tolerance
) -> Sized:
    """This liquidity, or as much of it as the funds surely pay for at any price of the band."""
    band = drift_band(sqrt_price, tolerance.slippage_bips, span)
    liquidity = _covered(liquidity, most_taken(span, liquidity, band), funds)
    return Sized(liquidity, most_taken(span, liquidity, band))


def given_within(
    span: Span, sqrt_price: int, liquidity: int, funds: Amounts, tolerance: Tolerance
) -> Given:
    """The same where the contract makes of what it is given what liquidity it can."""
    needed = span.holds(sqrt_price, liquidity, round_up=True)
    return _given(span, sqrt_price, _covered(liquidity, needed, funds), tolerance)


def _covered(liquidity: int, needed: Amounts, funds: Amounts) -> int:
    parts = (
        liquidity * max(0, there - _ROUNDING) // need
        for need, there in zip(needed, funds, strict=True)
        if need > there
    )
    covered = min(parts, default=liquidity)
    if covered == 0:
        raise BuildError(_NOTHING_BOUGHT)
    return covered


def _given(span: Span, sqrt_price: int, liquidity: int, tolerance: Tolerance) -> Given:
    if liquidity == 0:
        raise BuildError(_NOTHING_BOUGHT)
    given = span.holds(sqrt_price, liquidity, round_up=True)
    band = drift_band(sqrt_price, tolerance.slippage_bips, span)
    return Given(liquidity, given, least_taken(span, given, band))


_NOTHING_BOUGHT = (
    "What is there cannot be put into this range at the present price. "
    "Choose a range on the side of the token you hold, or one with a swap."
)


def _sized(
    span: Span,
    sqrt_price: int,
    funds: Callable[[int], Amounts],
    other_spans: tuple[Span, ...],
    tolerance: Tolerance,
) -> Sized:
    band = drift_band(sqrt_price, tolerance.slippage_bips, span)
    edges = (edge for each in (span, *other_spans) for edge in band.edges_inside(each))
    prices = (*band, *edges)

    def affordable(price: int) -> int:
        there = funds(price)
        spendable = (max(0, amount - _ROUNDING) for amount in there)
        return liquidity_for_amounts(price, *span.sqrt_prices, *spendable)

    # Near the edge of a range the last bit of drift would cost most of the liquidity: there the
    # mint is left to revert instead.
    now = affordable(sqrt_price)
    liquidity = max(
        min(affordable(price) for price in prices), now * (BIPS - tolerance.idle_bips) // BIPS
    )
    if liquidity == 0:
        raise BuildError(_NOTHING_BOUGHT)
    taken = most_taken(span, liquidity, band)
    offered = [funds(price) for price in (sqrt_price, *prices)]
    return Sized(
        liquidity,
        Amounts(
            min(taken.amount0, max(each.amount0 for each in offered)),
            min(taken.amount1, max(each.amount1 for each in offered)),
        ),
    )


# All bytes are fixed on what each step guarantees the next. An exit pays less of one token when
# the price drifts, and an entry takes more of one: what covers the two is a small part of the
# liquidity that is given up, and what the wallet holds besides. That is moved along for the time
# of one transaction and swept home; where there is none of it, less drift is survived.
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
        case ReRangeRequest(position, span, None, _, None) if _is_beside(
            span, position.pool.sqrt_price_x96
        ):
            # All of one token goes in or, once the price is inside, nothing at all.
            return Tolerance(facts.tolerance.slippage_bips, idle_bips=0)
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


def _is_beside(span: Span, sqrt_price: int) -> bool:
    low, high = span.sqrt_prices
    return not low < sqrt_price < high


def with_wallet_balance(sure: Amounts, key: PoolKey, facts: ChainFacts) -> Amounts:
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
    funds = with_wallet_balance(sure, pool.key, facts)
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
