"""Words with one slip of the fingers in them."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from chain.base.spelling import one_slip_apart
from zuno_tui.phrases.spoken.lexicon import forms, single_words
from zuno_tui.phrases.spoken.number_words import PARTS
from zuno_tui.phrases.spoken.sentence import symbols_anywhere

if TYPE_CHECKING:
    from zuno_tui.phrases.spoken.topics import Topic

_DECIMAL_COMMA = re.compile(r"([+-]?\$?[0-9]+),([0-9]{1,2}[km]?)", re.ASCII)
"""Commas group thousands: before one or two digits, a point was meant."""
_SHORTEST = 3
_SHORTEST_OF_ANY = 4
_AMOUNTS = ("half", "quarter", "third", "percent")
_PARTS = frozenset((*_AMOUNTS, *(word for words, _ in PARTS for word in words)))
_TELLING = (
    *("range", "position", "positions", "price", "alerts", "impermanent", "should", "between"),
    *("below", "above", "week", "month", "today", "pools", "drops", "falls", "rises", "without"),
    *("everything", "except"),
)
"""Words without which a sentence may say something else."""


def without_slips(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words with those mended that tell how much, or what it is about; and which these were."""
    found = tuple(_meant(word) for word in words)
    return found, tuple(word for word, meant in zip(words, found, strict=True) if word != meant)


@cache
def topics_but_for_slip(word: str) -> tuple[Topic, ...] | None:
    """What the one known word says that a slip leads to; None where there is none, or several."""
    if len(word) < _SHORTEST_OF_ANY:
        return None
    close = forms_but_for_slip(word)
    meant = {forms()[known,] for known in close}
    begun = any(_begins_alike(word, known) for known in close)
    return next(iter(meant)) if len(meant) == 1 and begun else None


def forms_but_for_slip(word: str) -> tuple[str, ...]:
    """The forms of one word that a slip leads to; a slip in its first letter is looked up whole."""
    index = _forms_by_beginning()
    begun = (*index.get(word[:1], ()), *index.get(word[1:2], ()))
    near = {*begun, *index.get(f"?{word[1:]}", ()), *index.get(f"?{word}", ())}
    return tuple(known for known in sorted(near) if one_slip_apart(word, known))


@cache
def _forms_by_beginning() -> dict[str, list[str]]:
    """By their first letter, and by what follows it."""
    found: dict[str, list[str]] = {}
    for form in forms():
        if len(form) == 1:
            found.setdefault(form[0][:1], []).append(form[0])
            found.setdefault(f"?{form[0][1:]}", []).append(form[0])
    return found


def _begins_alike(word: str, known: str) -> bool:
    """The first letter is seldom the one that slips: `rather` is no slip of gather."""
    return word[:1] == known[:1] or word[:2] == known[1::-1]


@cache
def _meant(word: str) -> str:
    if (comma := _DECIMAL_COMMA.fullmatch(word)) is not None:
        return f"{comma[1]}.{comma[2]}"
    known = word in single_words() or word in _PARTS or word.upper() in symbols_anywhere()
    if not word.isalpha() or known or len(word) < _SHORTEST:
        return word
    named = _AMOUNTS if len(word) < _SHORTEST_OF_ANY else (*_AMOUNTS, *_TELLING)
    close = [one for one in named if one_slip_apart(word, one)]
    return close[0] if len(close) == 1 else word
