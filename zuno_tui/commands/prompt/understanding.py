"""What a typed phrase asks for: the same words always mean the same, and no model is asked.

Nothing here can sign. The nearest thing is `Apply`, which opens a screen that asks again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chain.base.clean_text import clean_text
from chain.base.secrecy import NOT_KEPT, looks_secret
from chain.base.spelling import nearest
from zuno_tui.commands.inspect import Inspect
from zuno_tui.commands.registry import registry
from zuno_tui.phrases.phrase_error import Misunderstood, UnclearError
from zuno_tui.phrases.pieces import LONGEST_PHRASE
from zuno_tui.phrases.remaining import Remaining

if TYPE_CHECKING:
    from zuno_tui.commands.command import Intent
    from zuno_tui.phrases.context import PhraseContext

_COURTESIES = (
    ("please",),
    ("zuno",),
    ("ok",),
    ("okay",),
    ("now",),
    ("can", "you"),
    ("could", "you"),
    ("can", "i"),
    ("let's",),
    ("lets",),
    ("i", "want", "to"),
    ("i'd", "like", "to"),
    ("i", "would", "like", "to"),
)
_AROUND_WORDS = ".,;!\"'`“”‘’«»()[]"
_BARE_POSITION = re.compile(r"#?[0-9]{1,77}", re.ASCII)


def understand(text: str, context: PhraseContext) -> Intent | Misunderstood:
    """The intent of a phrase, or what was understood of it and what to type instead."""
    words = _without_courtesies(spoken_words(text))
    if (refused := _refused(text, words)) is not None:
        return refused
    if len(words) == 1 and _BARE_POSITION.fullmatch(words[0]):
        return Inspect(int(words[0].removeprefix("#")))
    found = registry().verb_at_start(words)
    if found is None:
        return _unknown(words)
    verb, count = found
    try:
        return verb.read(Remaining(verb.name, words[count:], context))
    except UnclearError as unclear:
        return unclear.misunderstood


def spoken_words(text: str) -> tuple[str, ...]:
    """The words of a phrase, without what cannot be seen and without the marks around them."""
    shown = clean_text(text, limit=LONGEST_PHRASE).replace("’", "'")
    # The keys that lead to the prompt, pressed once more in it.
    shown = shown.removeprefix(":").removeprefix("/")
    words = (word.strip(_AROUND_WORDS) for word in shown.split())
    asked = (word.rstrip("?") if len(word) > 1 else word for word in words)
    return tuple(word for word in asked if word)


def _refused(text: str, words: tuple[str, ...]) -> Misunderstood | None:
    if looks_secret(text):
        return Misunderstood(NOT_KEPT)
    if len(text) > LONGEST_PHRASE:
        return Misunderstood(f"A phrase has at most {LONGEST_PHRASE} characters.")
    return None if words else Misunderstood("Nothing was typed.", offer="help")


def _without_courtesies(words: tuple[str, ...]) -> tuple[str, ...]:
    lowered = tuple(word.lower() for word in words)
    for courtesy in _COURTESIES:
        if lowered[: len(courtesy)] == courtesy:
            return _without_courtesies(words[len(courtesy) :])
    return words


def _unknown(words: tuple[str, ...]) -> Misunderstood:
    known = registry().phrases()
    attempts = (nearest(" ".join(words[:count]).lower(), known) for count in (len(words), 2, 1))
    meant = next(filter(None, attempts), None)
    said = f"I do not know '{words[0]}'."
    if meant is None:
        return Misunderstood(said, offer="help")
    verb = known[meant]
    if verb.money:
        return Misunderstood(f"{said} What leads to a signature is typed exactly: {verb.written}")
    told = f"{said} The nearest is {verb.name}: {registry().does(verb)}."
    return Misunderstood(told, offer=_in_place_of(words, meant))


def _in_place_of(words: tuple[str, ...], phrase: str) -> str:
    """The nearest phrase with the numbers that were typed: `reccomend 7` offers `recommend 7`."""
    numbers = (word for word in words if _BARE_POSITION.fullmatch(word))
    return " ".join((phrase, *numbers))
