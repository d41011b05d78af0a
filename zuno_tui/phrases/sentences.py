"""The turns of speech that refusals share: lists, and the nearest word to one nobody knows."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_OFFERS = 6


def listed(names: Iterable[str]) -> str:
    """At least one name, as `a`, `a and b` or `a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def choose_one(kind: str, names: Iterable[str]) -> str:
    return f"Different {kind} are named, {listed(names)}: choose one."


def unknown(words: Iterable[str], known: Iterable[str]) -> str:
    """Every unknown word, and the nearest known one beside the first few."""
    spelled = {item.lower(): item for item in known}
    different = list(dict.fromkeys(words))
    first, rest = different[:_MOST_OFFERS], different[_MOST_OFFERS:]
    return listed((*(f"{word!r}{_offer(word, spelled)}" for word in first), *map(repr, rest)))


def _offer(word: str, spelled: dict[str, str]) -> str:
    close = get_close_matches(word.lower(), spelled, 1)
    return f" (did you mean {spelled[close[0]]!r}?)" if close else ""
