"""What a swap pays and to whom: liquidity providers' and protocol's fee, per direction."""

from typing import NamedTuple

from msgspec import Struct

from chain.base.units import PIPS

_WORD = 1 << 256


class FeeGrowth(Struct, frozen=True, array_like=True, gc=False):
    """A pair of accumulators, one per currency."""

    growth0: int
    growth1: int


class FeesOwed(NamedTuple):
    fees0: int
    fees1: int


def fee_growth_inside(
    tick: int,
    tick_lower: int,
    tick_upper: int,
    *,
    global_growth: FeeGrowth,
    outside_lower: FeeGrowth,
    outside_upper: FeeGrowth,
) -> FeeGrowth:
    """Growth between two ticks, by where `slot0.tick` stands."""
    # Spelled out for speed, here and below: a monitor asks for thousands of positions a poll.
    lower0, lower1 = outside_lower.growth0, outside_lower.growth1
    upper0, upper1 = outside_upper.growth0, outside_upper.growth1
    if tick < tick_lower:
        return FeeGrowth((lower0 - upper0) % _WORD, (lower1 - upper1) % _WORD)
    if tick >= tick_upper:
        return FeeGrowth((upper0 - lower0) % _WORD, (upper1 - lower1) % _WORD)
    whole0, whole1 = global_growth.growth0, global_growth.growth1
    return FeeGrowth((whole0 - lower0 - upper0) % _WORD, (whole1 - lower1 - upper1) % _WORD)


def fees_owed(inside_now: FeeGrowth, inside_last: FeeGrowth, liquidity: int) -> FeesOwed:
    """What a position would be paid now, to the last unit."""
    return FeesOwed(
        (inside_now.growth0 - inside_last.growth0) % _WORD * liquidity >> 128,
        (inside_now.growth1 - inside_last.growth1) % _WORD * liquidity >> 128,
    )


"""Fees are counted in hundredths of a basis point, pips: a million is the whole."""


class ProtocolFee(NamedTuple):
    """Pips of the input, by the direction of the swap."""

    zero_for_one: int
    one_for_zero: int

    def towards(self, *, zero_for_one: bool) -> int:
        return self.zero_for_one if zero_for_one else self.one_for_zero


def unpack_protocol_fee(packed: int) -> ProtocolFee:
    """The two directions of `slot0.protocolFee`, 12 bits each."""
    return ProtocolFee(packed & 0xFFF, packed >> 12)


def swap_fee(protocol_fee: int, lp_fee: int) -> int:
    """Pips a swapper pays: the protocol takes first, providers from the rest, rounded up."""
    return protocol_fee + lp_fee - protocol_fee * lp_fee // PIPS


def protocol_fee_within(total_fee: int, lp_fee: int) -> int | None:
    """A protocol fee that makes this total with this LP fee, or None when none does.

    The total is rounded up, so two neighbouring fees can make the same one: this is the higher.
    """
    if lp_fee >= PIPS:
        return 0 if total_fee == PIPS else None
    estimate = (total_fee - lp_fee) * PIPS // (PIPS - lp_fee)
    return next(
        (
            fee
            for fee in (estimate + 1, estimate, estimate - 1)
            if fee >= 0 and swap_fee(fee, lp_fee) == total_fee
        ),
        None,
    )
