"""Fees of swaps whose steps are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.contracts.pool_key import DYNAMIC_FEE
from chain.history.events import FeeTerms, SwapFees, fees, fees_of_swap
from chain.math.fees import ProtocolFee, swap_fee
from chain.math.ticks import sqrt_price_at_tick
from tests.chain.history.market import swap_between

ticks = st.integers(-200_000, 200_000)
FREE = FeeTerms(3000, ProtocolFee(0, 0))


@given(ticks, ticks, st.sampled_from((0, 100, 500, 3000, 10_000)))
def test_without_a_protocol_fee_providers_get_all(start: int, end: int, fee: int) -> None:
    swap = swap_between(sqrt_price_at_tick(start), sqrt_price_at_tick(end), fee=fee)
    paid = fees_of_swap(swap, FeeTerms(fee, ProtocolFee(0, 0)))
    assert (paid.providers0, paid.providers1) == (paid.gross0, paid.gross1)
    # A step takes ceil(in · fee / (10^6 − fee)); told from the input with the fee it is the same,
    # give or take a unit.
    before_fee = swap.amount_in - (paid.gross0 + paid.gross1)
    assert abs(-(-before_fee * fee // (10**6 - fee)) - (paid.gross0 + paid.gross1)) <= 1


def test_each_direction_pays_in_its_own_currency() -> None:
    low, high = sqrt_price_at_tick(0), sqrt_price_at_tick(1000)
    up, down = swap_between(low, high), swap_between(high, low)
    assert fees_of_swap(up, FREE)._replace(gross1=0, providers1=0) == SwapFees()
    assert fees_of_swap(down, FREE)._replace(gross0=0, providers0=0) == SwapFees()
    assert fees([up, down], FREE) == fees_of_swap(up, FREE).plus(fees_of_swap(down, FREE))


@pytest.mark.parametrize(
    ("key_fee", "now"),
    [
        (3000, ProtocolFee(1000, 500)),
        (DYNAMIC_FEE, ProtocolFee(1000, 500)),
        # The protocol fee has changed since: the total of a static pool still tells it.
        (3000, ProtocolFee(0, 0)),
    ],
)
def test_the_protocol_takes_its_pips_of_the_input(key_fee: int, now: ProtocolFee) -> None:
    low, high = sqrt_price_at_tick(0), sqrt_price_at_tick(1000)
    swap = swap_between(high, low, fee=swap_fee(1000, 3000))
    paid = fees_of_swap(swap, FeeTerms(key_fee, now))
    assert paid.gross0 == -(-swap.amount_in * 3997 // 10**6)
    assert paid.gross0 - paid.providers0 == swap.amount_in * 1000 // 10**6


def test_where_all_goes_to_the_protocol_providers_get_nothing() -> None:
    low, high = sqrt_price_at_tick(0), sqrt_price_at_tick(1000)
    swap = swap_between(high, low, fee=1000)
    paid = fees_of_swap(swap, FeeTerms(0, ProtocolFee(1000, 1000)))
    assert paid.gross0 > 0
    assert paid.providers0 == 0
