"""What is kept of what leaves a position: told to the unit, judged to the rounding."""

from __future__ import annotations

import pytest

from chain.execution.exit_tax import ExitTax

TOKEN = "0x" + "ab" * 20


def _kept(owed: int, kept: int) -> ExitTax:
    return ExitTax(TOKEN, owed, owed - kept, by_hook=True)


@pytest.mark.parametrize(("owed", "share"), [(10**18, 20_000), (10**18 + 7, 20_000), (999, 1)])
def test_the_same_share_of_any_amount_is_the_same(owed: int, share: int) -> None:
    for amount in (owed, owed + 1, owed * 3 // 2):
        assert not _kept(amount, amount * share // 10**6).exceeds(share)


def test_one_basis_point_more_is_more() -> None:
    assert _kept(10**18, 10**18 * 201 // 10_000).exceeds(20_000)
    assert not _kept(10**18, 10**18 * 199 // 10_000).exceeds(20_000)


def test_a_share_is_rounded_against_whoever_keeps_it() -> None:
    assert _kept(10**18, 1).millionths == 1
    assert _kept(10**18, 10**16).millionths == 10_000
