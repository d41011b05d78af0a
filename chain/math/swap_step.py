"""One step of a swap, up to the next initialised tick: v4-core's SwapMath.computeSwapStep."""

from __future__ import annotations

from typing import NamedTuple

from chain.base.units import PIPS
from chain.math.sqrt_price import (
    SqrtPriceError,
    amount0_delta,
    amount1_delta,
    divide_up,
    next_sqrt_price_from_input,
    next_sqrt_price_from_output,
)


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
