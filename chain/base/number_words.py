"""Numbers in the agents' own sentences: short, with their unit, `unknown` when there is none."""

from __future__ import annotations

UNKNOWN = "unknown"

_LONGEST_HOURS = 48
_LONG_UNITS = (("days", 14, 1), ("weeks", 9, 7), ("months", 24, 30.44), ("years", 100, 365.25))
"""Names, the count from which the next is said, and their length in days."""


def hours(value: float | None) -> str:
    """As people say it: `12 min`, `30 h`, `2.5 days`, `3 weeks`, `5 months`, `4 years`."""
    if value is None:
        return UNKNOWN
    if 0 < value < 1:
        return f"{60 * value:.2g} min" if value * 60 >= 1 else "under a minute"
    if value < _LONGEST_HOURS:
        return f"{value:.3g} h"
    for unit, longest, length in _LONG_UNITS:
        count = value / 24 / length
        if count < longest - 0.5:
            return f"{count:.2g} {unit}" if unit == "days" else f"{count:.0f} {unit}"
    return "over 100 years"


def percent(part: float | None) -> str:
    return UNKNOWN if part is None else f"{100 * part:.3g} %"


def usd(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    sign = "−" if value < 0 else ""
    return f"{sign}${abs(value):,.2f}" if abs(value) >= 0.01 or value == 0 else f"{sign}<$0.01"
