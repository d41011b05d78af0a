"""Amounts between two prices and prices after an amount, bit for bit v4-core's SqrtPriceMath."""

from __future__ import annotations

Q96 = 1 << 96
_WORD = 1 << 256
_SQRT_PRICE_END = 1 << 160


class SqrtPriceError(ValueError):
    """An amount the liquidity cannot give, or a price no pool can hold; the contract reverts."""


def divide_up(numerator: int, denominator: int) -> int:
    """The quotient rounded up, for numbers that are not negative."""
    return -(-numerator // denominator)


def amount0_delta(sqrt_price_a: int, sqrt_price_b: int, liquidity: int, *, round_up: bool) -> int:
    """Units of currency0 between two prices: L · (1/√lower − 1/√upper)."""
    lower, upper = sorted((sqrt_price_a, sqrt_price_b))
    if lower <= 0:
        raise SqrtPriceError("A square-root price must be above zero.")
    product = (liquidity << 96) * (upper - lower)
    # Two divisions, each rounded, are what the contract does: one division would differ by a unit.
    if round_up:
        return divide_up(divide_up(product, upper), lower)
    return product // upper // lower


def amount1_delta(sqrt_price_a: int, sqrt_price_b: int, liquidity: int, *, round_up: bool) -> int:
    """Units of currency1 between two prices: L · (√upper − √lower)."""
    product = liquidity * abs(sqrt_price_a - sqrt_price_b)
    return divide_up(product, Q96) if round_up else product >> 96


def next_sqrt_price_from_input(
    sqrt_price: int, liquidity: int, amount_in: int, *, zero_for_one: bool
) -> int:
    """The price after an input, fee already taken; rounded so that the pool never loses."""
    _require_liquidity(sqrt_price, liquidity)
    if zero_for_one:
        return _after_adding0(sqrt_price, liquidity, amount_in)
    return _within_160_bits(sqrt_price + (amount_in << 96) // liquidity)


def next_sqrt_price_from_output(
    sqrt_price: int, liquidity: int, amount_out: int, *, zero_for_one: bool
) -> int:
    """The price after an output, rounded so that the pool never loses."""
    _require_liquidity(sqrt_price, liquidity)
    if not zero_for_one:
        return _after_removing0(sqrt_price, liquidity, amount_out)
    quotient = divide_up(amount_out << 96, liquidity)
    if sqrt_price <= quotient:
        raise SqrtPriceError("The liquidity does not hold that much of currency1.")
    return sqrt_price - quotient


def _after_adding0(sqrt_price: int, liquidity: int, amount: int) -> int:
    if amount == 0:
        return sqrt_price
    shifted = liquidity << 96
    denominator = shifted + amount * sqrt_price
    if denominator < _WORD:
        return divide_up(shifted * sqrt_price, denominator)
    # Where 256 bits overflow the contract takes a coarser formula, and so must we.
    return divide_up(shifted, shifted // sqrt_price + amount)


def _after_removing0(sqrt_price: int, liquidity: int, amount: int) -> int:
    if amount == 0:
        return sqrt_price
    shifted = liquidity << 96
    denominator = shifted - amount * sqrt_price
    if denominator <= 0:
        raise SqrtPriceError("The liquidity does not hold that much of currency0.")
    return _within_160_bits(divide_up(shifted * sqrt_price, denominator))


def _require_liquidity(sqrt_price: int, liquidity: int) -> None:
    if sqrt_price <= 0 or liquidity <= 0:
        raise SqrtPriceError("A price moves only where there are a price and liquidity.")


def _within_160_bits(sqrt_price: int) -> int:
    if sqrt_price >= _SQRT_PRICE_END:
        raise SqrtPriceError("The price leaves what a pool can hold.")
    return sqrt_price
