"""Lengths of time as people write them: `2h`, `90 minutes`, `a day`."""

from __future__ import annotations

import re

LONGEST_SECONDS = 366 * 86_400

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_NAMES = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("w", "week", "weeks"), "w"),
}
_DURATION = re.compile(r"(?P<count>an?|[0-9]{1,6})\s*(?P<unit>[a-z]+)", re.ASCII)


def read_duration(text: str) -> int | None:
    """Whole seconds; None for what is no length of time, or longer than a year."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None or match["unit"] not in _NAMES:
        return None
    count = 1 if match["count"].startswith("a") else int(match["count"])
    seconds = count * _SECONDS[_NAMES[match["unit"]]]
    return seconds if 0 < seconds <= LONGEST_SECONDS else None
