"""What went through a pool: volume, and the fees it paid to providers and to the protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from chain.base.units import PIPS
from chain.contracts.pool_key import DYNAMIC_FEE
from chain.math.fees import ProtocolFee, protocol_fee_within, swap_fee
from chain.math.sqrt_price import divide_up

if TYPE_CHECKING:
    from chain.history.events import PricedSwap, SwapEvent


class Volume(NamedTuple):
    """Units that changed hands, in and out together, per currency."""

    amount0: int
    amount1: int
    swaps: int


class SwapFees(NamedTuple):
    """Fees of one swap or of many, in units of each currency."""

    gross0: int = 0
    """What swappers paid, the protocol's part included."""
    gross1: int = 0
    providers0: int = 0
    """What was left to liquidity providers."""
    providers1: int = 0

    def plus(self, other: SwapFees) -> SwapFees:
        return SwapFees(*(mine + its for mine, its in zip(self, other, strict=True)))


class FeeTerms(NamedTuple):
    """What decides how a swap's fee is shared."""

    key_fee: int
    """Of the pool's key: the providers' fee, or the flag of a fee that changes."""
    protocol_fee: ProtocolFee
    """As `slot0` has it now; a static fee reveals where it was another one before."""


def volume(swaps: Iterable[SwapEvent]) -> Volume:
    amount0 = amount1 = count = 0
    for swap in swaps:
        amount0 += abs(swap.amount0)
        amount1 += abs(swap.amount1)
        count += 1
    return Volume(amount0, amount1, count)


def fees(swaps: Iterable[PricedSwap], terms: FeeTerms) -> SwapFees:
    total = SwapFees()
    for swap in swaps:
        total = total.plus(fees_of_swap(swap, terms))
    return total


def fees_of_swap(swap: PricedSwap, terms: FeeTerms) -> SwapFees:
    """The fee inside a swap's input, to within one unit per initialised tick it crossed."""
    paid = swap.amount_in
    gross = divide_up(paid * swap.fee, PIPS)
    protocol_fee = protocol_fee_of(swap, terms)
    protocol = gross if protocol_fee == swap.fee else paid * protocol_fee // PIPS
    if swap.zero_for_one:
        return SwapFees(gross0=gross, providers0=gross - protocol)
    return SwapFees(gross1=gross, providers1=gross - protocol)


def protocol_fee_of(swap: PricedSwap, terms: FeeTerms) -> int:
    """Pips the protocol took of this swap's input."""
    now = terms.protocol_fee.towards(zero_for_one=swap.zero_for_one)
    if terms.key_fee == DYNAMIC_FEE:
        return min(now, swap.fee)
    if swap_fee(now, terms.key_fee) == swap.fee:
        return now
    return protocol_fee_within(swap.fee, terms.key_fee) or 0
