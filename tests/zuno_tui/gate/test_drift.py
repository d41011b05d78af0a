"""Every kind of drift at its edge: what is refused, and what is let through."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chain.execution.plan.sizing import price_band
from zuno_tui.gate.drift import DriftLimits, WalletState, drifts

PRICE = 3 << 96
LIQUIDITY = 10**18
BAND = price_band(PRICE, 50)
BEFORE = WalletState(
    owner="0x" + "11" * 20,
    liquidity=LIQUIDITY,
    pool_id="0x" + "22" * 32,
    hook_code="0x" + "33" * 32,
    subscriber=None,
    sqrt_price_x96=PRICE,
    pool_fee=3000,
    nonce=7,
    base_fee=10**9,
)
BOUNDS = DriftLimits(BAND.lowest, BAND.highest, max_fee_per_gas=2 * 10**9, expires_at=1_000_600)


def _names(after: WalletState) -> list[str]:
    return [drift.what for drift in drifts(BEFORE, after, BOUNDS)]


def test_nothing_changed() -> None:
    assert _names(BEFORE) == []


@pytest.mark.parametrize(
    ("after", "what"),
    [
        (replace(BEFORE, owner="0x" + "44" * 20), "owner"),
        (replace(BEFORE, liquidity=LIQUIDITY - 1), "liquidity"),
        (replace(BEFORE, liquidity=LIQUIDITY + 1), "liquidity"),
        (replace(BEFORE, pool_id="0x" + "55" * 32), "pool"),
        (replace(BEFORE, hook_code="0x" + "66" * 32), "hook code"),
        (replace(BEFORE, hook_code=None), "hook code"),
        (replace(BEFORE, subscriber="0x" + "77" * 20), "subscriber"),
        (replace(BEFORE, nonce=8), "nonce of the wallet"),
        (replace(BEFORE, nonce=6), "nonce of the wallet"),
        (replace(BEFORE, sqrt_price_x96=BAND.highest + 1), "pool price"),
        (replace(BEFORE, sqrt_price_x96=BAND.lowest - 1), "pool price"),
        (replace(BEFORE, pool_fee=50_001), "pool fee"),
        (replace(BEFORE, base_fee=2 * 10**9 + 1), "base fee"),
    ],
)
def test_one_step_past_its_bound_is_refused(after: WalletState, what: str) -> None:
    assert _names(after) == [what]


@pytest.mark.parametrize(
    "after",
    [
        replace(BEFORE, sqrt_price_x96=BAND.highest),
        replace(BEFORE, sqrt_price_x96=BAND.lowest),
        replace(BEFORE, pool_fee=50_000),
        replace(BEFORE, pool_fee=0),
        replace(BEFORE, base_fee=2 * 10**9),
        replace(BEFORE, base_fee=0),
    ],
)
def test_what_stays_within_its_bound_is_let_through(after: WalletState) -> None:
    assert _names(after) == []


def test_every_drift_is_told_with_before_and_after() -> None:
    moved = replace(BEFORE, nonce=9, base_fee=3 * 10**9, sqrt_price_x96=4 << 96, pool_fee=1_000_000)

    told = [str(drift) for drift in drifts(BEFORE, moved, BOUNDS)]

    assert told == [
        "nonce of the wallet: 7 when approved, 9 now",
        "pool price: let move by -0.500% to +0.500% when approved, +77.778% and past that now",
        "pool fee: 0.3% when approved, 100% now",
        "base fee: at most 2000000000 wei a gas when approved, 3000000000 wei a gas now",
    ]


def test_a_pool_that_was_too_dear_before_may_still_be_left() -> None:
    dear = replace(BEFORE, pool_fee=1_000_000)

    assert drifts(dear, dear, BOUNDS) == ()


def test_what_is_not_about_a_pool_has_no_price_to_drift() -> None:
    wallet = replace(
        BEFORE,
        owner=None,
        liquidity=None,
        pool_id=None,
        hook_code=None,
        sqrt_price_x96=None,
        pool_fee=None,
    )

    assert drifts(wallet, wallet, replace(BOUNDS, highest_sqrt_price=0)) == ()
    assert [drift.what for drift in drifts(wallet, BEFORE, BOUNDS)] == [
        "owner",
        "liquidity",
        "pool",
        "hook code",
    ]
