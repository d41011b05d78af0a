"""From what is held to what a range takes: the swap it needs first, in exact integers."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agents.numbers.edges import TickRange
from agents.numbers.outlook import Stake
from chain.base.units import BIPS, PIPS
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.math.drift import (
    SLIPPAGE_BIPS,
    Bips,
    Span,
    affordable,
    least_affordable,
    narrow_drift,
    widest,
)
from chain.math.fees import swap_fee
from chain.math.liquidity import Amounts, amounts_for_liquidity, liquidity_for_amounts
from chain.math.sqrt_price import Q96, swap_step
from chain.math.ticks import MAX_SQRT_PRICE, MIN_SQRT_PRICE, sqrt_price_at_tick
from chain.pools.depth import Depth, quote_at_most
from chain.protocols.registry import protocol_named

_PATIENCE = 3
"""Probes that may fail to halve the bracket before one that surely does."""
_PRICE_BITS = 32
"""Prices closer together than the range's width over 2 to this power count as one."""


class SwapTerms(Struct, frozen=True):
    """What a swap through the pool meets: the whole fee of each direction, and its depth."""

    fee_zero_for_one: int
    fee_one_for_zero: int
    liquidity: int | None
    """Active liquidity without the position that leaves; None takes the price as fixed."""
    depth: Depth | None = None
    """Every change of liquidity around the price: a swap is then replayed as the pool runs it."""
    elsewhere: bool = False
    """Whether the depth is another pool's, so that the price of the range stays where it is."""

    def fee(self, *, zero_for_one: bool) -> int:
        return self.fee_zero_for_one if zero_for_one else self.fee_one_for_zero


class PrepSwap(NamedTuple):
    """The swap that brings what is held into the proportion a range needs.

    Without the pool's depth it is told at the present active liquidity, which a quote differs from
    where ticks are crossed.
    """

    zero_for_one: bool
    amount_in: int
    amount_out: int
    fee_pips: int
    sqrt_price_after: int

    def applied_to(self, holding: Amounts) -> Amounts:
        if self.zero_for_one:
            return Amounts(holding.amount0 - self.amount_in, holding.amount1 + self.amount_out)
        return Amounts(holding.amount0 + self.amount_out, holding.amount1 - self.amount_in)


class PriceSpan(NamedTuple):
    """A range by its square-root prices."""

    sqrt_lower: int
    sqrt_upper: int


def balancing_swaps(
    span: PriceSpan, sqrt_price: int, holding: Amounts, terms: SwapTerms
) -> tuple[PrepSwap, ...]:
    """The two swaps, a unit apart, between which neither side has more than the other can match.

    Liquidity rises with the input up to there and falls after it, so one of them is the best;
    none when the holding is in proportion already or the pool has no depth.
    """
    imbalance = _imbalance(span, sqrt_price, holding)
    if imbalance == 0 or terms.liquidity == 0:
        return ()
    zero_for_one = imbalance > 0
    sign = 1 if zero_for_one else -1
    fee = terms.fee(zero_for_one=zero_for_one)

    @cache
    def swap_of(amount_in: int) -> PrepSwap:
        return _swap(sqrt_price, amount_in, terms, zero_for_one=zero_for_one)

    def probe(amount_in: int) -> _Probe:
        swap = swap_of(amount_in)
        left = _imbalance(span, swap.sqrt_price_after, swap.applied_to(holding))
        return _Probe(sign * left, swap.amount_out, swap.sqrt_price_after)

    budget = holding.amount0 if zero_for_one else holding.amount1
    guess = _at_fixed_price(span, sqrt_price, abs(imbalance), fee, zero_for_one=zero_for_one)
    nothing = _Probe(abs(imbalance), 0, sqrt_price)
    coarse = (span.sqrt_upper - span.sqrt_lower) >> _PRICE_BITS
    bracket = _bracket_of_balance(probe, nothing, budget, guess, coarse)
    return tuple(swap_of(amount) for amount in bracket if amount > 0)


class _Probe(NamedTuple):
    surplus: int
    amount_out: int
    sqrt_price: int


def _imbalance(span: PriceSpan, sqrt_price: int, holding: Amounts) -> int:
    """Positive when currency0 could fund more liquidity than currency1, negative the other way.

    It is amount0·√P·√P_b·(√P − √P_a) − amount1·(√P_b − √P), the two liquidities crosswise.
    """
    inside = min(max(sqrt_price, span.sqrt_lower), span.sqrt_upper)
    funds0 = holding.amount0 * inside * span.sqrt_upper * (inside - span.sqrt_lower)
    funds1 = holding.amount1 * Q96 * Q96 * (span.sqrt_upper - inside)
    return funds0 - funds1


def _at_fixed_price(
    span: PriceSpan, sqrt_price: int, imbalance: int, fee: int, *, zero_for_one: bool
) -> int:
    """The input that would balance both sides if the swap moved no price; closed form."""
    inside = min(max(sqrt_price, span.sqrt_lower), span.sqrt_upper)
    per_unit0 = inside * span.sqrt_upper * (inside - span.sqrt_lower)
    per_unit1 = Q96 * Q96 * (span.sqrt_upper - inside)
    kept = PIPS - fee
    if zero_for_one:
        bought = sqrt_price * sqrt_price * kept * per_unit1 // (Q96 * Q96 * PIPS)
        return imbalance // max(1, per_unit0 + bought)
    bought = Q96 * Q96 * kept * per_unit0 // (sqrt_price * sqrt_price * PIPS)
    return imbalance // max(1, per_unit1 + bought)


def _swap(sqrt_price: int, amount_in: int, terms: SwapTerms, *, zero_for_one: bool) -> PrepSwap:
    fee = terms.fee(zero_for_one=zero_for_one)
    if terms.depth is not None:
        quote = quote_at_most(terms.depth, amount_in, zero_for_one=zero_for_one)
        price = sqrt_price if terms.elsewhere else quote.sqrt_price_after
        return PrepSwap(zero_for_one, quote.amount_in, quote.amount_out, fee, price)
    if terms.liquidity is None:
        after_fee = amount_in * (PIPS - fee) // PIPS
        if zero_for_one:
            amount_out = after_fee * sqrt_price * sqrt_price >> 192
        else:
            amount_out = (after_fee << 192) // (sqrt_price * sqrt_price)
        return PrepSwap(zero_for_one, amount_in, amount_out, fee, sqrt_price)
    limit = MIN_SQRT_PRICE + 1 if zero_for_one else MAX_SQRT_PRICE - 1
    step = swap_step(sqrt_price, limit, terms.liquidity, -amount_in, fee)
    return PrepSwap(zero_for_one, step.amount_in + step.fee, step.amount_out, fee, step.sqrt_price)


def _beside(left: _Probe, right: _Probe, coarse: int) -> bool:
    return (
        right.amount_out - left.amount_out <= 1
        and abs(right.sqrt_price - left.sqrt_price) <= coarse
    )


def _bracket_of_balance(
    probe: Callable[[int], _Probe], nothing: _Probe, budget: int, guess: int, coarse: int
) -> tuple[int, ...]:
    """Two inputs side by side: after the first the sold side still has more than it needs.

    The surplus falls as the input grows, so false position closes in on the place, with the weight
    of an end that stays halved to bring it along (Illinois) and a bisection whenever that is slow.
    Side by side are inputs one unit apart, or outputs whose prices differ less than `coarse`: where
    one unit bought costs many sold, what lies between is dust.
    """
    low, high, at_low, at_high = 0, budget, nothing, probe(budget)
    if at_high.surplus > 0:
        return (budget,)
    weight_low, weight_high = at_low.surplus, -at_high.surplus
    low_moved, high_moved, slow = False, False, 0
    while high - low > 1 and not _beside(at_low, at_high, coarse):
        before = high - low
        guess = min(max(guess, low + 1), high - 1)
        found = probe(guess)
        if found.surplus > 0:
            low, at_low, weight_low = guess, found, found.surplus
            weight_high >>= low_moved
            low_moved, high_moved = True, False
        else:
            high, at_high, weight_high = guess, found, -found.surplus
            weight_low >>= high_moved
            low_moved, high_moved = False, True
        slow = slow + 1 if 2 * (high - low) > before else 0
        if slow == _PATIENCE:
            guess, slow = (low + high) // 2, 0
        else:
            guess = low + (high - low) * weight_low // max(1, weight_low + weight_high)
    return low, high


# Liquidity is what v4-periphery computes from amounts, deposits are what the mint then takes, and
# a swap that is needed is solved against the pool's own swap step.
class InventoryError(ValueError):
    """Amounts that nothing can be made of."""


class Allocation(Struct, frozen=True):
    """How an inventory fills a range: available ± swap = deposit + residual, to the unit."""

    available: Amounts
    swap: PrepSwap | None
    liquidity: int
    deposit: Amounts
    """What the mint takes at the price after the swap."""
    residual: Amounts
    """What goes back to the wallet."""

    @property
    def shortfall(self) -> Amounts:
        """What the range takes beyond what was there before the swap."""
        return Amounts(
            max(0, self.deposit.amount0 - self.available.amount0),
            max(0, self.deposit.amount1 - self.available.amount1),
        )


class CreateAllocation(NamedTuple):
    allocation: Allocation
    pays_native: bool
    """The pool holds the chain's own coin: the transaction must carry value and sweep the rest."""
    native_value: int
    """Of it, what swap and mint use."""


def allocate_inventory(
    sqrt_price: int, ticks: TickRange, held: Amounts, fees: Amounts, terms: SwapTerms | None
) -> Allocation:
    """What a position holds and has earned, put into a new range; without terms nothing is swapped.

    The residual of an allocation without a swap is all that the scarcer side could not match.
    """
    available = held.plus(fees)
    return _allocate(sqrt_price, ticks, available, terms)


def allocate_for_create(
    key: PoolKey, sqrt_price: int, ticks: TickRange, capital: Amounts, terms: SwapTerms
) -> CreateAllocation:
    """A wallet's capital put into a new position.

    Capital in one token is swapped into proportion; capital given in both is taken as it is, since
    the person chose it, and what does not fit stays in the wallet.
    """
    two_sided = capital.amount0 > 0 and capital.amount1 > 0
    allocation = _allocate(sqrt_price, ticks, capital, None if two_sided else terms)
    allocation = _surely_created(key, sqrt_price, ticks, allocation)
    pays_native = key.currency0 == NATIVE
    spent = max(0, capital.amount0 - allocation.residual.amount0)
    return CreateAllocation(allocation, pays_native, spent if pays_native else 0)


def _allocate(
    sqrt_price: int, ticks: TickRange, available: Amounts, terms: SwapTerms | None
) -> Allocation:
    if min(available) < 0:
        raise InventoryError("An amount cannot be negative.")
    if not any(available):
        raise InventoryError("There is nothing to put into a range.")
    span = PriceSpan(sqrt_price_at_tick(ticks.lower), sqrt_price_at_tick(ticks.upper))
    best = _fill(span, sqrt_price, available, None)
    if terms is None:
        return best
    for swap in balancing_swaps(span, sqrt_price, available, terms):
        filled = _fill(span, sqrt_price, available, swap)
        if filled.liquidity > best.liquidity:
            best = filled
    return best


def _fill(
    span: PriceSpan, sqrt_price: int, available: Amounts, swap: PrepSwap | None
) -> Allocation:
    """Mint all that fits; what a mint takes never exceeds the amounts its liquidity came from."""
    holding = swap.applied_to(available) if swap else available
    price = swap.sqrt_price_after if swap else sqrt_price
    liquidity = liquidity_for_amounts(price, *span, *holding)
    deposit = amounts_for_liquidity(price, *span, liquidity, round_up=True)
    residual = holding.less(deposit)
    return Allocation(available, swap, liquidity, deposit, residual)


class RoutedAllocation(NamedTuple):
    """An allocation, and the other pool its swap goes through; None is the one entered."""

    allocation: Allocation
    through: Depth | None = None

    @property
    def price_moved(self) -> float:
        """How far its swap moves the price of the pool it goes through, as a part of it."""
        swap, through = self.allocation.swap, self.through
        if swap is None or through is None:
            return 0.0
        quote = quote_at_most(through, swap.amount_in, zero_for_one=swap.zero_for_one)
        return abs((quote.sqrt_price_after / through.state.sqrt_price_x96) ** 2 - 1)


def routed_allocation(
    allocate: Callable[[SwapTerms], Allocation], own: SwapTerms, others: Sequence[Depth]
) -> RoutedAllocation:
    """With the swap, where one is needed, in the pool of the pair that pays most for it."""
    here = allocate(own)
    better = None if here.swap is None else _best_elsewhere(others, here.swap)
    if better is None:
        return RoutedAllocation(here)
    there = allocate(terms_of(better, elsewhere=True))
    return RoutedAllocation(here) if there.swap is None else RoutedAllocation(there, better)


def _best_elsewhere(others: Sequence[Depth], swap: PrepSwap) -> Depth | None:
    """The other pool that pays the most for the same input; None when that is not more."""
    best, most = None, swap.amount_out
    for depth in others:
        quote = quote_at_most(depth, swap.amount_in, zero_for_one=swap.zero_for_one)
        if quote.amount_in == swap.amount_in and quote.amount_out > most:
            best, most = depth, quote.amount_out
    return best


def terms_of(depth: Depth, *, elsewhere: bool = False) -> SwapTerms:
    """What a swap through a pool meets, by its depth."""
    state = depth.state
    return SwapTerms(
        swap_fee(state.protocol_fee.zero_for_one, state.lp_fee),
        swap_fee(state.protocol_fee.one_for_zero, state.lp_fee),
        state.liquidity,
        depth,
        elsewhere,
    )


_DUST_PARTS = 200
"""A residual under this part of the whole is left in the wallet rather than swapped for."""


def allocate_holdings(
    sqrt_price: int,
    ticks: TickRange,
    available: Amounts,
    terms: SwapTerms | None,
    leaving: Stake | None,
) -> Allocation:
    """What a position holds: without a swap where what is left over is dust, else with one.

    Less what is kept back of it, so that the price may drift until the transactions are included.
    """
    plain = _allocate(sqrt_price, ticks, available, None)
    little = _worth1(plain.residual, sqrt_price) * _DUST_PARTS <= _worth1(available, sqrt_price)
    swapped = plain if little else _allocate(sqrt_price, ticks, available, terms)
    return _surely_moved(sqrt_price, ticks, swapped, leaving)


def _worth1(amounts: Amounts, sqrt_price: int) -> int:
    """Both amounts in units of currency1."""
    return amounts.amount1 + (amounts.amount0 * sqrt_price**2 >> 192)


# All bytes are fixed on what each step guarantees the next. An exit pays less of one token when
# the price drifts, and an entry takes more of one: what covers the two is kept back. It never
# leaves the wallet, or returns there.
MOVE_KEPT_BIPS = 100
"""Of the liquidity that what a position holds could buy; the wallet helps where it can."""
_CREATE_KEPT_BIPS = 300
"""At most, of the liquidity that capital could buy: no more than the capital is ever taken."""


def _surely_moved(
    sqrt_price: int, ticks: TickRange, allocation: Allocation, leaving: Stake | None
) -> Allocation:
    span, price = Span(*ticks), _price_after(allocation, sqrt_price)
    holding = allocation.deposit.plus(allocation.residual)
    now = affordable(span, price, holding)
    low, high = span.sqrt_prices
    if allocation.swap is None and not low < price < high:
        return _with_liquidity(allocation, span, price, now)
    enough = now * (BIPS - MOVE_KEPT_BIPS) // BIPS
    if allocation.swap is not None or leaving is None:
        return _with_liquidity(allocation, span, price, enough)
    # In one call, at one price: what the one range pays then, the other takes.
    left = Span(*leaving.ticks)
    beside = holding.less(left.holds(price, leaving.liquidity, round_up=False))

    def funds(at: int) -> Amounts:
        return left.holds(at, leaving.liquidity, round_up=False).plus(beside)

    within = least_affordable(span, price, SLIPPAGE_BIPS, funds, left)
    return _with_liquidity(allocation, span, price, max(enough, within))


def _surely_created(
    key: PoolKey, sqrt_price: int, ticks: TickRange, allocation: Allocation
) -> Allocation:
    span, price, swap = Span(*ticks), _price_after(allocation, sqrt_price), allocation.swap
    names_liquidity = protocol_named(key.protocol).mints_liquidity

    def liquidity_at(bips: Bips) -> int:
        if swap is not None:
            paid = int(swap.amount_out * (BIPS - bips) // BIPS)
            holding = swap._replace(amount_out=paid).applied_to(allocation.available)
        else:
            holding = allocation.available
        if bips and names_liquidity:
            return least_affordable(span, price, bips, lambda _: holding)
        return affordable(span, price, holding)

    enough = liquidity_at(0) * (BIPS - _CREATE_KEPT_BIPS) // BIPS
    drift = widest(lambda bips: liquidity_at(bips) >= enough, narrow_drift(SLIPPAGE_BIPS, span))
    return _with_liquidity(allocation, span, price, max(enough, liquidity_at(drift)))


def _price_after(allocation: Allocation, sqrt_price: int) -> int:
    return sqrt_price if allocation.swap is None else allocation.swap.sqrt_price_after


def _with_liquidity(allocation: Allocation, span: Span, price: int, liquidity: int) -> Allocation:
    deposit = span.holds(price, liquidity, round_up=True)
    left = allocation.deposit.plus(allocation.residual).less(deposit)
    return replace(allocation, liquidity=liquidity, deposit=deposit, residual=left)
