"""Numbers that are said in words, in part or whole: `five hundred`, `2.5 million`, `a third`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chain.base.numerals import NumeralError, read_numeral, spelled_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = {
    **dict.fromkeys(("k", "thousand", "grand", "thousands"), "k"),
    **dict.fromkeys(("million", "millions", "mil", "mln", "mio", "mm"), "m"),
}
_DIGITS = re.compile(r"[+-]?\$?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)", re.ASCII)
_GLUED_SCALE = re.compile(rf"({_DIGITS.pattern})(thousand|grand|million|mil|mln|mio|mm)", re.ASCII)
_GLUED_RANGE = re.compile(
    r"(?<![0-9.,])([0-9]+(?:\.[0-9]+)?)([-–/]|\.\.)([0-9]+(?:\.[0-9]+)?)([km])",
    re.ASCII | re.IGNORECASE,
)
_INTRODUCING = frozenset(("between", "from", "range"))
_JOINING = frozenset(("and", "to", "-", "–", "until"))
PARTS = (
    (("three", "quarters"), 75),
    (("three", "quarter"), 75),
    (("two", "thirds"), 66),
    (("one", "half"), 50),
    (("one", "quarter"), 25),
    (("one", "third"), 33),
    (("half",), 50),
    (("halve",), 50),
    (("quarter",), 25),
    # Never more than was said.
    (("third",), 33),
    (("two", "fifths"), 40),
    (("three", "fifths"), 60),
    (("four", "fifths"), 80),
    (("one", "fifth"), 20),
    (("nine", "tenths"), 90),
    (("one", "tenth"), 10),
    (("fifth",), 20),
    (("sixth",), 16),
    (("eighth",), 12),
    (("tenth",), 10),
)
"""Parts of something, in percent."""
ROUNDED_DOWN = frozenset((66, 33, 16, 12))
"""Of what is to stay, one percent more: never less than was said."""


def with_scales(words: Sequence[str]) -> tuple[str, ...]:
    """`5 million` as `5m` and `5 hundred` as `500`, so that no number loses its scale."""
    return _shared(tuple(_scaled(_with_hundreds(words))))


def _shared(words: tuple[str, ...]) -> tuple[str, ...]:
    """`between 2.8 and 3.4k`, `2.8-3.4k`: the scale of the second is the first's too."""
    joined = [_GLUED_RANGE.sub(_with_same_scale, word) for word in words]
    for place in range(len(joined) - 2):
        introduced = place > 0 and joined[place - 1].lower() in _INTRODUCING
        low, join, high = joined[place : place + 3]
        if join.lower() in _JOINING and (introduced or join in "-–") and low[:1].isdigit():
            joined[place] = _GLUED_RANGE.sub(_with_same_scale, f"{low}-{high}").split("-")[0]
    return tuple(joined)


def _with_same_scale(ends: re.Match[str]) -> str:
    if float(ends[1]) >= float(ends[3]):
        return ends[0]
    return f"{ends[1]}{ends[4]}{ends[2]}{ends[3]}{ends[4]}"


def _with_hundreds(words: Sequence[str]) -> tuple[str, ...]:
    joined: list[str] = []
    for word in words:
        if word.lower() == "hundred" and joined and joined[-1].isascii() and joined[-1].isdigit():
            joined[-1] += "00"
        else:
            joined.append(word)
    return tuple(joined)


def _scaled(words: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(words):
        word = words[at]
        glued = _GLUED_SCALE.fullmatch(word.lower())
        scale = _scale_at(words, at + 1)
        if glued is not None:
            yield f"{glued[1]}{_SCALES[glued[2]]}"
        elif scale is not None and _DIGITS.fullmatch(word):
            yield f"{word}{scale}"
            at += 1
        else:
            yield word
        at += 1


def _scale_at(words: Sequence[str], at: int) -> str | None:
    """A lone m is a million where something is counted by it, and else may be minutes."""
    if at >= len(words):
        return None
    counting = words[at].lower() == "m" and at + 1 < len(words) and words[at - 2] != "for"
    return "m" if counting else _SCALES.get(words[at].lower())


def worded_number(words: Sequence[str]) -> tuple[int, int] | None:
    """The number that the first words say, and how many words say it; hyphens may join them."""
    total = group = taken = 0
    for word in words:
        pieces = [_below_hundred(piece) for piece in word.split("-")]
        if word == "hundred":
            group = max(group, 1) * 100
        elif (scale := _SCALES.get(word)) is not None and len(word) > 1:
            total, group = total + max(group, 1) * (1_000 if scale == "k" else 1_000_000), 0
        elif all(piece is not None for piece in pieces):
            group += sum(piece or 0 for piece in pieces)
        else:
            break
        taken += 1
    return (total + group, taken) if taken else None


def _below_hundred(word: str) -> int | None:
    if word in _UNITS:
        return _UNITS.index(word)
    return 10 * (_TENS.index(word) + 2) if word in _TENS else None


def plain_number(typed: str) -> str:
    """`2.9k` and `$2,900` as 2900; as it stands where nobody can be sure of it."""
    try:
        return spelled_out(read_numeral(typed.removeprefix("$").rstrip(",")))
    except NumeralError:
        return typed
