"""How much: minimums of an exit, liquidity of an entry, and how far the price may drift."""

from collections.abc import Callable
from typing import NamedTuple

from chain.base.units import BIPS
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.execution.plan.facts import BuildError, ChainFacts, PoolFacts, PositionFacts, Tolerance
from chain.execution.plan.requests import CreateRequest, QuotedSwap, Request, ReRangeRequest
from chain.math.drift import (
    Span,
    affordable,
    drift_band,
    least_affordable,
    least_paid,
    least_taken,
    most_taken,
    narrow_drift,
    widest,
)
from chain.math.liquidity import Amounts
from chain.protocols.reference import position_label


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


def exit_minimums(position: PositionFacts, liquidity: int, tolerance: Tolerance) -> Amounts:
    """What removing a part of the liquidity must pay, fees aside."""
    price, bips = position.pool.sqrt_price_x96, tolerance.slippage_bips
    return least_paid(position.span, liquidity, drift_band(price, bips, position.span))


def guaranteed_by_exit(position: PositionFacts, tolerance: Tolerance) -> Amounts:
    """What leaving pays at least: the minimums in the calldata and the fees owed already.

    A swap that follows the exit must be sized, and quoted, on these.
    """
    least = exit_minimums(position, position.liquidity, tolerance)
    return least.plus(position.amounts_owed)


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
    return affordable(span, sqrt_price, funds) > 0


def size_entry(
    span: Span,
    sqrt_price: int,
    funds: Amounts,
    tolerance: Tolerance,
    *,
    liquidity: int | None = None,
) -> Sized:
    """The liquidity a fixed budget can pay for, with no more than the budget ever taken."""
    return _sized(span, sqrt_price, lambda _: funds, tolerance, liquidity=liquidity)


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
        raise BuildError(_TOO_LITTLE)
    return SwapEntry(bought, sized, brought, sold.plus(brought))


def size_move(
    position: PositionFacts, span: Span, tolerance: Tolerance, liquidity: int | None
) -> Sized:
    """The liquidity of a new range that the burn of the old one pays for at the same price."""

    def funds(sqrt_price: int) -> Amounts:
        held = position.span.holds(sqrt_price, position.liquidity, round_up=False)
        return held.plus(position.amounts_owed)

    price = position.pool.sqrt_price_x96
    return _sized(span, price, funds, tolerance, position.span, liquidity=liquidity)


def size_given(span: Span, sqrt_price: int, funds: Amounts, tolerance: Tolerance) -> Given:
    """All that the range takes of the funds now: at no price it takes more than it is given."""
    return _given(span, sqrt_price, affordable(span, sqrt_price, funds), tolerance)


def size_given_by_exit(
    position: PositionFacts, span: Span, tolerance: Tolerance, liquidity: int | None
) -> Given:
    """What the close of a position pays for at any price of the band, without anything besides."""
    sized = size_move(position, span, tolerance, liquidity)
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
    return given_within(span, price, liquidity, holding, tolerance)


def left_by_swap(sure: Amounts, swap: QuotedSwap, tolerance: Tolerance) -> Amounts:
    """What is sure to be there after a swap, where the wallet lends what it sells beyond it."""
    bought = least_bought(swap, tolerance)
    if swap.zero_for_one:
        return Amounts(max(0, sure.amount0 - swap.amount_in), sure.amount1 + bought)
    return Amounts(sure.amount0 + bought, max(0, sure.amount1 - swap.amount_in))


def given_within(
    span: Span, sqrt_price: int, liquidity: int, funds: Amounts, tolerance: Tolerance
) -> Given:
    """This liquidity, where the contract makes of what it is given what it can."""
    entry = _given(span, sqrt_price, liquidity, tolerance)
    if any(need > there for need, there in zip(entry.given, funds, strict=True)):
        raise BuildError(_TOO_LITTLE)
    return entry


def _given(span: Span, sqrt_price: int, liquidity: int, tolerance: Tolerance) -> Given:
    if liquidity == 0:
        raise BuildError(_NOTHING_BOUGHT)
    given = span.holds(sqrt_price, liquidity, round_up=True)
    band = drift_band(sqrt_price, tolerance.slippage_bips, span)
    return Given(liquidity, given, least_taken(span, given, band))


_TOO_LITTLE = "There is less than the range takes. Ask for a new plan."
_NOTHING_BOUGHT = (
    "What is there cannot be put into this range at the present price. "
    "Choose a range on the side of the token you hold, or one with a swap."
)


def _sized(
    span: Span,
    sqrt_price: int,
    funds: Callable[[int], Amounts],
    tolerance: Tolerance,
    *others: Span,
    liquidity: int | None,
) -> Sized:
    bips = tolerance.slippage_bips
    # Near the edge of a range the last bit of drift would cost most of the liquidity: there the
    # mint is left to revert instead.
    now = affordable(span, sqrt_price, funds(sqrt_price))
    within = least_affordable(span, sqrt_price, bips, funds, *others)
    most = max(within, now * (BIPS - tolerance.idle_bips) // BIPS)
    if most == 0:
        raise BuildError(_NOTHING_BOUGHT)
    if liquidity is None:
        liquidity = most
    elif liquidity > most:
        raise BuildError(_TOO_LITTLE)
    band = drift_band(sqrt_price, bips, span)
    taken = most_taken(span, liquidity, band)
    offered = [funds(price) for price in (sqrt_price, *band)]
    return Sized(
        liquidity,
        Amounts(
            min(taken.amount0, max(each.amount0 for each in offered)),
            min(taken.amount1, max(each.amount1 for each in offered)),
        ),
    )


# All bytes are fixed on what each step guarantees the next. An exit pays less of one token when
# the price drifts, and an entry takes more of one: what covers the two is a small part of the
# liquidity that is kept back, and what the wallet holds besides. That is moved along for the time
# of one transaction and swept home; where there is none of it, less drift is survived.
_GAS_KEPT = 5_000_000
"""Of the longest plan and another: so much of the coin is not counted on."""


def survivable(
    request: Request, facts: ChainFacts, builds: Callable[[Tolerance], bool]
) -> Tolerance:
    """The most drift the request can be built for, up to what the facts allow."""
    match request:
        case ReRangeRequest(position, span, None, _, None) if _is_beside(
            span, position.pool.sqrt_price_x96
        ):
            # All of one token goes in or, once the price is inside, nothing at all.
            return Tolerance(facts.tolerance.slippage_bips, idle_bips=0)
        case ReRangeRequest(position, span, _, int()):
            spans: tuple[Span, ...] = (position.span, span)
        case CreateRequest(_, span, _, _, _, int()):
            spans = (span,)
        case _:
            return facts.tolerance
    most = min(narrow_drift(facts.tolerance.slippage_bips, span) for span in spans)
    # Nothing is left to chance within the drift: the whole of it is survived.
    return Tolerance(widest(lambda bips: builds(Tolerance(bips, BIPS)), most), idle_bips=BIPS)


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
