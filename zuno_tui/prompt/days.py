"""Days, months and years among the words of a sentence, and as commands take them."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from chain.base.units import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zuno_tui.prompt.words import SentenceToken

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_SHORT = frozenset(("may", "sept", *(month[:3] for month in _MONTHS)))
"""Words that are a month only beside a day, or behind a word that introduces one."""
_INTRODUCES = frozenset(
    "until till by before since from to through after of in on during for between and".split()  # noqa: SIM905
)
_DAY = r"[0-9]{1,2}(?: (?:st|nd|rd|th))?(?: of)?"
_YEAR = r"20[0-9]{2}"
_MONTH = "|".join(sorted((*_MONTHS, *_SHORT), key=len, reverse=True))
_WRITTEN = re.compile(
    rf"{_YEAR} - [0-9]{{1,2}} - [0-9]{{1,2}}"
    rf"|{_DAY} (?:{_MONTH})(?: {_YEAR})?(?![\w.])"
    rf"|(?:{_MONTH}) {_DAY}(?: ,? ?{_YEAR})?(?![\w.%])(?! (?:%|[a-z]*(?:eth|btc|usd)))"
    rf"|(?:{_MONTH})(?: {_YEAR})?(?![\w.])"
)
_YEAR_ALONE = re.compile(rf"{_YEAR}(?! (?:%|- |to |[a-z]*(?:eth|btc|usd|dai)))(?![\w.,])")
_BEFORE_YEAR = frozenset(("in", "for", "of", "since", "during", "year", "tax", "taxes", "csv"))
_LONGEST = 6


def day_length(tokens: Sequence[SentenceToken], before: str) -> int:
    """How many tokens name a day, month or year here; 0 where none does."""
    words = [token.text for token in tokens[:_LONGEST]]
    text = " ".join(words)
    found = _WRITTEN.match(text) or (before in _BEFORE_YEAR and _YEAR_ALONE.match(text))
    if not found:
        return 0
    # `dec 26 by 10%` decreases, `may i` asks.
    said = words[0] not in _SHORT or before in _INTRODUCES
    return found[0].count(" ") + 1 if said else 0


def day_text(tokens: Sequence[SentenceToken]) -> str:
    """`the 1st of dec` as `1 dec`, `2026 - 2 - 1` as `2026-02-01`."""
    words = [token.text for token in tokens if token.text not in ("st", "nd", "rd", "th", "of")]
    if "-" in words:
        return "-".join(f"{word:0>2}" for word in words if word != "-")
    return " ".join(word for word in words if word != ",")


def span_of(days: Sequence[str], words: Sequence[str]) -> tuple[str, str]:
    """The first and the last day that are meant, as 2026-01-31; empty where it stays open."""
    spans = [span for span in map(_first_and_last, days) if span is not None]
    if not spans or len(spans) != len(days) or len(days) > 2:
        return "", ""
    first, last = spans[0][0], spans[-1][1]
    if len(days) == 1 and not {"since", "after"}.isdisjoint(words):
        return first, ""
    return ("", last) if len(days) == 1 and not _ENDING.isdisjoint(words) else (first, last)


_ENDING = frozenset(("until", "till", "before", "by"))


def _first_and_last(day: str) -> tuple[str, str] | None:
    """Of a day, a month or a year; of a month without its year it cannot be told."""
    if re.fullmatch(_YEAR, day):
        return f"{day}-01-01", f"{day}-12-31"
    if (seconds := read_day(day, 0)) is None or not re.search(_YEAR, day):
        return None
    first = datetime.fromtimestamp(seconds, UTC)
    whole = not re.search(r"\b[0-9]{1,2}\b", day)
    last = monthrange(first.year, first.month)[1] if whole else first.day
    return f"{first:%Y-%m-%d}", f"{first:%Y-%m}-{last:02}"


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
