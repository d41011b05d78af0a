"""A sentence without what only makes it polite: lower case, no contractions, no filling words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CONTRACTIONS = {
    "what's": "what is",
    "whats": "what is",
    "how's": "how is",
    "hows": "how is",
    "where's": "where is",
    "it's": "it is",
    "that's": "that is",
    "i'm": "i am",
    "i've": "i have",
    "i'd": "i would",
    "don't": "do not",
    "dont": "do not",
    "can't": "can not",
    "won't": "will not",
    "gimme": "give",
    "wanna": "want to",
    "lemme": "let me",
    "pct": "percent",
    "out-of-range": "out of range",
}
_FILLING = frozenset(
    (
        *("please", "pls", "plz", "kindly", "thanks", "thx", "now", "right", "just", "currently"),
        *("a", "an", "the", "my", "our", "me", "still", "hey", "hi", "zuno", "ok", "okay", "ser"),
        *("so", "actually", "again", "immediately", "asap", "today's"),
    )
)
_OPENINGS = (
    ("can", "you"),
    ("could", "you"),
    ("would", "you"),
    ("will", "you"),
    ("can", "we"),
    ("can", "i", "see"),
    ("can", "i"),
    ("could", "i"),
    ("let's",),
    ("lets",),
    ("let",),
    ("go", "and"),
    ("i", "want", "you", "to"),
    ("i", "want", "to"),
    ("i", "want"),
    ("i", "need", "to"),
    ("i", "need"),
    ("i", "would", "like", "to"),
    ("i", "would", "like"),
    ("we", "want", "to"),
    ("time", "to"),
    ("do", "you", "know"),
    ("thank", "you"),
)
_ENDINGS = (("thank", "you"), ("for", "me"), ("at", "moment"), ("at", "once"), ("for",))


def plain_words(words: Iterable[str]) -> str:
    """One space between words; a sentence of nothing but courtesies is empty."""
    spread = " ".join(_CONTRACTIONS.get(word.lower(), word.lower()) for word in words).split()
    left = tuple(word for word in spread if word not in _FILLING)
    return " ".join(_without_ending(_without_opening(left)))


def _without_opening(words: tuple[str, ...]) -> tuple[str, ...]:
    for opening in _OPENINGS:
        if words[: len(opening)] == opening:
            return _without_opening(words[len(opening) :])
    return words


def _without_ending(words: tuple[str, ...]) -> tuple[str, ...]:
    for ending in _ENDINGS:
        if len(words) > len(ending) and words[-len(ending) :] == ending:
            return _without_ending(words[: -len(ending)])
    return words
