"""Who gets what of a swap's fee."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.base.units import PIPS
from chain.math.fees import (
    ProtocolFee,
    protocol_fee_within,
    swap_fee,
    unpack_protocol_fee,
)

lp_fees = st.integers(0, PIPS)
protocol_fees = st.integers(0, 1000)


@pytest.mark.parametrize(
    ("protocol", "lp", "total"),
    [(0, 3000, 3000), (1000, 3000, 3997), (50, 500, 550), (1000, PIPS, PIPS), (1000, 0, 1000)],
)
def test_the_protocol_takes_first(protocol: int, lp: int, total: int) -> None:
    assert swap_fee(protocol, lp) == total


def test_each_direction_has_its_own_protocol_fee() -> None:
    fee = unpack_protocol_fee(1000 << 12 | 250)
    assert fee == ProtocolFee(zero_for_one=250, one_for_zero=1000)
    assert fee.towards(zero_for_one=True) == 250
    assert fee.towards(zero_for_one=False) == 1000


@given(protocol_fees, lp_fees)
def test_the_protocol_fee_can_be_told_from_the_total(protocol: int, lp: int) -> None:
    total = swap_fee(protocol, lp)
    found = protocol_fee_within(total, lp)
    assert found is not None
    assert swap_fee(found, lp) == total
    if lp <= PIPS // 10:
        assert abs(found - protocol) <= 1


@pytest.mark.parametrize(("total", "lp"), [(2999, 3000), (0, 1), (999_999, PIPS)])
def test_a_total_below_the_lp_fee_has_no_protocol_fee(total: int, lp: int) -> None:
    assert protocol_fee_within(total, lp) is None
