"""The limits a person sets on what may be signed: `[limits]` in settings.toml."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.execution.policy.context import PolicyLimits
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.contracts.networks import Address, Network

_GWEI = 10**9
_MICRO = 10**6
_WEI = 10**18
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_VALUE_USD = 250_000
_KNOWN = ("max_fee_gwei", "value_usd", "daily_usd", "allowed_hooks")


class GateLimits(Struct, frozen=True):
    policy: PolicyLimits
    """What holds while nobody knows what a coin is worth."""
    value_usd: float
    """Dollars of the network's own coin that one step may send along."""
    allowed_hooks: frozenset[Address]

    def at_price(self, usd_per_wei: float | None) -> PolicyLimits:
        """The limits with the coins that are worth `value_usd` now."""
        if usd_per_wei is None or usd_per_wei <= 0:
            return self.policy
        return replace(self.policy, value=int(Fraction(self.value_usd) / Fraction(usd_per_wei)))


def gate_limits(table: Mapping[str, object], network: Network) -> GateLimits:
    """What the table says, and what suits the network where it says nothing."""
    for key in table:
        if key not in _KNOWN:
            raise SettingsError(f"limits.{key} is unknown. It may hold: {', '.join(_KNOWN)}.")
    daily = _positive(table, "daily_usd")
    fee = _positive(table, "max_fee_gwei")
    return GateLimits(
        PolicyLimits(
            max_fee_per_gas=network.max_fee_per_gas if fee is None else int(fee * _GWEI),
            value=network.value_without_price * _WEI,
            daily_notional=None if daily is None else int(daily * _MICRO),
        ),
        _positive(table, "value_usd") or _VALUE_USD,
        _hooks(table.get("allowed_hooks", [])),
    )


def _positive(table: Mapping[str, object], key: str) -> float | None:
    value = table.get(key)
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
