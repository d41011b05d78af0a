"""How near two spellings must be for the one to be offered in place of the other."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_NEAR = 0.7
"""A letter dropped, doubled or swapped in a word of four; not merely the same first letters."""


def nearest(typed: str, known: Iterable[str]) -> str | None:
    return next(iter(get_close_matches(typed, known, 1, _NEAR)), None)
