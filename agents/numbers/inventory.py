"""From what is held to what a range takes: exact integers, rounded as the contracts round.

Liquidity is what v4-periphery computes from amounts, deposits are what the mint then takes, and a
swap that is needed is solved against the pool's own swap step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from agents.numbers.swap import PrepSwap, PriceSpan, SwapTerms, balancing_swaps
from chain.contracts.networks import NATIVE
from chain.math.liquidity import Amounts, amounts_for_liquidity, liquidity_for_amounts
from chain.math.ticks import sqrt_price_at_tick

if TYPE_CHECKING:
    from agents.numbers.edges import TickRange
    from chain.contracts.pool_key import PoolKey


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
    available = Amounts(held.amount0 + fees.amount0, held.amount1 + fees.amount1)
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
    residual = Amounts(holding.amount0 - deposit.amount0, holding.amount1 - deposit.amount1)
    return Allocation(available, swap, liquidity, deposit, residual)


_DUST_PARTS = 200
"""A residual under this part of the whole is left in the wallet rather than swapped for."""


def allocate_holdings(
    sqrt_price: int, ticks: TickRange, available: Amounts, terms: SwapTerms
) -> Allocation:
    """What a position holds: without a swap where what is left over is dust, else with one."""
    nothing = Amounts(0, 0)
    plain = allocate_inventory(sqrt_price, ticks, available, nothing, None)
    if _worth1(plain.residual, sqrt_price) * _DUST_PARTS <= _worth1(available, sqrt_price):
        return plain
    return allocate_inventory(sqrt_price, ticks, available, nothing, terms)


def _worth1(amounts: Amounts, sqrt_price: int) -> int:
    """Both amounts in units of currency1."""
    return amounts.amount1 + (amounts.amount0 * sqrt_price**2 >> 192)
