"""Whether amounts are held within bounds: minimums, maximums, hooks and fees of pools entered."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from chain.base.units import BIPS, PIPS
from chain.contracts.hooks import NO_HOOK, Danger, hook_passport
from chain.contracts.networks import Address
from chain.execution.build.facts import Span
from chain.execution.build.sizing import Band, least_paid, most_taken, narrowed, price_band
from chain.execution.decode import records
from chain.execution.policy.shapes import PolicyContext, key_of, swap_and_enter
from chain.math.ticks import MAX_TICK


class Notional(NamedTuple):
    known: Fraction
    """Micro-dollars that go into ranges, counted at the most the steps may take."""
    unpriced: tuple[Address, ...]
    """Tokens of it whose worth nobody knows."""


def notional(steps: Sequence[records.DecodedStep], context: PolicyContext) -> Notional:
    """What the steps put into ranges; what they take out is never limited."""
    total = Fraction(0)
    unpriced: dict[Address, None] = {}
    for token, amount in _entered(steps, context):
        price = context.worth.get(token)
        if price is None:
            unpriced[token] = None
        else:
            total += price * amount
    return Notional(total, tuple(unpriced))


def notional_faults(entered: Notional, context: PolicyContext) -> Iterator[str]:
    limit = context.limits.daily_notional
    if limit is None:
        return
    if entered.unpriced:
        tokens = ", ".join(entered.unpriced)
        yield f"The worth of {tokens} is unknown, so the day's limit cannot be held."
    if context.notional_today + entered.known > limit:
        yield (
            f"This would put ${float(entered.known) / 1e6:,.2f} into ranges, past the day's limit "
            f"of ${limit / 1e6:,.2f}. Raise it in the settings or wait."
        )


def _entered(
    steps: Sequence[records.DecodedStep], context: PolicyContext
) -> Iterator[tuple[Address, int]]:
    for step in steps:
        for action in _all_actions(step.call):
            match action:
                case records.DecodedMint(pool, _, _, _, most0, most1):
                    yield from ((pool.currency0, most0), (pool.currency1, most1))
                case records.DecodedIncrease(token_id, _, most0, most1) if (
                    token_id in context.positions
                ):
                    key = context.positions[token_id].pool.key
                    yield from ((key.currency0, most0), (key.currency1, most1))
                case _:
                    pass


def _all_actions(call: records.Call) -> tuple[records.Action, ...]:
    if isinstance(call, records.ModifyLiquidities):
        return call.actions
    if isinstance(call, records.Execute):
        recipe = swap_and_enter(call)
        return () if recipe is None else recipe.enter.actions
    return ()


_Q192 = 1 << 192
_ELSEWHERE_BIPS = 100
"""How much less than at the price of the pool entered a swap through another may pay."""


def hook_data_faults(actions: tuple[records.Action, ...]) -> Iterator[str]:
    if any(getattr(action, "hook_data", b"") for action in actions):
        yield "it hands data to a hook"


def amount_faults(
    action: records.Action, context: PolicyContext, sqrt_price_after: int | None = None
) -> Iterator[str]:
    """Whether the amounts of one action can drift no further than the limit on slippage."""
    match action:
        case records.DecodedBurn(token_id, least0, least1):
            position = context.positions[token_id]
            yield from _exit_faults(token_id, position.liquidity, (least0, least1), context)
        case records.DecodedDecrease(token_id, liquidity, least0, least1):
            yield from _exit_faults(token_id, liquidity, (least0, least1), context)
        case records.DecodedIncrease(token_id, liquidity, most0, most1):
            position = context.positions[token_id]
            price = position.pool.sqrt_price_x96
            yield from _entry_faults(position.span, price, liquidity, (most0, most1), context)
            yield from entry_faults(key_of(position.pool.key), context)
        case records.DecodedMint(pool, lower, upper, liquidity, most0, most1):
            if not -MAX_TICK <= lower < upper <= MAX_TICK:
                yield f"ticks {lower} to {upper} are no range"
                return
            yield from entry_faults(pool, context)
            if pool in context.pools:
                price = sqrt_price_after or context.pools[pool].sqrt_price_x96
                span = Span(lower, upper)
                yield from _entry_faults(span, price, liquidity, (most0, most1), context)


def swap_faults(
    swap: records.DecodedSwapExactIn, entered: records.DecodedPoolKey, context: PolicyContext
) -> Iterator[str]:
    """Whether the swap must pay what its pool was quoted for, and its pool is no worse a place."""
    out = quoted(swap, context)
    if out is None:
        yield "there is no quote for the swap it makes"
        return
    least = out[0] * (BIPS - context.limits.slippage_bips - context.drift_bips) // BIPS
    if swap.amount_out_minimum < max(1, least):
        yield f"the swap accepts {swap.amount_out_minimum}, less than the {least} it must pay"
    yield from entry_faults(swap.pool, context)
    if swap.pool != entered and entered in context.pools and swap.pool in context.pools:
        yield from _elsewhere_faults(swap, entered, context)


def _elsewhere_faults(
    swap: records.DecodedSwapExactIn, entered: records.DecodedPoolKey, context: PolicyContext
) -> Iterator[str]:
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


def worth_faults(swap: records.DecodedSwapExactIn, context: PolicyContext) -> Iterator[str]:
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


def quoted(swap: records.DecodedSwapExactIn, context: PolicyContext) -> tuple[int, int] | None:
    """What the swap was quoted to pay, and the price it leaves behind."""
    wanted = (swap.pool, swap.zero_for_one, swap.amount_in)
    for quote in context.quotes:
        if (key_of(quote.pool), quote.zero_for_one, quote.amount_in) == wanted:
            return quote.amount_out, quote.sqrt_price_after
    return None


def entry_faults(pool: records.DecodedPoolKey, context: PolicyContext) -> Iterator[str]:
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


def _exit_faults(
    token_id: int, liquidity: int, least: tuple[int, int], context: PolicyContext
) -> Iterator[str]:
    position = context.positions[token_id]
    if liquidity > position.liquidity:
        yield f"position #{token_id} does not hold that much liquidity"
    price = position.pool.sqrt_price_x96
    floor = least_paid(position.span, liquidity, _allowed_band(price, position.span, context))
    if any(minimum < bound for minimum, bound in zip(least, floor, strict=True)):
        yield f"the minimums {least[0]} and {least[1]} are below {floor.amount0}, {floor.amount1}"
    if liquidity and any(floor) and not any(least):
        yield "nothing is asked for what is given up"


def _entry_faults(
    span: Span, price: int, liquidity: int, most: tuple[int, int], context: PolicyContext
) -> Iterator[str]:
    if liquidity == 0:
        yield "it would enter a range with nothing"
    bound = most_taken(span, liquidity, _allowed_band(price, span, context))
    if any(maximum > limit for maximum, limit in zip(most, bound, strict=True)):
        yield f"the maximums {most[0]} and {most[1]} are over {bound.amount0}, {bound.amount1}"


def _allowed_band(price: int, span: Span, context: PolicyContext) -> Band:
    """The prices amounts may be fixed for: within the limit, from where they were built on."""
    limit, drift = context.limits.slippage_bips, context.drift_bips
    return price_band(price, narrowed(limit, span) + narrowed(drift, span))
