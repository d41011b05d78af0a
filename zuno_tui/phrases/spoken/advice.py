"""Sentences that ask what to do with positions, or how they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.phrases.spoken.asking import for_each
from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.targets import (
    RANK_TOPICS,
    STATE_TOPICS,
    PositionsMeant,
    held_as,
    positions_meant,
)
from zuno_tui.phrases.spoken.topics import DEEDS, Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

INTO_ANOTHER = re.compile(
    r"\b#?[0-9]+ (?:back )?(?:to|into|in|onto) (?:position )?#?[0-9]+\b"
    r"|\b(?:merge|combine|consolidate)\b"
)
_OF_POSITION = (Topic.FEES, Topic.RANGE, Topic.LIQUIDITY, Topic.WORTH, Topic.BOUND, Topic.EARNED)
_ADVICE = (Topic.ADVISE, Topic.MOVE, Topic.SHOULD)


def _width(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    if not sentence.has(Topic.WIDTH):
        return None
    said = for_each("recommend", _on_cursor(sentence, context), context)
    choices = said.phrases if isinstance(said, Rephrased) else ()
    return AskedBack(
        "Between which two prices? Like: move 7 2900 3300. Or shall the agents propose them?",
        choices,
    )


def _recommend(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    # "Go aggressive on 30" names a profile and nothing else to do with it.
    profiled = bool(sentence.ids and sentence.profile) and not sentence.has(*DEEDS)
    if not (sentence.has(*_ADVICE) or profiled):
        return None
    if INTO_ANOTHER.search(sentence.text) and len(sentence.ids) > 1:
        return AskedBack(
            "One position cannot be moved into another: leave the first with `close`, then put "
            "more into the second with `increase`. A new range: move 7 2900 3300"
        )
    meant = _on_cursor(sentence, context)
    named = positions_meant(sentence, context).said
    which = sentence.first is Topic.WHAT and "which" in sentence.words
    if which and not (sentence.ids or sentence.tokens):
        return Rephrased(("positions",))
    if not named and sentence.has(Topic.SHOULD) and "anything" in sentence.words:
        return Rephrased(("alerts",))
    # "Is it safe to move 26?" asks about safety; it does not choose a profile.
    chosen = None if sentence.first is Topic.WHETHER else sentence.profile
    profile = f" {chosen}" if chosen else ""
    return for_each("recommend", meant, context, after=profile)


def _on_cursor(sentence: Sentence, context: PhraseContext) -> PositionsMeant:
    """What is named, else the row under the cursor: a debate moves nothing."""
    if context.selected is not None and not (
        sentence.ids or sentence.tokens or sentence.has(Topic.ALL, Topic.POSITIONS)
    ):
        meant = positions_meant(sentence, context)
        return meant if meant.said else PositionsMeant((context.selected,))
    return positions_meant(sentence, context)


def _inspect(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    counted = sentence.percents or sentence.amounts or sentence.dollars or sentence.prices
    if counted and sentence.first is not Topic.WHETHER:
        return (
            AskedBack("What is to be done with that? Like: decrease 7 25%")
            if (sentence.ids)
            else None
        )
    looking = sentence.has(Topic.SHOW, Topic.WHAT, Topic.HOW, Topic.WHETHER, Topic.TELL)
    listing = bool(sentence.ids) and sentence.has(*_OF_POSITION) and not sentence.has(*DEEDS)
    if sentence.unknown and not (looking or listing):
        return None
    named = bool(sentence.ids or sentence.tokens)
    one = sentence.has(Topic.ONE, Topic.POSITION, Topic.IT, *RANK_TOPICS)
    if not named and (sentence.has(Topic.POSITIONS) or not (one or sentence.has(Topic.STABLE))):
        return None
    if sentence.first is Topic.WHETHER and named:
        # "Is my ETH position in range?" asks for the state; it does not tell it.
        kept = tuple(topic for topic in sentence.topics if topic not in STATE_TOPICS)
        sentence = replace(sentence, topics=kept)
    meant = positions_meant(sentence, context)
    if not meant.said:
        return None
    if sentence.ids or not (meant.sure and len(meant.ids) > 1):
        return _with_standing(for_each("inspect", meant, context), context)
    return Rephrased(("positions",))


def _with_standing(said: SpokenMeaning, context: PhraseContext) -> SpokenMeaning:
    if not isinstance(said, Rephrased):
        return said
    known = (held_as(int(phrase.split()[1]), context) for phrase in said.phrases)
    told = [f"{one.words}." for one in known if one is not None]
    return Rephrased(said.phrases, answer=" ".join(told))


def _supposed(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """`what happens if i close 26`: shown with what would come out; nothing is prepared."""
    leaving = sentence.has(Topic.LEAVE) and sentence.has(Topic.WHAT_IF)
    if not leaving:
        return None
    meant = positions_meant(sentence, context)
    said = for_each("inspect", meant, context) if meant.said else None
    if not isinstance(said, Rephrased) or len(said.phrases) > 1:
        return said
    told = "Closing gives back what the position is worth and its fees, less gas. Nothing is done."
    return Rephrased(said.phrases, answer=told)


ADVICE_RULES: tuple[SentenceRule, ...] = (_supposed, _width, _recommend)
INSPECTION_RULES: tuple[SentenceRule, ...] = (_inspect,)
