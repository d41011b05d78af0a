"""Words that name tokens and pairs of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.sentence import DOLLAR_NAMES, symbols_anywhere

if TYPE_CHECKING:
    from collections.abc import Set

_JOINED = re.compile(r"([a-z][a-z0-9.]*)[/-]([a-z][a-z0-9.]*)")


def is_symbol(word: str, held: Set[str]) -> bool:
    """Whether a token of any network, or one that is held, is called so."""
    return bool(word) and (word.upper() in symbols_anywhere() or word.upper() in held)


def pair_at(words: tuple[str, ...], held: Set[str]) -> tuple[tuple[str, str], int] | None:
    """The pair that the first words name, and how many words name it."""
    word = words[0] if words else ""
    joined = _JOINED.fullmatch(word)
    if joined and all(is_symbol(one, held) or "/" in word for one in joined.groups()):
        known = any(is_symbol(one, held) for one in joined.groups())
        return ((joined[1].upper(), joined[2].upper()), 1) if known else None
    if not is_symbol(word, held):
        return None
    taken = 3 if words[1:2] in (("/",), ("-",)) else 2
    following = words[taken - 1] if len(words) >= taken else ""
    paired = is_symbol(following, held) or (following.upper() in DOLLAR_NAMES)
    return ((word.upper(), following.upper()), taken) if paired else None
