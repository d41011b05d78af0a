"""Ages as a calm screen shows them: in steps that rarely change, never as a ticking counter."""

from __future__ import annotations

from zuno_tui.words import age_text

REDRAW_SECONDS = 15
_FRESH_SECONDS = 20
_MINUTE = 60


def coarse_age(seconds: float) -> str:
    """`just now`, `<1 min`, `1 min` … `5 min`, `10 min` … `2 h`, `3 d`."""
    if seconds < _FRESH_SECONDS:
        return "just now"
    if seconds < _MINUTE:
        return "<1 min"
    minutes = int(seconds) // _MINUTE
    if minutes > 5:
        minutes -= minutes % 5
    return "1 min" if minutes == 1 else age_text(minutes * _MINUTE)


def ago(seconds: float) -> str:
    age = coarse_age(seconds)
    return age if age == "just now" else f"{age} ago"
