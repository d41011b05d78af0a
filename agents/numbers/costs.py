"""What a move costs, how soon it pays for itself, and what a price move loses against HODL."""

from __future__ import annotations

from enum import StrEnum
from math import inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

from agents.numbers.survival import HOURS_PER_DAY
from chain.base.units import PIPS

if TYPE_CHECKING:
    from agents.numbers.swap import PrepSwap


class CostedRecipe(StrEnum):
    """The transactions a candidate needs, as execution builds them."""

    HOLD = "hold"
    EXIT = "exit"
    RERANGE = "rerange"
    """Burn and mint in one transaction."""
    RERANGE_WITH_SWAP = "rerange-with-swap"
    """Exit, then swap and enter through the router."""
    ENTER = "enter"
    SWAP_AND_ENTER = "swap-and-enter"


# Measured on the real contracts: burn 137k and mint up to 371k plus 21k each, a re-range without
# a swap 292k, swap-and-enter 395k. A token's approval and its Permit2 allowance are steps of their
# own; a pair that is swapped into needs one such couple, a fresh deposit of both tokens two.
_EXIT = 158_000
_APPROVALS = 96_000
GAS_UNITS = {
    CostedRecipe.HOLD: 0,
    CostedRecipe.EXIT: _EXIT,
    CostedRecipe.RERANGE: 292_000,
    CostedRecipe.RERANGE_WITH_SWAP: _EXIT + _APPROVALS + 395_000,
    CostedRecipe.ENTER: 2 * _APPROVALS + 392_000,
    CostedRecipe.SWAP_AND_ENTER: _APPROVALS + 395_000,
}


class MoveCost(NamedTuple):
    """The whole cost of a move, all in one unit of value."""

    gas: float
    swap_fee: float
    slippage: float

    @property
    def total(self) -> float:
        return self.gas + self.swap_fee + self.slippage


def gas_cost(
    gas_units: int, wei_per_gas: int, wei_value: float, *, l1_data_fee_wei: int = 0
) -> float:
    """Gas in the unit `wei_value` is in; rollups add what the data costs on L1."""
    return (gas_units * wei_per_gas + l1_data_fee_wei) * wei_value


def move_cost(gas: float, swap: PrepSwap | None, sqrt_price: int, unit1_value: float) -> MoveCost:
    """Gas, plus what the swap's exact amounts lose to the fee and to the price it moves.

    `sqrt_price` is the one before the swap, at which both amounts are valued.
    """
    if swap is None:
        return MoveCost(gas, 0.0, 0.0)
    given = _worth1(swap.amount_in, sqrt_price, of_currency0=swap.zero_for_one)
    received = _worth1(swap.amount_out, sqrt_price, of_currency0=not swap.zero_for_one)
    fee = given * swap.fee_pips / PIPS
    return MoveCost(gas, fee * unit1_value, max(0.0, given - fee - received) * unit1_value)


def gas_yield(gas: float, fee_24h: float | None) -> float | None:
    """Gas alone over the expected 24 h fee yield; infinite when nothing is earned for it."""
    if fee_24h is None:
        return None
    if fee_24h <= 0:
        return inf if gas > 0 else 0.0
    return gas / fee_24h


def break_even_hours(cost: float, gain_24h: float | None) -> float | None:
    """Cost over the gain in (fees − LVR) against HOLD; infinite when there is no gain."""
    if gain_24h is None:
        return None
    if cost <= 0:
        return 0.0
    return HOURS_PER_DAY * cost / gain_24h if gain_24h > 0 else inf


def impermanent_loss(price_ratio: float, lower_ratio: float, upper_ratio: float) -> float:
    """V(P1)/(x0·P1 + y0) − 1 for prices given as ratios to the one at entry, inside the range.

    A lower ratio of 0 and an upper one of infinity are the full range.
    """
    if not 0 <= lower_ratio < 1 < upper_ratio or price_ratio <= 0:
        raise ValueError("Impermanent loss is told from inside a range, for a price above zero.")
    kept = _value(1.0, lower_ratio, upper_ratio)
    held0 = 1 - 1 / sqrt(upper_ratio)
    held1 = kept - held0
    return _value(price_ratio, lower_ratio, upper_ratio) / (held0 * price_ratio + held1) - 1


def _value(price: float, lower: float, upper: float) -> float:
    """The worth in currency1 of one unit of liquidity."""
    inside = min(max(price, lower), upper)
    return price * (1 / sqrt(inside) - 1 / sqrt(upper)) + sqrt(inside) - sqrt(lower)


def _worth1(amount: int, sqrt_price: int, *, of_currency0: bool) -> float:
    return amount * sqrt_price * sqrt_price / (1 << 192) if of_currency0 else float(amount)
