"""Sentences that say what is not meant: corrections, what is left out, what stays as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.phrases.pieces import listed
from zuno_tui.phrases.spoken.lexicon import forms
from zuno_tui.phrases.spoken.meaning import NOTHING_DONE, AnsweredPhrase, AskedBack, Rephrased
from zuno_tui.phrases.spoken.sentence_reader import read_sentence
from zuno_tui.phrases.spoken.topics import DEEDS, HELD, QUESTIONS, Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

OTHERS = frozenset(("rest", "others", "remaining", "remainder"))
"""What is not named beside something that is."""
CORRECTING = frozenset(("mean", "meant", "wait", "oops", "sorry"))
_REFUSED_ID = re.compile(
    r"\b(?:not|instead of|rather than|except|excluding|without|skip|spare|ignore|leave out|leave)"
    r"(?: (?:on|in|from|of|for|at|with|to|out|touching|position|number))* #?([0-9]+)\b"
    r"(?! (?:percent|%|[a-z]*(?:usd|eth|btc)[a-z]*)\b)"
)
_REFUSED_TOKEN = re.compile(
    r"\b(?:not|instead of|rather than) (?:in |as |with |for |to )?([a-z]+)\b"
)
_DENYING = frozenset(("not", "without", "never"))
_LEADING_IN = frozenset(("but", "and", "do"))


def corrected(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    """`i meant 36 not 30`: which one is said, and nothing of what to do with it."""
    refused = refused_ids(sentence)
    meant = [one for one in sentence.ids if one not in refused]
    said = bool(CORRECTING & set(sentence.words)) or bool(refused)
    if not said or not meant or sentence.has(*DEEDS, Topic.ADVISE, Topic.ALERT, Topic.MUTE):
        return None
    if sentence.first in QUESTIONS:
        return None
    named = listed(f"#{one}" for one in meant)
    choices = tuple(f"inspect {one}" for one in meant)
    return AskedBack(f"What is to be done with {named}? Nothing was done so far.", choices)


def declined(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    """`no`, `not now`, `nah don't`: a no and nothing else."""
    said = set(sentence.topics) <= {Topic.NOT, Topic.FILLING, Topic.LATER, Topic.WHETHER}
    counted = sentence.ids or sentence.tokens or sentence.numbers or sentence.percents
    if not said or counted or sentence.unknown or sentence.first is not Topic.NOT:
        return None
    return AnsweredPhrase(NOTHING_DONE)


def without_refused_ids(sentence: Sentence) -> Sentence | None:
    """`close 36 not 30` without what is not meant; None where no number is denied."""
    refused = refused_ids(sentence)
    left = tuple(one for one in sentence.ids if one not in refused)
    every = sentence.has(Topic.ALL, Topic.POSITIONS, Topic.ONES)
    # "Except 27, don't close 33" denies the deed besides.
    several = sentence.topics.count(Topic.NOT) > 1 or every or _denies_deed(sentence)
    if not left or len(left) == len(sentence.ids) or several:
        return None
    denials = (Topic.NOT, Topic.EXCEPT)
    topics = tuple(topic for topic in sentence.topics if topic not in denials)
    return replace(sentence, ids=left, topics=topics)


def _denies_deed(sentence: Sentence) -> bool:
    words = sentence.words
    return any(
        word in _DENYING and not DEEDS.isdisjoint(forms().get(words[at + 1 : at + 2], ()))
        for at, word in enumerate(words)
    )


def without_refused_token(sentence: Sentence) -> Sentence | None:
    """`swap 1 weth to usdc, not usdt` without it; None where no token is denied."""
    found = _REFUSED_TOKEN.search(sentence.text)
    denied = "" if found is None else found[1].upper()
    held = sentence.ids or sentence.has(*HELD, Topic.ALL)
    if denied not in sentence.tokens or sentence.topics.count(Topic.NOT) != 1 or held:
        return None
    counted = any(one.symbol == denied for one in sentence.amounts)
    topics = tuple(topic for topic in sentence.topics if topic not in (Topic.NOT, Topic.EXCEPT))
    # "Normal ETH, not WETH": the coin is wanted of what wraps it.
    symbols = sentence.symbols
    if not {f"W{one}" for one in sentence.tokens} & {*sentence.tokens}:
        symbols = tuple(one for one in symbols if one != denied)
    left = replace(sentence, topics=topics, symbols=symbols)
    return left if left.tokens and not counted else None


def with_exception(sentence: Sentence, context: PhraseContext) -> Sentence | None:
    """`collect all the eth ones, not the btc`: what is denied of several is left out."""
    found = _REFUSED_TOKEN.search(sentence.text)
    several = sentence.has(Topic.ALL, Topic.POSITIONS, Topic.ONES) and not sentence.ids
    if found is None or not several or found[1].upper() not in sentence.tokens:
        return None
    words = f"{sentence.text[: found.start()]} except {found[1]} {sentence.text[found.end() :]}"
    return read_sentence(words.split(), context)


def asked_of_rest(meaning: SpokenMeaning | None) -> SpokenMeaning | None:
    """What is left after a denial is asked back, but for a coin that is worth the same wrapped."""
    wrapped = ("wrap ", "unwrap ")
    if not isinstance(meaning, Rephrased) or meaning.phrases[0].startswith(wrapped):
        return meaning
    return AskedBack("Of no other. Is this meant?", meaning.phrases)


def before_denied_clause(sentence: Sentence, context: PhraseContext) -> Sentence | None:
    """`collect 27 but do not compound it` without the deed that is not wanted besides."""
    if sentence.first in QUESTIONS or sentence.first in (Topic.NOT, Topic.KEEP):
        return None
    words = sentence.words
    place = next((at for at, word in enumerate(words) if word in _DENYING), None)
    if place is None:
        return None
    end = place
    while end and words[end - 1] in _LEADING_IN:
        end -= 1
    wanted = read_sentence(words[:end], context)
    denied = read_sentence(words[place + 1 :], context)
    return wanted if _apart(wanted, denied) else None


def after_denied_clause(sentence: Sentence, context: PhraseContext) -> Sentence | None:
    """`do not close 30 but close 36` from where something is wanted; None where nothing is."""
    words = sentence.words
    if sentence.first is not Topic.NOT or "but" not in words:
        return None
    place = words.index("but")
    denied = read_sentence(words[:place], context)
    wanted = read_sentence(words[place + 1 :], context)
    named = bool(wanted.ids) and not set(wanted.ids) & set(denied.ids)
    return wanted if named and wanted.first in DEEDS and not wanted.has(Topic.NOT) else None


def _apart(wanted: Sentence, denied: Sentence) -> bool:
    """Whether the denied deed is another one, and of nothing else than the wanted one."""
    doing, refusing = DEEDS.intersection(wanted.topics), DEEDS.intersection(denied.topics)
    named = set(denied.ids) <= set(wanted.ids) and set(denied.tokens) <= set(wanted.tokens)
    several = denied.has(Topic.ALL, Topic.POSITIONS, Topic.ONES, Topic.NOT)
    sure = bool(wanted.ids or wanted.tokens) and not wanted.has(Topic.NOT, Topic.KEEP)
    counted = denied.percents or denied.amounts or denied.dollars or denied.numbers
    return bool(doing and refusing and sure and named) and not (
        doing & refusing or several or counted
    )


def refused_ids(sentence: Sentence) -> frozenset[int]:
    return frozenset(int(found) for found in _REFUSED_ID.findall(sentence.text))
