"""Whether a change is exactly what was typed: no condition, no doubt, no slip, no word unread."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from zuno_tui.phrases.pieces import listed
from zuno_tui.phrases.spoken.advice import INTO_ANOTHER
from zuno_tui.phrases.spoken.lexicon import forms
from zuno_tui.phrases.spoken.meaning import (
    NOT_LATER,
    NOTHING_DONE,
    AnsweredPhrase,
    AskedBack,
    Rephrased,
)
from zuno_tui.phrases.spoken.negation import CORRECTING, OTHERS, refused_ids
from zuno_tui.phrases.spoken.topics import DEEDS, QUESTIONS, Topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

    DoubtRule: TypeAlias = Callable[[Rephrased, Sentence], SpokenMeaning | None]
    """What is said instead of a change that is not sure; None where it is."""

_OWN_DOING = frozenset(("myself", "ourselves"))
_PART_OF_THEM = re.compile(
    r"\b(?:half|third|quarter|thirds|quarters) (?:of )?(?:my |our )?positions\b"
)
_FROM_TO = re.compile(r"#?[0-9]+ (?:to|through|until|till|thru|-) #?[0-9]+\b")
_ONE_AT_A_TIME = "What is meant of which position? Type them one at a time."
_HEADS = (
    DEEDS
    | QUESTIONS
    | {Topic.SHOW, Topic.TELL, Topic.PUT, Topic.ADVISE, Topic.WIDTH, Topic.KEEP, Topic.MUTE}
)
_EXCEPTING = re.compile(
    r"\b(?:but not|except|excluding|besides|other than|apart from|instead of)\b"
)


def sure_of(change: SpokenMeaning, sentence: Sentence) -> SpokenMeaning:
    if sentence.has(Topic.NOT) or _OWN_DOING & set(sentence.words):
        return AnsweredPhrase(NOTHING_DONE)
    if isinstance(change, Rephrased):
        doubts = (rule(change, sentence) for rule in _DOUBTS)
        return next((doubt for doubt in doubts if doubt is not None), change)
    offering = isinstance(change, AskedBack) and bool(change.choices)
    if offering and _mixed(sentence):
        return AskedBack(_ONE_AT_A_TIME)
    return AskedBack(NOT_LATER) if offering and _conditional(sentence) else change


def _conditional(sentence: Sentence) -> bool:
    return sentence.has(Topic.IF, Topic.LATER) or sentence.seconds is not None


def _not_now(_change: Rephrased, sentence: Sentence) -> SpokenMeaning | None:
    return AskedBack(NOT_LATER) if _conditional(sentence) else None


def _dropped(_change: Rephrased, sentence: Sentence) -> SpokenMeaning | None:
    if not sentence.has(Topic.CANCEL) and not CORRECTING & set(sentence.words):
        return None
    return AskedBack("Which is meant? Nothing was done so far. Type it once more, alone.")


def _tried(change: Rephrased, sentence: Sentence) -> SpokenMeaning | None:
    if not sentence.has(Topic.SIMULATION):
        return None
    shown = "That is prepared and shown; nothing is signed before `apply`. Is this meant?"
    return AskedBack(shown, change.phrases)


def _unclear_several(change: Rephrased, sentence: Sentence) -> SpokenMeaning | None:
    """`close everything older than 30`, `close half of my positions`, `fees of 27 into 33`."""
    verbs = {phrase.split()[0] for phrase in change.phrases}
    compared = "than" in sentence.words and bool(sentence.ids)
    halved = sentence.part and _PART_OF_THEM.search(sentence.text) is not None
    across = "compound" in verbs and INTO_ANOTHER.search(sentence.text) is not None
    through = len(sentence.ids) > 1 and _FROM_TO.search(sentence.text) is not None
    if not (compared or halved or across or through):
        return None
    return AskedBack("Which are meant, and what of each? Type their numbers, one at a time.")


def _emptied(change: Rephrased, sentence: Sentence) -> SpokenMeaning | None:
    """`empty out everything`: what is empty may be meant to be kept."""
    leaving = all(phrase.startswith("close ") for phrase in change.phrases)
    if not leaving or "empty out" not in sentence.text:
        return None
    return AskedBack("To leave what is named whole, one after the other?", change.phrases)


def _bought_first(change: Rephrased, sentence: Sentence) -> SpokenMeaning | None:
    """`buy 1 eth and put it in 33`: what is bought is there only afterwards."""
    adding = all(phrase.startswith("increase ") for phrase in change.phrases)
    if not adding or not sentence.has(Topic.BUY):
        return None
    return AskedBack("One after the other: what is bought first, and with what?")


def _of_another(change: Rephrased, sentence: Sentence) -> SpokenMeaning | None:
    """`close 27, and how is 33` where the two were not kept apart."""
    mixed = len(change.phrases) > 1 and _mixed(sentence)
    return AskedBack(_ONE_AT_A_TIME) if mixed else None


def _mixed(sentence: Sentence) -> bool:
    """Whether positions stand behind different words that each begin something."""
    begun: frozenset[Topic] = frozenset()
    belonging: set[frozenset[Topic]] = set()
    for word in sentence.words:
        begun = _HEADS.intersection(forms().get((word,), ())) or begun
        number = word.lstrip("#")
        if number.isascii() and number.isdigit() and int(number) in sentence.ids and begun:
            belonging.add(begun)
    return len(belonging) > 1


def _spared(change: Rephrased, sentence: Sentence) -> SpokenMeaning | None:
    """`skip 27, collect the rest`: what is left alone is not what is done."""
    spared = {str(one) for one in refused_ids(sentence)}
    if not any(spared & {*phrase.split()[1:2]} for phrase in change.phrases):
        return None
    return AskedBack("Which are meant, and which are not? Type those that are, alone.")


def _left_out(_change: Rephrased, sentence: Sentence) -> SpokenMeaning | None:
    """`collect 27 but not the other`: of what is named, something is not meant."""
    every = sentence.has(Topic.ALL, Topic.POSITIONS, Topic.ONES)
    if every or not sentence.has(Topic.EXCEPT) or not _EXCEPTING.search(sentence.text):
        return None
    return AskedBack("Which are meant, and which are not? Type those that are, alone.")


def _stays(change: Rephrased, sentence: Sentence) -> SpokenMeaning | None:
    staying = sentence.has(Topic.KEEP) or bool(OTHERS & set(sentence.words))
    if not staying or _only_fees(change, sentence):
        return None
    return AskedBack("Which stay, and which do not? Like: close everything except 7")


def _only_fees(change: Rephrased, sentence: Sentence) -> bool:
    """`take the fees of 34 but leave the liquidity`: what stays is what fees leave alone."""
    verbs = {one.split()[0] for one in change.phrases}
    rest = sentence.has(Topic.LIQUIDITY, Topic.POSITION, Topic.OPEN) or "rest" in sentence.words
    return verbs <= {"collect", "compound"} and rest and len(sentence.ids) <= 1


def _unread(change: Rephrased, sentence: Sentence) -> SpokenMeaning | None:
    unread = (*sentence.unknown, *sentence.mended)
    if not unread:
        return None
    named = listed(f"'{word}'" for word in unread)
    whole = sentence.has(Topic.LEAVE, Topic.ALL, Topic.WHOLE)
    if sentence.unknown and _wholly_left(change) and not whole:
        return AskedBack(f"I do not know {named}. How much is to be taken out, in percent?")
    return AskedBack(f"I do not know {named}. Is this meant?", change.phrases)


def _wholly_left(change: Rephrased) -> bool:
    """A word nobody knows may have said how much: all of it is not offered then."""
    return any(phrase.startswith("close ") for phrase in change.phrases)


_DOUBTS: tuple[DoubtRule, ...] = (
    _not_now,
    _dropped,
    _tried,
    _unclear_several,
    _emptied,
    _bought_first,
    _of_another,
    _spared,
    _left_out,
    _stays,
    _unread,
)
