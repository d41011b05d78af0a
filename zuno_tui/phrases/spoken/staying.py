"""Parts that are named by what is left of a position: `reduce 26 to 75%`, `leave only a fifth`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.number_words import PARTS
from zuno_tui.phrases.spoken.units import PERCENT

if TYPE_CHECKING:
    from zuno_tui.phrases.spoken.sentence import Sentence

_PART_WORDS = frozenset(words[0] for words, _ in PARTS)
_LEFT_OVER = re.compile(
    r"\b(?:[0-9]+ (?:%|percent)|half|quarter|third|fifth|tenth) (?:of it )?"
    r"(?:stays|remains|remain|stay|is left|are left|left in|is all that)\b"
)


def names_what_stays(sentence: Sentence) -> bool:
    """Whether the part that is named is what is left: `reduce 26 to 75%`."""
    words = tuple(word for word in sentence.words if word not in ("only", "just", "about"))
    if _LEFT_OVER.search(sentence.text):
        return True
    before = {"to", "keep", "leave", "leaving", "keeping", "but", "except"}
    return any(
        word in before and _begins_part(words[place + 1 : place + 3])
        for place, word in enumerate(words)
    )


def _begins_part(words: tuple[str, ...]) -> bool:
    """A part in percent, or in a word; `leave 33 alone` names a position."""
    counted = len(words) > 1 and words[0][:1].isdigit() and words[1] in PERCENT
    return counted or (bool(words) and words[0] in _PART_WORDS)
