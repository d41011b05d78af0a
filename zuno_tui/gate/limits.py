"""The limits a person sets on what may be signed: `[limits]` in settings.toml."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.execution.policy_context import Limits
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.networks import Address

_GWEI = 10**9
_MICRO = 10**6
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_MAX_FEE_GWEI = 300
_KNOWN = ("max_fee_gwei", "value_eth", "daily_usd", "allowed_hooks")


@dataclass(frozen=True, slots=True)
class GateLimits:
    policy: Limits
    allowed_hooks: frozenset[Address]


def gate_limits(table: Mapping[str, object]) -> GateLimits:
    """What the table says, and the product's own bounds where it says nothing."""
    for key in table:
        if key not in _KNOWN:
            raise SettingsError(f"limits.{key} is unknown. It may hold: {', '.join(_KNOWN)}.")
    daily = _positive(table, "daily_usd", None)
    value = _positive(table, "value_eth", 100)
    fee = _positive(table, "max_fee_gwei", _MAX_FEE_GWEI)
    return GateLimits(
        Limits(
            max_fee_per_gas=int((fee or 0) * _GWEI),
            value=int((value or 0) * 10**18),
            daily_notional=None if daily is None else int(daily * _MICRO),
        ),
        _hooks(table.get("allowed_hooks", [])),
    )


def _positive(table: Mapping[str, object], key: str, default: float | None) -> float | None:
    value = table.get(key, default)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**53:
        raise SettingsError(f"limits.{key} must be a number above 0.")
    return value


def _hooks(value: object) -> frozenset[Address]:
    if not isinstance(value, list) or not all(
        isinstance(each, str) and _ADDRESS.fullmatch(each) for each in value
    ):
        raise SettingsError('limits.allowed_hooks must be a list of addresses, like ["0x…"].')
    return frozenset(each.lower() for each in value)
