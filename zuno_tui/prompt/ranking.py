"""How near each command line is to a sentence: what it says speaks for some and against others.

What each idea says for a line is fitted to phrases whose line is known; tools/fit_phrases.py does
it, and writes the weights.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from msgspec import Struct, convert

from zuno_tui.prompt.words import grammar

_FARTHEST = 150
_FALL = (904_837, 10**6)
"""What a tenth less of weight leaves: e to the power of -0.1."""
_CONDITIONAL = frozenset(("alert", "mute", "what-if"))
_OF_TWO_WORDS = ("orders ", "cancel ", "wallet ", "safe ", "mesh ", "order ")
_OF_POSITIONS = ("{several}", "{each}", "{one}")
_MOST, _WHOLE = 4, 100


class LineRow(NamedTuple):
    line: str
    acts: bool
    """Whether it moves money or changes something: a question never comes to it."""

    @property
    def verb(self) -> str:
        # `orders` and `cancel` are looks, `orders stop` and `cancel order 2` are not.
        several = self.line.startswith(_OF_TWO_WORDS) and not self.is_conditional
        return self.line.partition("{")[0].strip() if several else self.line.split()[0]

    @property
    def is_conditional(self) -> bool:
        """Whether a condition is part of what is said, as in `tell me when`."""
        return self.line.startswith("order ") or self.line.split()[0] in _CONDITIONAL

    @property
    def is_answered(self) -> bool:
        return self.line[0] in "=?"

    def may_be(self, said: frozenset[str]) -> bool:
        """An act is meant only where a word of it was said."""
        known = grammar().needs
        terms = (known.get(self.line) or known.get(self.line.split()[0], "")).split()
        needs = [term for term in terms if term[0] != "-"]
        if any(term[1:] in said for term in terms if term[0] == "-"):
            return False
        # One token for another is a swap; what names no position does nothing to one.
        turned = "#turned" in said and said.isdisjoint(("#id", "fees")) and self.acts
        of_position = turned and any(slot in self.line for slot in _OF_POSITIONS)
        return not of_position and (not needs or not said.isdisjoint(needs))


class RankedRow(NamedTuple):
    row: LineRow
    share: int
    """How likely it is the one that is meant, in percent."""


class _Weights(Struct, frozen=True, forbid_unknown_fields=True):
    acts: dict[str, str]
    looks: dict[str, str]


@cache
def line_rows() -> tuple[LineRow, ...]:
    return tuple(LineRow(line, acts=line in _written().acts) for line in _lines())


def _lines() -> dict[str, str]:
    return _written().acts | _written().looks


@cache
def _written() -> _Weights:
    text = files("zuno_tui.prompt").joinpath("weights.toml").read_text("utf-8")
    return convert(tomllib.loads(text), _Weights)


@cache
def _says() -> Mapping[str, tuple[tuple[int, int], ...]]:
    """By what is said: the places of the lines for which it says something, and how much."""
    found: dict[str, list[tuple[int, int]]] = {}
    for place, written in enumerate(_lines().values()):
        parts = written.split()
        for idea, weight in zip(parts[::2], parts[1::2], strict=True):
            found.setdefault(idea, []).append((place, int(weight)))
    return {idea: tuple(weights) for idea, weights in found.items()}


def says_for(idea: str, line: str) -> int:
    """How much an idea says for a line; below zero it speaks against it."""
    places = dict(_says().get(idea, ()))
    return places.get([*_lines()].index(line), 0)


@cache
def _parts() -> tuple[int, ...]:
    """How likely a line is that many tenths behind the likeliest, in billionths of it."""
    parts, part = list[int](), 10**9
    for _ in range(_FARTHEST + 1):
        parts.append(part)
        part = part * _FALL[0] // _FALL[1]
    return tuple(parts)


@lru_cache(maxsize=64)
def ranked_rows(said: frozenset[str]) -> tuple[RankedRow, ...]:
    """The likeliest lines first."""
    rows, scores = line_rows(), dict.fromkeys(range(len(line_rows())), 0)
    for idea in ("=", *sorted(said)):
        for place, weight in _says().get(idea, ()):
            scores[place] += weight
    asked = is_asked(said)
    may = [place for place, row in enumerate(rows) if not (asked and row.acts) and row.may_be(said)]
    highest = max(scores[place] for place in may)
    parts = {place: _parts()[min(highest - scores[place], _FARTHEST)] for place in may}
    whole = sum(parts.values())
    nearest = sorted(parts, key=lambda place: -parts[place])[:_MOST]
    return tuple(RankedRow(rows[place], _WHOLE * parts[place] // whole) for place in nearest)


def is_asked(said: frozenset[str]) -> bool:
    asks = not said.isdisjoint(("?", "how_to"))
    return asks or ("should" in said and said.isdisjoint(("#range", "#width")))
