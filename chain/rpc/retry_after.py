"""The Retry-After header: a number of seconds, or a date."""

from __future__ import annotations

_MOST_DIGITS = 9


def seconds_asked(header: str | None, now: float) -> float | None:
    """Seconds to wait from `now` by the wall's clock; None where the header says nothing clear."""
    if header is None:
        return None
    given = header.strip()
    if given.isascii() and given.isdigit():
        return float(given[:_MOST_DIGITS])
    from email.utils import parsedate_to_datetime  # 15 ms that only a rate limit is worth

    try:
        moment = parsedate_to_datetime(given).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment - now)
