"""Every verb of the prompt, and which of them a phrase begins with."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from zuno_tui.commands.desk_verbs import DESK_VERBS
from zuno_tui.commands.plan_verbs import PLAN_VERBS
from zuno_tui.commands.position_verbs import POSITION_VERBS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zuno_tui.commands.verb import Verb

VERBS: tuple[Verb, ...] = (*POSITION_VERBS, *PLAN_VERBS, *DESK_VERBS)
_MOST_WORDS = 6


def verb_at_start(words: Sequence[str]) -> tuple[Verb, int] | None:
    """The verb with most words that a phrase begins with, and how many they are."""
    lowered = tuple(word.lower() for word in words[:_MOST_WORDS])
    for count in range(len(lowered), 0, -1):
        if (verb := _by_words().get(lowered[:count])) is not None:
            return verb, count
    return None


def verb_named(name: str) -> Verb | None:
    return _by_words().get(tuple(name.lower().split()))


@cache
def _by_words() -> dict[tuple[str, ...], Verb]:
    return {tuple(phrase.split()): verb for verb in VERBS for phrase in (verb.name, *verb.spoken)}
