"""A day as people write it: 1 Dec, 2026-12-01, March, in 14d."""

import re
from datetime import UTC, datetime

from chain.base.units import DAY

_DAYS = ("%Y-%m-%d", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y", "%b %Y", "%B %Y")
_DAYS_OF_A_YEAR = ("%d %b", "%d %B", "%b %d", "%B %d", "%b", "%B")
_SPAN = re.compile(r"([0-9]{1,4}) ?(d|days?|w|weeks?)", re.ASCII)


def read_day(text: str, now: int) -> int | None:
    """The beginning of that day, Unix seconds; without a year the next one that comes."""
    words = " ".join(text.replace(",", " ").split()).rstrip(".")
    if span := _SPAN.fullmatch(words.lower().removeprefix("in ")):
        return now + int(span[1]) * (7 * DAY if span[2].startswith("w") else DAY)
    for form in _DAYS:
        if (day := _written(words, form)) is not None:
            return day
    year = datetime.fromtimestamp(now, UTC).year
    for form in _DAYS_OF_A_YEAR:
        for each in (year, year + 1):
            day = _written(f"{words} {each}", f"{form} %Y")
            if day is not None and day > now:
                return day
    return None


def _written(text: str, form: str) -> int | None:
    try:
        return int(datetime.strptime(f"{text} +0000", f"{form} %z").timestamp())
    except ValueError:
        return None
