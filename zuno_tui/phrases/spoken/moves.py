"""Sentences that would change positions: their fees, their ranges, how much is in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.phrases.spoken.asking import for_each
from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.putting_in import put_in
from zuno_tui.phrases.spoken.taking_out import only_unheld, taken_out
from zuno_tui.phrases.spoken.targets import held_as, positions_meant
from zuno_tui.phrases.spoken.topics import DEEDS, Topic
from zuno_tui.phrases.spoken.widths import around_price

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence
    from zuno_tui.phrases.spoken.targets import PositionsMeant

_WHOLE = 100
_EDGES = 2
_WANTING = frozenset(("want", "need", "give", "pay"))
_SHIFTED = (Topic.LESS, Topic.MORE, Topic.FALLS, Topic.RISES)
_BROUGHT_TO = re.compile(
    r"^(?:take|bring|get|pull|put|have)\b.*"
    r" (?:to|into|in|between|from) (?:between |range )*\$?[0-9.]"
)
_BACK_IN = re.compile(r"\bback (?:in|into it|into position)$")
_UPWARDS = frozenset(("up", "down", "higher", "lower", "upwards", "downwards"))


def _fees(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    if sentence.has(Topic.COMPOUND) or _put_back(sentence):
        return _for_fees("compound", sentence, context)
    fetched = sentence.has(Topic.TAKE, Topic.LEAVE, Topic.REMOVE) or sentence.words[:1] == ("get",)
    wanted = bool(_WANTING & {*sentence.words}) or sentence.first is Topic.COLLECT
    fetched = fetched or (sentence.has(Topic.FEES) and (sentence.has(Topic.WALLET) or wanted))
    if sentence.has(Topic.EARNED) and fetched and not sentence.has(Topic.FEES):
        return _profits(sentence, context)
    if sentence.has(Topic.COLLECT) or (sentence.has(Topic.FEES) and fetched):
        return _for_fees("collect", sentence, context)
    return None


def _profits(sentence: Sentence, context: PhraseContext) -> SpokenMeaning:
    """What a position won is its fees, or a part of its worth: never all of it."""
    said = for_each("collect", positions_meant(sentence, context), context)
    choices = said.phrases if isinstance(said, Rephrased) else ()
    return AskedBack("Its fees? Or a part of it, in percent, like: decrease 7 10%", choices)


def _put_back(sentence: Sentence) -> bool:
    putting = sentence.has(Topic.PUT, Topic.MORE, Topic.MOVE)
    putting = putting or _BACK_IN.search(sentence.text) is not None
    earned = sentence.has(Topic.FEES) or (sentence.has(Topic.EARNED) and "back" in sentence.words)
    return earned and putting and not sentence.amounts


def _for_fees(verb: str, sentence: Sentence, context: PhraseContext) -> SpokenMeaning:
    if (asked := only_unheld(sentence, context)) is not None:
        return asked
    part = sentence.percents not in ((), (_WHOLE,))
    if part or sentence.amounts or sentence.dollars or sentence.numbers:
        return AskedBack(f"Fees are taken whole: `{verb}` and the position's number.")
    return for_each(verb, _with_fees(positions_meant(sentence, context), context), context)


def _with_fees(meant: PositionsMeant, context: PhraseContext) -> PositionsMeant:
    """Of several, those that have fees waiting; where all or none have, as it was."""
    having = [one for one in meant.ids if not _without_fees(one, context)]
    return replace(meant, ids=tuple(having)) if len(meant.ids) > 1 and having else meant


def _without_fees(token_id: int, context: PhraseContext) -> bool:
    held = held_as(token_id, context)
    return held is not None and held.standing == "empty" and not held.fees


def _own_range(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    moving = sentence.has(Topic.MOVE, Topic.WIDTH, Topic.SET, Topic.PUT, Topic.RANGE, Topic.BOUND)
    priced = sentence.prices is not None or len(sentence.numbers) == _EDGES
    bare = priced and sentence.ids and not sentence.has(*DEEDS, Topic.ALERT, Topic.SHOW)
    brought = sentence.prices is not None and _BROUGHT_TO.search(sentence.text) is not None
    if not (moving or bare or brought):
        return None
    prices = sentence.prices
    if prices is None and len(sentence.numbers) == _EDGES:
        prices = sentence.numbers[0], sentence.numbers[1]
    opening = sentence.has(Topic.OPEN, Topic.NEW) and not sentence.ids
    if prices is None or sentence.amounts or opening:
        return None
    low, high = sorted(prices, key=float)
    meant = positions_meant(sentence, context)
    said = for_each("move", meant, context, after=f" {low} {high}")
    if isinstance(said, Rephrased) and len(said.phrases) > 1:
        return AskedBack("One position is moved at a time. Which?", said.phrases)
    return said


def _one_edge(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """`raise the top of 38 to 3500`, `range of 36 lower`: a range is said by both its prices."""
    shifted = sentence.has(Topic.RANGE) and sentence.has(*_SHIFTED) and not sentence.percents
    changed = sentence.numbers or sentence.has(*_SHIFTED, Topic.MOVE, Topic.SET, Topic.PUT)
    shifted = shifted or bool(sentence.has(Topic.BOUND) and changed and not sentence.percents)
    shifted = shifted or (sentence.has(Topic.MOVE) and bool(_UPWARDS & set(sentence.words)))
    shifted = shifted or (sentence.first is Topic.WIDTH and len(sentence.numbers) == 1)
    rechosen = sentence.has(Topic.RANGE) and sentence.has(Topic.SET) and not sentence.percents
    if not (shifted or rechosen) or sentence.amounts or sentence.has(Topic.OPEN, Topic.NEW):
        return None
    meant = positions_meant(sentence, context)
    named = meant.ids[0] if meant.sure and len(meant.ids) == 1 else 7
    return AskedBack(f"A range is said by its two prices. Which? Like: move {named} 2900 3300")


MOVE_RULES: tuple[SentenceRule, ...] = (
    _own_range,
    around_price,
    _one_edge,
    _fees,
    put_in,
    taken_out,
)
