"""Sentences that ask what a word on the screen means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.glossary import term_like, term_named
from zuno_tui.phrases.spoken.meaning import Rephrased
from zuno_tui.phrases.spoken.targets import STATE_TOPICS
from zuno_tui.phrases.spoken.topics import DEEDS, Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.glossary import GlossaryTerm
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_LONGEST_TERM = 3
_ASKING_WORDS = frozenset(
    (
        *("what", "is", "are", "does", "do", "mean", "means", "meaning", "of", "define", "explain"),
        *("wtf", "by", "stand", "stands", "for", "tell", "about", "glossary", "definition", "to"),
        *("explained", "meant", "was", "which", "word", "term", "how", "work", "works", "whats"),
        *("like", "i", "am", "five", "eli5", "please", "you", "me"),
        *("anyway", "exactly", "even", "again", "really", "in", "simple", "terms", "thing"),
        *("plain", "words", "english", "layman", "laymans", "short", "briefly", "kid", "beginner"),
        *("heck", "hell", "earth", "on", "remind", "at", "?", "="),
    )
)
_DEFINED = re.compile(
    r"\b(?:means?|meaning|meant|define|definition|stands? for|glossary|called"
    r"|never heard of|not know what)\b"
)
_SAID_OF = re.compile(r"(?:[a-z]+ ){1,3}(?:of|for|on|in) (?:position )?#?[0-9]+")


def asked_term(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    defining = sentence.has(Topic.MEANS) or sentence.first in (Topic.WHAT, Topic.HOW)
    # "What is out of range?" asks which are, not what it means.
    listing = sentence.has(*STATE_TOPICS) and not sentence.has(Topic.MEANS)
    if not defining or listing or "my" in sentence.words:
        return None
    term = _term_in(sentence)
    if term is None:
        return None
    # "What's the plan?" asks for the one there is, not for the word.
    standing = term.name == "plan" and not sentence.has(Topic.MEANS)
    asked = "plan" if standing else f"glossary {term.name}"
    return Rephrased((asked,))


def bare_term(sentence: Sentence) -> SpokenMeaning | None:
    """`LVR?`, `IL on 26 so far?`, `composition of 33`: a term alone, or what is of a position."""
    if sentence.has(*DEEDS, Topic.NOT, Topic.IF, Topic.PUT) or sentence.numbers or sentence.amounts:
        return None
    term = _term_among(sentence.words)
    told = sentence.ids and _SAID_OF.fullmatch(sentence.text) is not None
    if term is None and not told:
        return None
    if sentence.ids or term is None:
        return Rephrased(tuple(f"inspect {one}" for one in sentence.ids))
    left = {*sentence.words} - {*term.name.lower().split(), *" ".join(term.also).split()}
    return Rephrased((f"glossary {term.name}",)) if left <= _ASKING_WORDS else None


def _term_in(sentence: Sentence) -> GlossaryTerm | None:
    """What stands between the words that ask, and else what is left without any of them."""
    words = sentence.words
    told = [place for place, word in enumerate(words) if word not in _ASKING_WORDS]
    between = words[told[0] : told[-1] + 1] if told else ()
    left = " ".join(words[place] for place in told)
    found = term_named(" ".join(between)) or term_named(left)
    if found is not None or sentence.ids or sentence.tokens:
        return found
    if _DEFINED.search(sentence.text):
        return _term_among(words)
    return term_like(left) if sentence.unknown else None


def _term_among(words: tuple[str, ...]) -> GlossaryTerm | None:
    """`prof said tick spacing, meaning?`: the longest term that is named anywhere."""
    spans = (
        words[start : start + count]
        for count in range(_LONGEST_TERM, 0, -1)
        for start in range(len(words) - count + 1)
    )
    return next(filter(None, (term_named(" ".join(span)) for span in spans)), None)
