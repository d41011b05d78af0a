"""A sentence as plain words: lower case, no contractions, marks spelled out, no courtesies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.deed_forms import DEED_FORMS
from zuno_tui.phrases.spoken.number_words import with_scales, worded_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CONTRACTIONS = {
    "what's": "what is",
    "whats": "what is",
    "wats": "what is",
    "how's": "how is",
    "how'd": "how did",
    "1/2": "half",
    "1/4": "quarter",
    "1/3": "third",
    "3/4": "three quarters",
    "2/3": "two thirds",
    "hows": "how is",
    "what've": "what have",
    "what'd": "what did",
    "who've": "who have",
    "we've": "we have",
    "you've": "you have",
    "where's": "where is",
    "wheres": "where is",
    "it's": "it is",
    "that's": "that is",
    "thats": "that is",
    "there's": "there is",
    "i'm": "i am",
    "im": "i am",
    "i've": "i have",
    "ive": "i have",
    "i'd": "i would",
    "i'll": "i will",
    "don't": "do not",
    "dont": "do not",
    "didn't": "did not",
    "isn't": "is not",
    "aren't": "are not",
    "can't": "can not",
    "cant": "can not",
    "won't": "will not",
    "shouldn't": "should not",
    "gimme": "give me",
    "wanna": "want to",
    "gotta": "need to",
    "lemme": "let me",
    "pct": "percent",
    "percents": "percent",
    "u": "you",
    "ur": "your",
    "r": "are",
    "w/": "with",
    "w": "with",
    "n": "and",
    "n'": "and",
    "nd": "and",
    "cuz": "because",
    "bc": "because",
    "doesn't": "does not",
    "doesnt": "does not",
    "didnt": "did not",
    "isnt": "is not",
    "wont": "will not",
    "shouldnt": "should not",
    "wasn't": "was not",
    "mustn't": "must not",
    "let's": "let us",
    "lets": "let us",
    "whos": "who is",
    "who's": "who is",
    "theres": "there is",
    "@": "at",
    "&": "and",
    "+": "and",
    "+=": "add",
    "-=": "decrease",
    "=": "at",
    ">": "above",
    ">=": "above",
    "<": "below",
    "<=": "below",
    "→": "to",
    "=>": "to",
    "⇒": "to",
    "em": "them",
    "'em": "them",
    "teh": "the",
    "hte": "the",
    "te": "the",
    "abd": "and",
    "adn": "and",
    "fo": "for",
    "wit": "with",
    "mah": "my",
    "ma": "my",
    "plox": "please",
    "gib": "give",
    "thx": "thanks",
    "wat": "what",
    "wha": "what",
    "waht": "what",
    "hwo": "how",
    "shld": "should",
    "wiht": "with",
    "wich": "which",
    "wouldn't": "would not",
    "wouldnt": "would not",
    "couldn't": "could not",
    "haven't": "have not",
    "hasn't": "has not",
    "weren't": "were not",
    "ain't": "is not",
    "aint": "is not",
    "ya": "you",
    "y'all": "you",
    "tmrw": "tomorrow",
    "tmr": "tomorrow",
    "abt": "about",
    "thru": "through",
    "shud": "should",
    "cud": "could",
    "->": "to",
    "out-of-range": "out of range",
    "outta": "out of",
    "what-if": "what if",
}
ARTICLES = frozenset(("a", "an", "the", "me"))
COURTESIES = ARTICLES | frozenset(
    (
        *("please", "pls", "plz", "kindly", "thanks", "thx", "ty", "just"),
        *("still", "hey", "hi", "hola", "bonjour", "salut", "hallo", "zuno", "ok", "okay", "ser"),
        *("so", "actually", "again", "immediately", "asap", "currently", "bro", "fam", "mate"),
        *("lol", "lmao", "haha", "btw", "tho", "though", "fr", "imo", "tbh", "pretty", "folks"),
        *("quickly", "quick", "simply", "honestly", "kthx", "kthxbye", "tysm", "thanx", "pleas"),
        *("plss", "plsss", "pleasee", "pliz", "rn", "lads", "guys", "kindly", "bruh", "omg"),
    )
)
"""Words that change nothing wherever they stand."""

_OPENINGS = tuple(
    tuple(opening.split())
    for opening in (
        *("can you", "could you", "will you", "can we", "could we", "can i see", "can i"),
        *("could i", "i want you to", "i want to", "i need to", "i would like to"),
        *("i would like", "we want to", "do you know", "let us", "i think i want to"),
        *("i am going to", "i will", "go and", "time to", "i wish to"),
        *("i feel like", "i decided to", "i have decided to", "you can", "you may"),
    )
)
_AFTER_WHY = frozenset(("tho", "though", "is", "are", "did", "do", "does", "so", "not"))
_OF_THAT = re.compile(r"\b(\$?[0-9][0-9.,]*[km]?) of (?:it|them|that)$", re.ASCII)
"""So many of a token that was named before."""
_WRAPPED = (
    (re.compile(r"\bwrapped (?:eth|ether|ethereum)\b"), "weth"),
    (re.compile(r"\bwrapped (?:btc|bitcoin)\b"), "wbtc"),
)
_SUPPOSING = frozenset(("say", "assume", "suppose", "imagine", "pretend"))
_HOMEWARDS = re.compile(
    r" (?:and |then )+(?:send|transfer|put|return|move|give|get|bring) "
    r"(?:it |them |all |that |everything )*"
    r"(?:back )?(?:to |into |in )?(?:my |our )?(?:own )?wallet$"
)
"""Where everything goes that is taken out: nothing more is asked for by it."""
_REASON = re.compile(
    r" (?:because|as (?:we|i|you)|as discussed|so (?:that )?i can|while gas"
    r"|since (?:it|gas|eth|they)"
    r"|before (?:it|price|eth|gas) (?!is at)[a-z]+)\b"
    r"(?!.*(?:[0-9]|\b(?:not|no|but|except|if|unless|until|without|never)\b)).*$"
)
"""Why something is to be done, at the end of a sentence."""
_CLOSING = re.compile(
    r" (?:and |but |then )*(?:nothing (?:else|more)|everything else stays(?: as it is)?"
    r"|leave (?:rest|others|everything else)(?: alone| as it is| untouched)?"
    r"|(?:show|tell) (?:plan|it|result|how it goes|what happens))$"
)
"""What is so by itself, at the end of a sentence."""
_ADDED_PARTS = {"half": "5", "quarter": "25", "tenth": "1", "fifth": "2"}
_HALVED = (("a",), ("an",))
_BETWEEN_NUMBERS = re.compile(
    r"(?<=[0-9km%])(?:\.\.+|–|—|−|~|-|(?<=[0-9]{3})/(?=[0-9]{3}|[0-9]+\.[0-9])|(?<=[0-9]k)/(?=[0-9.]+k))(?=\$?[0-9.])",
    re.IGNORECASE,
)
_AROUND = re.compile(r"^(?:±|\+/-|\+-|-\+|∓)(?=[0-9.])")
_BETWEEN_TOKENS = re.compile(r"(?<=[a-z])(?:->|=>|→|>)(?=[a-z])")
_OF_NUMBER = re.compile(r"(#?[0-9]+)s", re.ASCII)
_DOLLARS_AFTER = re.compile(r"([0-9][0-9,]*(?:\.[0-9]+)?[km]?)\$", re.ASCII)
_OTHER_MONEY = re.compile(r"[€£¥]([0-9][0-9.,]*[km]?)|([0-9][0-9.,]*[km]?)[€£¥]", re.ASCII)
_COMPARED = re.compile(r"([<>]=?|@)(?=\$?[0-9])")
_GLUED = re.compile(
    r"([+-]?\$?[0-9][0-9,]*(?:\.[0-9]+)?[km]?|\$?\.[0-9]+)(%|[a-z][a-z./]+)", re.ASCII
)
_TIME_LETTER = re.compile(r"([0-9]+)([hdw])", re.ASCII)
_NOT_A_TAIL = re.compile(r"[km]", re.ASCII)
_GLUED_BEFORE = re.compile(r"([a-z-]+)(#?[$]?[0-9.].*)")
_BEFORE_NUMBERS = frozenset(
    (
        *(form.strip() for forms in DEED_FORMS.values() for form in forms.split(",")),
        *("fees", "position", "pos"),
    )
)
"""`collect27`: only after words that are no token's name."""


def plain_words(words: Iterable[str]) -> tuple[str, ...]:
    """One thing a word, with units apart from their numbers."""
    spread = tuple(word for typed in _why_for_y(words) for word in _spread(typed.lower()))
    kept = tuple(word for word in _halved(_numbers_apart(spread)) if word not in COURTESIES)
    said = _without_opening(with_scales(kept))
    text = _OF_THAT.sub(r"\1", " ".join(said))
    text = text.replace(" but only ", " only ")
    for wrapped, symbol in _WRAPPED:
        text = wrapped.sub(symbol, text)
    for tail in (_REASON, _CLOSING, _HOMEWARDS):
        text = tail.sub("", text)
    return tuple(text.split())


def _why_for_y(words: Iterable[str]) -> Iterator[str]:
    """`y tho` asks why, where a `y` by itself agrees."""
    said = tuple(words)
    for place, word in enumerate(said):
        after = "".join(said[place + 1 : place + 2]).lower().rstrip("?")
        yield "why" if word.lower() == "y" and after in _AFTER_WHY else word


def _numbers_apart(words: tuple[str, ...]) -> tuple[str, ...]:
    """`27s fees` are those of 27; `for 30s` is a time."""
    return tuple(
        owner[1] if (owner := _OF_NUMBER.fullmatch(word)) and words[place - 1] != "for" else word
        for place, word in enumerate(words)
    )


def _halved(words: tuple[str, ...]) -> Iterator[str]:
    """`half an eth` is 0.5 of one; `half my eth` is a part of what there is."""
    words = _and_a_half(words)
    for place, word in enumerate(words):
        yield "0.5" if word == "half" and words[place + 1 : place + 2] in _HALVED else word


def _and_a_half(words: tuple[str, ...]) -> tuple[str, ...]:
    """`one and a half eth`, `2 and a quarter`."""
    for place in range(1, len(words) - 2):
        added = _ADDED_PARTS.get(words[place + 2 : place + 3][0])
        if words[place : place + 2] != ("and", "a") or added is None:
            continue
        found = worded_number(words[place - 1 : place])
        whole = str(found[0]) if found is not None else words[place - 1]
        if whole.isascii() and whole.isdigit():
            return (*words[: place - 1], f"{whole}.{added}", *words[place + 3 :])
    return words


def _spread(word: str) -> Iterator[str]:
    word = _DOLLARS_AFTER.sub(r"$\1", _AROUND.sub("± ", _BETWEEN_TOKENS.sub(" to ", word)))
    word = _OTHER_MONEY.sub(r"\1\2 euros", word)
    word = _COMPARED.sub(lambda match: f" {_CONTRACTIONS[match[1]]} ", word)
    word = word.rstrip(":") or word
    whole = word if word in _CONTRACTIONS else word.removesuffix("'s")
    for piece in _BETWEEN_NUMBERS.sub(" - ", whole).split():
        said = _CONTRACTIONS.get(piece, piece)
        for each in said.split():
            yield from _apart(each)


def _apart(word: str) -> Iterator[str]:
    told = _GLUED_BEFORE.fullmatch(word)
    if told is not None and told[1] in _BEFORE_NUMBERS:
        yield told[1]
        word = told[2]
    glued = _GLUED.fullmatch(word) or _TIME_LETTER.fullmatch(word)
    if glued is None or _NOT_A_TAIL.fullmatch(glued[2]):
        yield word
    else:
        yield from (glued[1], _CONTRACTIONS.get(glued[2], glued[2]))


def _without_opening(words: tuple[str, ...]) -> tuple[str, ...]:
    for opening in _OPENINGS:
        if len(words) > len(opening) and words[: len(opening)] == opening:
            if words[len(opening)] in _SUPPOSING:
                return words
            return _without_opening(words[len(opening) :])
    return words
