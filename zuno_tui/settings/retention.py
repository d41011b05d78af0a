"""How long plans, records and what was read of the chain are kept: `[retention]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from zuno_tui.settings.load import SettingsError, refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_DAYS = 36_500
LEAST_MEGABYTES, MOST_MEGABYTES = 10, 1_000_000


class RetentionSettings(Struct, frozen=True):
    days: int = 365
    """Of plans and records: a year of advice can be looked up and scored."""
    megabytes: int = 1_024
    """Of records: a debate takes 25 kB to about a megabyte, the busier the pool the more."""
    memory_days: int = 14
    """Of a pool's swaps that nobody asked for since; they can be read from the chain again."""


def retention_settings(table: Mapping[str, object]) -> RetentionSettings:
    default = RetentionSettings()
    refuse_unknown("retention", table, ("days", "megabytes", "memory_days"))
    return RetentionSettings(
        days=_whole(table, "days", default.days, 1, MOST_DAYS),
        megabytes=_whole(table, "megabytes", default.megabytes, LEAST_MEGABYTES, MOST_MEGABYTES),
        memory_days=_whole(table, "memory_days", default.memory_days, 1, MOST_DAYS),
    )


def _whole(table: Mapping[str, object], name: str, default: int, least: int, most: int) -> int:
    value = table.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SettingsError(f"retention.{name} must be a whole number from {least} to {most}.")
    return value
