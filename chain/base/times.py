"""Moments of the chain in words."""

from __future__ import annotations

from datetime import UTC, datetime

LAST_SECOND = 253_402_300_799
"""Of the year 9999: what lasts longer, such as an allowance without an end, is told as a number."""


def time_text(second: int) -> str:
    if second > LAST_SECOND:
        return f"second {second}"
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S} UTC"


def minute_text(second: int) -> str:
    """The same to the minute, for a line."""
    if second > LAST_SECOND:
        return f"second {second}"
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M} UTC"
