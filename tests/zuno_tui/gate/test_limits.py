"""`[limits]` in settings.toml: what it may say, and what holds where it says nothing."""

from __future__ import annotations

import pytest

from zuno_tui.gate.limits import gate_limits
from zuno_tui.settings import SettingsError

HOOK = "0x" + "Ab" * 20


def test_without_a_table_the_products_own_bounds_hold() -> None:
    limits = gate_limits({})

    assert limits.policy.max_fee_per_gas == 300 * 10**9
    assert limits.policy.value == 100 * 10**18
    assert limits.policy.daily_notional is None
    assert limits.allowed_hooks == frozenset()


def test_a_table_sets_each_of_them() -> None:
    limits = gate_limits(
        {"max_fee_gwei": 2.5, "value_eth": 3, "daily_usd": 1000, "allowed_hooks": [HOOK]}
    )

    assert limits.policy.max_fee_per_gas == 2_500_000_000
    assert limits.policy.value == 3 * 10**18
    assert limits.policy.daily_notional == 1_000_000_000
    assert limits.allowed_hooks == {HOOK.lower()}


@pytest.mark.parametrize(
    "table",
    [
        {"daily_usd": 0},
        {"daily_usd": -1},
        {"daily_usd": "1000"},
        {"max_fee_gwei": True},
        {"max_fee_gwei": float("nan")},
        {"value_eth": float("inf")},
        {"allowed_hooks": HOOK},
        {"allowed_hooks": ["0x12"]},
        {"allowed_hooks": [7]},
        {"dayly_usd": 5},
    ],
)
def test_what_cannot_be_meant_is_named(table: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=f"limits.{next(iter(table))}"):
        gate_limits(table)
