"""A sentence read word by word into what it names."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from zuno_tui.phrases.named_networks import network_called
from zuno_tui.phrases.spoken.lexicon import forms
from zuno_tui.phrases.spoken.number_roles import read_number
from zuno_tui.phrases.spoken.number_words import PARTS
from zuno_tui.phrases.spoken.plain import plain_words
from zuno_tui.phrases.spoken.risk_words import risk_said
from zuno_tui.phrases.spoken.sentence import DOLLAR_NAMES
from zuno_tui.phrases.spoken.sentence_draft import SentenceDraft
from zuno_tui.phrases.spoken.slips import topics_but_for_slip
from zuno_tui.phrases.spoken.topics import DEEDS, Topic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.sentence import Sentence

_HELD_WORDS = frozenset(("one", "ones", "position", "positions", "pos", "lp", "lps", "pool"))
_BEFORE_DEEDS = frozenset(
    (
        *(Topic.FILLING, Topic.ALL, Topic.IT, Topic.ONE, Topic.ONES, Topic.WHOLE, Topic.SOME),
        *(Topic.FEES, Topic.POSITION, Topic.POSITIONS, Topic.LIQUIDITY, Topic.NOT, Topic.WHETHER),
        *(Topic.OUT_OF_RANGE, Topic.IN_RANGE, Topic.EMPTY, Topic.LOSING, Topic.HURRY, Topic.AGREE),
    )
)
"""After what a word that is a deed but for a slip may be one."""
_ORDINALS = (("first",), ("last",))
_RANKED = frozenset(("one", "position", "pos", "lp", "nft", "pool", "of"))
_MOST_WORDS = 5


def read_sentence(typed: Iterable[str], context: PhraseContext) -> Sentence:
    draft = SentenceDraft(plain_words(typed), context)
    while draft.at < len(draft.words):
        taken = (
            _part_word(draft)
            or read_number(draft)
            or _pair_or_symbol(draft)
            or _risk_or_network(draft)
            or _form(draft)
        )
        draft.at += taken or _stranger(draft)
    return draft.finished()


def _part_word(draft: SentenceDraft) -> int:
    for words, percent in PARTS:
        if draft.words[draft.at : draft.at + len(words)] == words:
            draft.percents.append(Fraction(percent))
            draft.part = True
            if words == ("halve",):
                draft.topics.append(Topic.LESS)
            return len(words)
    return 0


def _pair_or_symbol(draft: SentenceDraft) -> int:
    if (found := draft.pair_at(0)) is not None:
        pair, taken = found
        if pair[1] in DOLLAR_NAMES and not _HELD_WORDS & {*draft.words}:
            draft.symbols.append(pair[0])
            draft.topics.append(Topic.PRICE)
        else:
            draft.pairs.append(pair)
        return taken
    if draft.is_symbol(draft.word()):
        draft.symbols.append(draft.word().upper())
        return 1
    return 0


def _risk_or_network(draft: SentenceDraft) -> int:
    if (risk := risk_said(draft.words[draft.at :])) is not None:
        draft.profile, taken = risk
        return taken
    for count in (2, 1):
        named = draft.words[draft.at : draft.at + count]
        if draft.words[draft.at : draft.at + 2] in forms():
            # "The base fee".
            return 0
        if len(named) == count and (network := network_called(named)) is not None:
            draft.network = network.name
            return count
    return 0


def _form(draft: SentenceDraft) -> int:
    for count in range(_MOST_WORDS, 0, -1):
        form = draft.words[draft.at : draft.at + count]
        if len(form) == count and form in forms() and not _ends_in_longer(draft, count):
            # "Get out of 36" does not ask to see it, "collect first" names no position.
            fetching = form == ("get",) and Topic.TAKE in draft.topics
            unranked = form in _ORDINALS and not _names_rank(draft)
            draft.topics.extend(() if fetching or unranked else forms()[form])
            return count
    return 0


def _names_rank(draft: SentenceDraft) -> bool:
    """`my first position`, `the last one`."""
    return draft.word(1) in _RANKED or draft.word(-1) in ("my", "our")


def _ends_in_longer(draft: SentenceDraft, count: int) -> bool:
    """Whether the last word of a form begins a longer one: `close | out of range`."""
    start = draft.at + count - 1
    most = min(_MOST_WORDS, len(draft.words) - start)
    longer = range(max(count, 2), most + 1) if count > 1 else ()
    return any(draft.words[start : start + each] in forms() for each in longer)


def _stranger(draft: SentenceDraft) -> int:
    word = draft.word()
    topics = topics_but_for_slip(word)
    # "So i can sleep" is no sweep where something else is to be done, or asked.
    second = DEEDS.intersection(topics or ()) and not _BEFORE_DEEDS.issuperset(draft.topics)
    if topics is not None and not second:
        draft.topics.extend(topics)
        draft.mended.append(word)
        return 1
    if word not in ("-", "/", "%", ","):
        draft.unknown.append(word)
    return 1
