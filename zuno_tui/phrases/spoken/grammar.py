"""What a sentence comes to; a change is asked back where a word of it is unclear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.phrases.pieces import listed
from zuno_tui.phrases.spoken.advice import ADVICE_RULES, INSPECTION_RULES
from zuno_tui.phrases.spoken.alerts import ALERT_RULES
from zuno_tui.phrases.spoken.certainty import sure_of
from zuno_tui.phrases.spoken.clauses import wanted_clause
from zuno_tui.phrases.spoken.exchanging import EXCHANGE_RULES, tokens_only
from zuno_tui.phrases.spoken.lexicon import forms
from zuno_tui.phrases.spoken.meaning import (
    NOT_LATER,
    NOTHING_DONE,
    AnsweredPhrase,
    AskedBack,
    Rephrased,
)
from zuno_tui.phrases.spoken.moves import MOVE_RULES
from zuno_tui.phrases.spoken.negation import (
    after_denied_clause,
    asked_of_rest,
    before_denied_clause,
    corrected,
    declined,
    with_exception,
    without_refused_ids,
    without_refused_token,
)
from zuno_tui.phrases.spoken.opening import OPENING_RULES
from zuno_tui.phrases.spoken.questions import FIRST_RULES, LAST_RULES, QUESTION_RULES
from zuno_tui.phrases.spoken.seldom import SELDOM_RULES
from zuno_tui.phrases.spoken.sentence_reader import read_sentence
from zuno_tui.phrases.spoken.targets import RANK_TOPICS, STATE_TOPICS, positions_meant
from zuno_tui.phrases.spoken.terms import bare_term
from zuno_tui.phrases.spoken.topics import DEEDS, QUESTIONS, Topic
from zuno_tui.phrases.spoken.units import OTHER_MONEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_CHANGES: tuple[SentenceRule, ...] = (*EXCHANGE_RULES, *OPENING_RULES, *MOVE_RULES)
_ASKING: tuple[SentenceRule, ...] = (
    corrected,
    declined,
    *FIRST_RULES,
    *SELDOM_RULES,
    *ALERT_RULES,
    *QUESTION_RULES,
)
_ENDING = (*ADVICE_RULES, *LAST_RULES[:-1], *INSPECTION_RULES, *LAST_RULES[-1:], tokens_only)
_LOOKING = (Topic.SHOW, Topic.ALERTS, Topic.ALERT, Topic.OUT_OF_RANGE, Topic.IN_RANGE, Topic.FEES)
_POLITE = frozenset(("can", "could"))
_HAPPENED = (("has",), ("have",), ("did",))
_ANYWHERE = frozenset(("switch", "create", "glossary", "help", "settings", "alert", "quit"))
"""What is the same on every network, or names its own."""
_BESIDES = QUESTIONS | {Topic.SHOW, Topic.TELL, Topic.PUT, Topic.ADVISE, Topic.WIDTH}
"""What begins something else beside an order, where it names a position of its own."""
_JOINS = frozenset(("and", "then", "also", "plus", "but", "-", "or"))
_BEFOREHAND = (("first",), ("beforehand",), ("before",))
_SIGNING = ("cancel transaction", "speed up", "revoke")


def spoken_meaning(
    words: Iterable[str], context: PhraseContext, clauses: Sequence[Sequence[str]] = ()
) -> SpokenMeaning | None:
    """None where nothing in a sentence says what it is about."""
    sentence = read_sentence(words, context)
    found = (
        _in_turn(sentence, context)
        or _wanted(clauses, context)
        or _meaning(sentence, context)
        or bare_term(sentence)
    )
    return _in_other_money(sentence, found) or _elsewhere(found, sentence, context)


def _in_other_money(sentence: Sentence, found: SpokenMeaning | None) -> SpokenMeaning | None:
    """`alert me when eth is below €3000`: what is typed is not what would be taken for it."""
    counted = OTHER_MONEY & {*sentence.words} and sentence.dollars
    if not counted or found is None or isinstance(found, AnsweredPhrase):
        return None
    return AskedBack("Amounts are in tokens here, and prices in dollars. How much is that?")


def _wanted(clauses: Sequence[Sequence[str]], context: PhraseContext) -> SpokenMeaning | None:
    wanted = wanted_clause(clauses, context)
    if wanted is None:
        return None
    meaning = _meaning(wanted.sentence, context)
    return asked_of_rest(meaning) if wanted.unsure else meaning


def _elsewhere(
    found: SpokenMeaning | None, sentence: Sentence, context: PhraseContext
) -> SpokenMeaning | None:
    """`collect 27 on base`: a number is another position on another network."""
    named = sentence.network
    if named is None or named == context.network or found is None:
        return found
    phrases = () if isinstance(found, AnsweredPhrase) else _phrases(found)
    if all(phrase.split()[0] in _ANYWHERE for phrase in phrases):
        return found
    return AskedBack(
        f"That is said of another network. Switch to {named} first, then say it again?",
        (f"switch to {named}",),
    )


def _phrases(found: Rephrased | AskedBack) -> tuple[str, ...]:
    return found.phrases if isinstance(found, Rephrased) else found.choices


def _meaning(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    if (part := _undenied(sentence, context)) is not None:
        return part
    if (asked := _first(_ASKING, sentence, context)) is not None:
        return _typed_exactly(asked, sentence)
    # "30 should go from 2850 to 3400" asks nothing.
    named = sentence.words[1:2] if sentence.first_word in _POLITE else sentence.words[:1]
    told = sentence.prices is not None and "".join(named).lstrip("#").isdigit()
    wondering = sentence.first is Topic.ADVISE and sentence.has(Topic.SHOULD)
    asking = sentence.first in QUESTIONS or sentence.has(Topic.HOW_TO)
    asking = asking or (wondering and sentence.prices is None)
    if not asking or told:
        change = _first(_CHANGES, sentence, context)
        if change is not None:
            return sure_of(change, sentence)
        if sentence.first in DEEDS and sentence.has(Topic.IF):
            return AskedBack(NOT_LATER)
        untouched = sentence.first is Topic.NOT and not sentence.has(*_LOOKING)
        if untouched or (sentence.has(Topic.NOT) and sentence.has(*DEEDS)):
            return AnsweredPhrase(NOTHING_DONE)
    elif sentence.words[:1] in _HAPPENED or "back in" in sentence.text:
        # "Has 36 come back in range?" asks what is; it wants nothing moved.
        kept = tuple(topic for topic in sentence.topics if topic is not Topic.MOVE)
        sentence = replace(sentence, topics=kept)
    elif sentence.has(*DEEDS) and not sentence.has(Topic.SHOW):
        advised = positions_meant(sentence, context)
        if advised.said and sentence.first is not Topic.WHAT:
            sentence = replace(sentence, topics=(*sentence.topics, Topic.SHOULD))
    return _first(_ENDING, sentence, context)


def _undenied(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """What is wanted in a sentence of which a part is denied; None where that is not clear."""
    if (wanted := before_denied_clause(sentence, context)) is not None:
        return _meaning(wanted, context)
    if (then := after_denied_clause(sentence, context)) is not None:
        return asked_of_rest(_meaning(then, context))
    if (exchanged := without_refused_token(sentence)) is not None:
        return asked_of_rest(_first(EXCHANGE_RULES, exchanged, context))
    left = without_refused_ids(sentence) or with_exception(sentence, context)
    clear = left is not None and left.has(*DEEDS)
    return asked_of_rest(_meaning(left, context)) if left is not None and clear else None


def _first(
    rules: Iterable[SentenceRule], sentence: Sentence, context: PhraseContext
) -> SpokenMeaning | None:
    found = (rule(sentence, context) for rule in rules)
    return next((meaning for meaning in found if meaning is not None), None)


def _typed_exactly(asked: SpokenMeaning, sentence: Sentence) -> SpokenMeaning:
    """What may lead to a signature is not taken from a word with a slip in it."""
    if isinstance(asked, Rephrased) and sentence.mended and asked.phrases[0] in _SIGNING:
        named = listed(f"'{word}'" for word in sentence.mended)
        return AskedBack(f"I do not know {named}. Is this meant?", asked.phrases)
    return asked


def _in_turn(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """Two things to do in one sentence: `collect 26 and close it`."""
    if sentence.first not in DEEDS | (_BESIDES - QUESTIONS):
        return None
    words = sentence.words
    for place in range(1, len(words)):
        rest = _after_joins(words[place:])
        joined = len(rest) < len(words) - place
        doing = not (DEEDS | _BESIDES).isdisjoint(forms().get(rest[:1], ()))
        numbered = _names_number(words[place - 1 : place]) and _names_number(rest)
        if not (joined or (doing and numbered)):
            continue
        first = read_sentence(words[:place], context)
        if first.first not in DEEDS | _BESIDES:
            continue
        # "Take 30% off 35 and 10% off 27".
        repeated = joined and not doing and _counted(first) and _names_number(rest)
        second = read_sentence((words[0], *rest) if repeated else rest, context)
        if _begins_anew(second, joined=joined, doing=doing, repeated=repeated):
            return _both(first, second, context)
    return None


def _after_joins(words: tuple[str, ...]) -> tuple[str, ...]:
    return words if not words or words[0] not in _JOINS else _after_joins(words[1:])


def _begins_anew(second: Sentence, *, joined: bool, doing: bool, repeated: bool) -> bool:
    if repeated:
        return _counted(second)
    if joined and not doing and _names_number(second.words):
        return False
    return (second.first in DEEDS and (joined or bool(second.ids))) or _looks_besides(second)


def _looks_besides(second: Sentence) -> bool:
    """`collect 27 and show me 33`, `collect 27 and put 500 usdc in 33`."""
    return bool(second.ids) and second.first in _BESIDES


def _names_number(words: tuple[str, ...]) -> bool:
    return any(word.lstrip("#").isdigit() for word in words)


def _counted(sentence: Sentence) -> bool:
    """Whether it says how much of one position, by itself."""
    return len(sentence.ids) == 1 and len(sentence.percents) + len(sentence.amounts) == 1


def _both(first: Sentence, second: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    if not first.ids and not first.tokens and not first.has(Topic.ALL, Topic.IT):
        first = replace(first, ids=second.ids, pairs=second.pairs, symbols=second.symbols)
    named = second.ids or second.tokens or second.has(*STATE_TOPICS, *RANK_TOPICS, Topic.ALL)
    if not named:
        second = replace(second, ids=first.ids, pairs=first.pairs, symbols=first.symbols)
    one = _meaning(first, context)
    other = _in_turn(second, context) or _meaning(second, context)
    if isinstance(one, Rephrased) and isinstance(other, Rephrased):
        # "Move 27 and collect first".
        late = second.words[-1:] in _BEFOREHAND
        in_order = (other, one) if late else (one, other)
        return Rephrased(tuple(phrase for each in in_order for phrase in each.phrases))
    asked = next((each for each in (one, other) if isinstance(each, AskedBack)), None)
    return (
        None
        if asked is None
        else AskedBack(f"One after the other. {asked.question}", asked.choices)
    )
