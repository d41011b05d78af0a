"""Whether amounts are held within bounds: minimums, maximums, hooks and fees of pools entered."""

from collections.abc import Iterator

from chain.base.units import BIPS, PIPS
from chain.contracts.hooks import NO_HOOK, Danger, hook_passport
from chain.contracts.networks import Address
from chain.contracts.pool_key import CalldataPool
from chain.execution.plan.context import PolicyContext, key_of
from chain.execution.plan.effects import Provision, Sale, Withdrawal
from chain.math.drift import (
    Band,
    Span,
    least_paid,
    least_taken,
    most_taken,
    narrow_drift,
    price_band,
)
from chain.math.liquidity import LiquidityError
from chain.math.ticks import MAX_TICK
from chain.protocols.reference import position_label

_Q192 = 1 << 192
_ELSEWHERE_BIPS = 100
"""How much less than at the price of the pool entered a swap through another may pay."""


def exit_faults(withdrawal: Withdrawal, context: PolicyContext) -> Iterator[str]:
    """Whether what comes out can drift no further than the limit on slippage."""
    position = context.positions[withdrawal.ref]
    liquidity = position.liquidity if withdrawal.liquidity is None else withdrawal.liquidity
    least = withdrawal.least
    if liquidity > position.liquidity:
        yield f"position {position_label(withdrawal.ref)} does not hold that much liquidity"
    price = position.pool.sqrt_price_x96
    floor = least_paid(position.span, liquidity, _allowed_band(price, position.span, context))
    if any(minimum < bound for minimum, bound in zip(least, floor, strict=True)):
        yield f"the minimums {least[0]} and {least[1]} are below {floor.amount0}, {floor.amount1}"
    if liquidity and any(floor) and not any(least):
        yield "nothing is asked for what is given up"


def provision_faults(
    provision: Provision, context: PolicyContext, sqrt_price_after: int | None = None
) -> Iterator[str]:
    """Whether what goes in can drift no further than the limit on slippage, and where it goes."""
    if provision.ref is not None:
        held = context.positions[provision.ref]
        yield from _entry_faults(provision, held.span, held.pool.sqrt_price_x96, context)
        yield from entry_faults(key_of(held.pool.key), context)
        return
    span, pool = provision.span, provision.pool
    if span is None or pool is None:
        yield "it names no range of a pool"
        return
    if not -MAX_TICK <= span.tick_lower < span.tick_upper <= MAX_TICK:
        yield f"ticks {span.tick_lower} to {span.tick_upper} are no range"
        return
    yield from entry_faults(pool, context)
    facts = context.pools.get(pool)
    if facts is not None:
        price = sqrt_price_after or facts.sqrt_price_x96
        yield from _entry_faults(provision, span, price, context)


def swap_faults(swap: Sale, entered: CalldataPool, context: PolicyContext) -> Iterator[str]:
    """Whether the swap must pay what its pool was quoted for, and its pool is no worse a place."""
    out = find_quote(swap, context)
    if out is None:
        yield "there is no quote for the swap it makes"
        return
    least = out[0] * (BIPS - context.limits.slippage_bips - context.drift_bips) // BIPS
    if swap.amount_out_minimum < max(1, least):
        yield f"the swap accepts {swap.amount_out_minimum}, less than the {least} it must pay"
    yield from entry_faults(swap.pool, context)
    if swap.pool != entered and entered in context.pools and swap.pool in context.pools:
        yield from _elsewhere_faults(swap, entered, context)


def _elsewhere_faults(swap: Sale, entered: CalldataPool, context: PolicyContext) -> Iterator[str]:
    """Whether a swap elsewhere pays about the price of the pool that is entered.

    A quote is only of the pool that is named: anybody can open one at a price of his own.
    """
    squared = context.pools[entered].sqrt_price_x96 ** 2
    given, paid = (squared, _Q192) if swap.zero_for_one else (_Q192, squared)
    fee = context.pools[swap.pool].lp_fee
    bips = BIPS - context.limits.slippage_bips - context.drift_bips - _ELSEWHERE_BIPS
    least = swap.amount_in * given // paid * (PIPS - fee) // PIPS * bips // BIPS
    if swap.amount_out_minimum < least:
        yield (
            f"the swap goes through another pool and accepts {swap.amount_out_minimum}, less than "
            f"{least} at the price of the position's pool"
        )


def worth_faults(swap: Sale, context: PolicyContext) -> Iterator[str]:
    """Whether a swap pays about what it sells is worth, where the worth of both is known.

    Nothing else holds a pool to the market: anybody can open one at a price of his own.
    """
    pair = (swap.pool.currency0, swap.pool.currency1)
    sold, bought = pair if swap.zero_for_one else pair[::-1]
    given, paid = context.worth.get(sold), context.worth.get(bought)
    if given is None or not paid or swap.pool not in context.pools:
        return
    fee = context.pools[swap.pool].lp_fee
    bips = BIPS - context.limits.slippage_bips - context.drift_bips - _ELSEWHERE_BIPS
    least = int(swap.amount_in * given / paid) * (PIPS - fee) // PIPS * bips // BIPS
    if swap.amount_out_minimum < least:
        yield (
            f"the swap accepts {swap.amount_out_minimum}, and what it sells is worth at least "
            f"{least}: the pool's price is far from the market's, or the trade is too large for it"
        )


def find_quote(swap: Sale, context: PolicyContext) -> tuple[int, int] | None:
    """What the swap was quoted to pay, and the price it leaves behind."""
    wanted = (swap.pool, swap.zero_for_one, swap.amount_in)
    for quote in context.quotes:
        if (key_of(quote.pool), quote.zero_for_one, quote.amount_in) == wanted:
            return quote.amount_out, quote.sqrt_price_after
    return None


def moved_price(pool: CalldataPool | None, context: PolicyContext) -> int | None:
    """What the plan's own swap leaves the price of a pool at; None where it makes none there."""
    after = (each.sqrt_price_after for each in context.quotes if key_of(each.pool) == pool)
    return next(after, None)


def entry_faults(pool: CalldataPool, context: PolicyContext) -> Iterator[str]:
    """Whether money may be given into the hands of this pool and its hook."""
    facts = context.pools.get(pool)
    if facts is None:
        yield "the position's pool was not read"
    elif facts.lp_fee > context.limits.lp_fee_pips:
        most = context.limits.lp_fee_pips
        yield (
            f"the pool takes {facts.lp_fee / 10_000:g}% of every swap, past the "
            f"{most / 10_000:g}% up to which zuno opens in one; close it instead: zuno close ID"
        )
    if pool.hooks == NO_HOOK:
        return
    passport = hook_passport(pool.hooks, pool.fee)
    if passport.danger is Danger.DANGEROUS and pool.hooks not in context.allowed_hooks:
        yield (
            f"the pool's hook {pool.hooks} is dangerous: {passport.sentences[0]} "
            "To use it all the same, add it to allowed_hooks in the settings"
        )
    yield from code_faults(pool.hooks, context)


def code_faults(address: Address, context: PolicyContext) -> Iterator[str]:
    pinned = context.pinned_code_hashes.get(address)
    if pinned is None or context.code_hashes.get(address) != pinned:
        yield f"the code at {address} is not the known code"


def _entry_faults(
    provision: Provision, span: Span, price: int, context: PolicyContext
) -> Iterator[str]:
    most = provision.most
    try:
        liquidity = provision.liquidity_at(price, span)
    except LiquidityError as error:
        yield f"{error}".rstrip(".")
        return
    if liquidity == 0:
        yield "it would enter a range with nothing"
    band = _allowed_band(price, span, context)
    bound = most_taken(span, liquidity, band)
    if any(maximum > limit for maximum, limit in zip(most, bound, strict=True)):
        yield f"the maximums {most[0]} and {most[1]} are over {bound.amount0}, {bound.amount1}"
    if provision.liquidity is None:
        floor = least_taken(span, most, band)
        if any(least < bound for least, bound in zip(provision.least, floor, strict=True)):
            least = provision.least
            yield (
                f"the minimums {least[0]} and {least[1]} are below {floor.amount0}, {floor.amount1}"
            )


def _allowed_band(price: int, span: Span, context: PolicyContext) -> Band:
    """The prices amounts may be fixed for: within the limit, from where they were built on."""
    limit, drift = context.limits.slippage_bips, context.drift_bips
    return price_band(price, narrow_drift(limit, span) + narrow_drift(drift, span))


def deadline_faults(deadline: int, context: PolicyContext) -> Iterator[str]:
    latest = context.head_time + context.limits.deadline_seconds
    if not context.head_time < deadline <= latest:
        yield f"its deadline {deadline} is not within {context.limits.deadline_seconds} s"
