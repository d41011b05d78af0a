"""Amounts between prices, prices after an amount, and one step of a swap, bit for bit v4-core's."""

from typing import NamedTuple

from chain.base.units import PIPS

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


class SwapStep(NamedTuple):
    sqrt_price: int
    """Where the price ends."""
    amount_in: int
    """Input without the fee."""
    amount_out: int
    fee: int
    """Of the input, liquidity providers' and protocol's together."""


def swap_step(
    sqrt_price: int, sqrt_price_target: int, liquidity: int, amount_remaining: int, fee_pips: int
) -> SwapStep:
    """A step towards the target; a negative amount is input to spend, a positive one output wanted.

    The direction follows from the two prices, as in the contract.
    """
    if amount_remaining < 0:
        return _spend(sqrt_price, sqrt_price_target, liquidity, -amount_remaining, fee_pips)
    if fee_pips >= PIPS:
        raise SqrtPriceError("No output can be bought where the fee takes the whole input.")
    return _obtain(sqrt_price, sqrt_price_target, liquidity, amount_remaining, fee_pips)


def _spend(sqrt_price: int, target: int, liquidity: int, budget: int, fee_pips: int) -> SwapStep:
    zero_for_one = sqrt_price >= target
    after_fee = budget * (PIPS - fee_pips) // PIPS
    to_target = _input_between(sqrt_price, target, liquidity, zero_for_one)
    if after_fee >= to_target:
        end, amount_in = target, to_target
        fee = 0 if fee_pips == PIPS else divide_up(to_target * fee_pips, PIPS - fee_pips)
    else:
        end = next_sqrt_price_from_input(
            sqrt_price, liquidity, after_fee, zero_for_one=zero_for_one
        )
        amount_in, fee = after_fee, budget - after_fee
    return SwapStep(end, amount_in, _output_between(sqrt_price, end, liquidity, zero_for_one), fee)


def _obtain(sqrt_price: int, target: int, liquidity: int, wanted: int, fee_pips: int) -> SwapStep:
    zero_for_one = sqrt_price >= target
    to_target = _output_between(sqrt_price, target, liquidity, zero_for_one)
    if wanted >= to_target:
        end, amount_out = target, to_target
    else:
        amount_out = wanted
        end = next_sqrt_price_from_output(sqrt_price, liquidity, wanted, zero_for_one=zero_for_one)
    amount_in = _input_between(sqrt_price, end, liquidity, zero_for_one)
    return SwapStep(end, amount_in, amount_out, divide_up(amount_in * fee_pips, PIPS - fee_pips))


def _input_between(start: int, end: int, liquidity: int, zero_for_one: bool) -> int:
    delta = amount0_delta if zero_for_one else amount1_delta
    return delta(start, end, liquidity, round_up=True)


def _output_between(start: int, end: int, liquidity: int, zero_for_one: bool) -> int:
    delta = amount1_delta if zero_for_one else amount0_delta
    return delta(start, end, liquidity, round_up=False)
