"""Numbers in the agents' own sentences: short, with their unit, `unknown` when there is none."""

from __future__ import annotations

UNKNOWN = "unknown"


def hours(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3g} h"


def percent(part: float | None) -> str:
    return UNKNOWN if part is None else f"{100 * part:.3g} %"


def usd(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    sign = "−" if value < 0 else ""
    return f"{sign}${abs(value):,.2f}" if abs(value) >= 0.01 or value == 0 else f"{sign}<$0.01"
