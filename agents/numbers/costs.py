"""What a move costs, how soon it pays for itself, and what a price move loses against HODL."""

from enum import StrEnum
from math import inf
from typing import NamedTuple

from agents.numbers.inventory import PrepSwap, PriceSpan
from agents.numbers.survival import HOURS_PER_DAY
from chain.base.units import PIPS
from chain.math.liquidity import Amounts, amounts_for_liquidity


class CostedRecipe(StrEnum):
    """The transactions a candidate needs, as execution builds them."""

    HOLD = "hold"
    COLLECT = "collect"
    EXIT = "exit"
    RERANGE = "rerange"
    """Burn and mint in one transaction."""
    RERANGE_WITH_SWAP = "rerange-with-swap"
    """Exit, then swap and enter through the router."""
    ENTER = "enter"
    SWAP_AND_ENTER = "swap-and-enter"
    ENTER_FROM_ELSEWHERE = "enter-from-elsewhere"
    """With what another protocol's pool has paid, whose exit comes on top."""
    SWAP_AND_ENTER_FROM_ELSEWHERE = "swap-and-enter-from-elsewhere"


class _Gas(NamedTuple):
    """What a recipe takes in steps, and as one transaction of a delegated account."""

    in_steps: int
    as_one: int
    leaves: tuple[int, int, int] = (0, 0, 0)
    """What taking out adds: nothing to be written, fees of one token, fees of both."""


def _alike(units: int) -> _Gas:
    return _Gas(units, units)


# Measured on the real contracts: collecting 117k to 161k, an exit 139k to 179k, a mint up to 392k,
# a re-range without a swap 312k where the new ticks are in use and up to 408k where they are not,
# swap-and-enter 368k to 410k. A token's approval and its Permit2 allowance are steps of their
# own: a couple of them for each token that leaves the wallet, so two where a position comes back
# into it first, and one where capital in one token is swapped. As one transaction a re-range with a
# swap took up to 604k, an entry 373k, swap-and-enter 448k.
_COLLECT, _EXIT = 161_000, 180_000
_APPROVALS = 94_000
_V4 = {
    CostedRecipe.HOLD: _alike(0),
    CostedRecipe.COLLECT: _alike(_COLLECT),
    CostedRecipe.EXIT: _alike(_EXIT),
    CostedRecipe.RERANGE: _alike(409_000),
    CostedRecipe.RERANGE_WITH_SWAP: _Gas(_EXIT + 2 * _APPROVALS + 410_000, 604_000),
    CostedRecipe.ENTER: _Gas(2 * _APPROVALS + 392_000, 373_000),
    CostedRecipe.SWAP_AND_ENTER: _Gas(_APPROVALS + 410_000, 448_000),
    # Both tokens may be moved, into a range whose ticks nobody used: up to 618k and 459k.
    CostedRecipe.ENTER_FROM_ELSEWHERE: _Gas(2 * _APPROVALS + 392_000, 395_000),
    CostedRecipe.SWAP_AND_ENTER_FROM_ELSEWHERE: _Gas(2 * _APPROVALS + 440_000, 470_000),
}

# Of v3: the manager takes tokens by an approval of each, without Permit2, which the router's swap
# alone needs. Fees that the manager has yet to write down make leaving dearer, by the token. Inside
# one call of the manager a mint takes 304k of its 493k. As one transaction an entry took 486k and
# with a swap 611k where its ticks were in use; first used, they take 39k more.
_V3_COLLECT = (119_000, 147_000, 203_000)
_V3_EXIT = (211_000, 267_000, 313_000)
_V3_APPROVALS = 2 * 46_150
_V3_SWAP = _APPROVALS + 114_000
_V3_MINT = 493_000
_V3 = {
    CostedRecipe.HOLD: _alike(0),
    CostedRecipe.COLLECT: _Gas(0, 0, _V3_COLLECT),
    CostedRecipe.EXIT: _Gas(0, 0, _V3_EXIT),
    CostedRecipe.RERANGE: _Gas(_V3_APPROVALS + 304_000, 343_000, _V3_EXIT),
    CostedRecipe.RERANGE_WITH_SWAP: _Gas(_V3_APPROVALS + _V3_SWAP + _V3_MINT, 455_000, _V3_EXIT),
    CostedRecipe.ENTER: _Gas(_V3_APPROVALS + _V3_MINT, 525_000),
    CostedRecipe.SWAP_AND_ENTER: _Gas(_V3_APPROVALS + _V3_SWAP + _V3_MINT, 650_000),
    # What was paid as the coin is wrapped first.
    CostedRecipe.ENTER_FROM_ELSEWHERE: _Gas(_V3_APPROVALS + _V3_MINT + 30_000, 545_000),
    CostedRecipe.SWAP_AND_ENTER_FROM_ELSEWHERE: _Gas(
        _V3_APPROVALS + _V3_SWAP + _V3_MINT + 30_000, 670_000
    ),
}
UNSUBSCRIBING = 39_000
"""What it takes to dismiss a subscriber that does little when it is told."""
_OF_PROTOCOL = {"v4": _V4, "v3": _V3}


def gas_units(protocol: str, recipe: CostedRecipe, unwritten: int = 2, *, as_one: bool) -> int:
    """The gas of a recipe with positions of a protocol, by its name."""
    gas = _OF_PROTOCOL[protocol][recipe]
    return (gas.as_one if as_one else gas.in_steps) + gas.leaves[unwritten]


def unwritten_fees(fees: Amounts, withdrawn: Amounts) -> int:
    """In how many tokens fees were not written down yet: what withdraws writes them down.

    Without any fee, leaving writes as much as with those of one token.
    """
    return 0 if any(withdrawn) else max(1, sum(map(bool, fees)))


class MoveCost(NamedTuple):
    """The whole cost of a move, all in one unit of value."""

    gas: float
    swap_fee: float
    slippage: float
    minting_loss: float
    """What is lost by depositing at the price one's own swap moved."""

    @property
    def total(self) -> float:
        return self.gas + self.swap_fee + self.slippage + self.minting_loss


class MintedRange(NamedTuple):
    """Liquidity put into a range after a swap through the same pool."""

    span: PriceSpan
    liquidity: int
    lp_fee: int
    """In pips, what arbitrageurs pay to providers on their way back."""


def gas_cost(
    gas_units: int, wei_per_gas: int, wei_value: float, *, l1_data_fee_wei: int = 0
) -> float:
    """Gas in the unit `wei_value` is in; rollups add what the data costs on L1."""
    return (gas_units * wei_per_gas + l1_data_fee_wei) * wei_value


def move_cost(
    gas: float, swap: PrepSwap | None, sqrt_price: int, unit1_value: float, minted: MintedRange
) -> MoveCost:
    """Gas, plus what swap and mint lose by the time the price is back where it was.

    `sqrt_price` is the one before the swap, at which all amounts are valued.
    """
    if swap is None:
        return MoveCost(gas, 0.0, 0.0, 0.0)
    given = _worth1(swap.amount_in, sqrt_price, of_currency0=swap.zero_for_one)
    received = _worth1(swap.amount_out, sqrt_price, of_currency0=not swap.zero_for_one)
    fee = given * swap.fee_pips / PIPS
    return MoveCost(
        gas,
        fee * unit1_value,
        max(0.0, given - fee - received) * unit1_value,
        _minting_loss(swap, sqrt_price, minted) * unit1_value,
    )


def price_moved(swap: PrepSwap | None, sqrt_price: int) -> float:
    """How far a swap moves the pool's price, as a part of it."""
    return 0.0 if swap is None else abs((swap.sqrt_price_after / sqrt_price) ** 2 - 1)


def _minting_loss(swap: PrepSwap, sqrt_price: int, minted: MintedRange) -> float:
    """In currency1: the deposit's worth less what it has become once the price is moved back.

    With both prices inside the range that is L(√P1 − √P0)²/√P1, less the fee that arbitrageurs pay
    this liquidity: of what they bring, lp/(1 − lp), whatever the protocol takes besides.
    """
    span, liquidity = minted.span, minted.liquidity
    put_in = amounts_for_liquidity(swap.sqrt_price_after, *span, liquidity, round_up=True)
    left = amounts_for_liquidity(sqrt_price, *span, liquidity, round_up=False)
    brought = left.amount1 - put_in.amount1 if swap.zero_for_one else left.amount0 - put_in.amount0
    fee = max(0, brought) * minted.lp_fee / (PIPS - minted.lp_fee)
    earned = _worth1(1, sqrt_price, of_currency0=not swap.zero_for_one) * fee
    return max(0.0, _worth_of(put_in, sqrt_price) - _worth_of(left, sqrt_price) - earned)


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


def _worth1(amount: int, sqrt_price: int, *, of_currency0: bool) -> float:
    return amount * sqrt_price * sqrt_price / (1 << 192) if of_currency0 else float(amount)


def _worth_of(amounts: Amounts, sqrt_price: int) -> float:
    return _worth1(amounts.amount0, sqrt_price, of_currency0=True) + amounts.amount1
