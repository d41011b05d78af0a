"""What liquidity is made of: amounts of a range, and the liquidity amounts can buy."""

from __future__ import annotations

from typing import NamedTuple

from chain.base.units import Units
from chain.math.sqrt_price import Q96, amount0_delta, amount1_delta

_MAX_LIQUIDITY = (1 << 128) - 1


class LiquidityError(ValueError):
    """Liquidity the contracts cannot hold."""


class Amounts(NamedTuple):
    amount0: Units
    amount1: Units

    def plus(self, other: Amounts) -> Amounts:
        return Amounts(self.amount0 + other.amount0, self.amount1 + other.amount1)

    def less(self, other: Amounts) -> Amounts:
        return Amounts(self.amount0 - other.amount0, self.amount1 - other.amount1)

    def in_order(self, turned: bool = True) -> Amounts:
        """For a pool whose pair stands in the other order, where it does."""
        return Amounts(self.amount1, self.amount0) if turned else self


def amounts_for_liquidity(
    sqrt_price: int, sqrt_lower: int, sqrt_upper: int, liquidity: int, *, round_up: bool
) -> Amounts:
    """What a range holds at a price: rounded up it is what a mint takes, down what a burn pays."""
    # The contract decides by tick, which at a boundary may lag the price by one; there the deltas
    # are zero or equal, so deciding by price gives the same amounts.
    inside = min(max(sqrt_price, sqrt_lower), sqrt_upper)
    return Amounts(
        amount0_delta(inside, sqrt_upper, liquidity, round_up=round_up),
        amount1_delta(sqrt_lower, inside, liquidity, round_up=round_up),
    )


def liquidity_for_amounts(
    sqrt_price: int, sqrt_lower: int, sqrt_upper: int, amount0: int, amount1: int
) -> int:
    """The most liquidity both amounts can fund, by v4-periphery's LiquidityAmounts.

    The intermediate product is cut to Q96 there; calldata must carry the same figure.
    """
    if not sqrt_lower < sqrt_upper:
        raise LiquidityError("A range needs a lower price below its upper price.")
    if sqrt_price <= sqrt_lower:
        liquidity = _liquidity_for_amount0(sqrt_lower, sqrt_upper, amount0)
    elif sqrt_price < sqrt_upper:
        liquidity = min(
            _liquidity_for_amount0(sqrt_price, sqrt_upper, amount0),
            _liquidity_for_amount1(sqrt_lower, sqrt_price, amount1),
        )
    else:
        liquidity = _liquidity_for_amount1(sqrt_lower, sqrt_upper, amount1)
    if liquidity > _MAX_LIQUIDITY:
        raise LiquidityError("These amounts are more liquidity than a pool can hold.")
    return liquidity


def _liquidity_for_amount0(sqrt_lower: int, sqrt_upper: int, amount0: int) -> int:
    return amount0 * (sqrt_lower * sqrt_upper // Q96) // (sqrt_upper - sqrt_lower)


def _liquidity_for_amount1(sqrt_lower: int, sqrt_upper: int, amount1: int) -> int:
    return amount1 * Q96 // (sqrt_upper - sqrt_lower)
