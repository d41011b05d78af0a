"""Sentences of several clauses: what is wanted besides what is denied or only remarked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from zuno_tui.phrases.spoken.negation import OTHERS
from zuno_tui.phrases.spoken.sentence_reader import read_sentence
from zuno_tui.phrases.spoken.topics import DEEDS, QUESTIONS, Topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.sentence import Sentence

_ORDERS = DEEDS | {Topic.PUT, Topic.WIDTH}
_DENIALS = (Topic.NOT, Topic.KEEP)
_LOOKS = (Topic.SHOW, Topic.PLAN, Topic.PRICE, Topic.GAS, Topic.TELL)
_REMARKS = frozenset(
    (
        *(Topic.FILLING, Topic.WHETHER, Topic.FALLS, Topic.RISES, Topic.PRICE, Topic.GAS),
        *(Topic.WORTH, Topic.TROUBLE, Topic.HURRY, Topic.WALLET, Topic.NETWORK, Topic.IT),
        *(Topic.INTO, Topic.FOR, Topic.ADVISE),
    )
)
"""What may be remarked beside an order without changing it."""
_STANDINGS = frozenset(
    (Topic.OUT_OF_RANGE, Topic.NEAR_EDGE, Topic.IN_RANGE, Topic.LOSING, Topic.WINNING)
)


class WantedClause(Struct, frozen=True):
    sentence: Sentence
    unsure: bool
    """Whether it is asked back: another clause denies something, or several are meant."""


def wanted_clause(clauses: Sequence[Sequence[str]], context: PhraseContext) -> WantedClause | None:
    """The one clause that asks for something; None where that is not clear."""
    if len(clauses) < 2:
        return None
    read = [read_sentence(words, context) for words in clauses]
    return _after_denial(read, context) or _beside_remarks(read)


def _after_denial(read: Sequence[Sentence], context: PhraseContext) -> WantedClause | None:
    """`do not touch 27, just show me`, `don't compound 35, just collect it`."""
    (denied, wanted) = (read[0], read[1]) if len(read) == 2 else (None, None)
    if denied is None or wanted is None or denied.first not in _DENIALS:
        return None
    counted = denied.percents or denied.amounts or denied.dollars or denied.numbers
    if (
        wanted.has(*_DENIALS, Topic.IF, Topic.LATER, Topic.CANCEL)
        or denied.has(Topic.IF)
        or counted
    ):
        return None
    carried = _with_positions_of(denied, wanted, context)
    doing = _ORDERS.intersection(wanted.topics)
    if not doing:
        return WantedClause(carried, unsure=False) if wanted.has(*_LOOKS) else None
    again = doing & _ORDERS.intersection(denied.topics)
    others = wanted.ids and not {*wanted.ids} & {*denied.ids}
    if wanted.first not in _ORDERS or (again and not others):
        return None
    return WantedClause(carried, unsure=True)


def _with_positions_of(denied: Sentence, wanted: Sentence, context: PhraseContext) -> Sentence:
    """`it` is what the first clause names, and the rest is what it does not."""
    if OTHERS & {*wanted.words} and denied.ids:
        rest = tuple(one for one in context.positions if one not in denied.ids)
        return replace(wanted, ids=rest)
    named = wanted.ids or wanted.tokens or wanted.has(Topic.ALL, Topic.POSITIONS, Topic.ONES)
    return wanted if named else replace(wanted, ids=denied.ids, pairs=denied.pairs)


def _beside_remarks(read: Sequence[Sentence]) -> WantedClause | None:
    """`market is bleeding, cut all my weth/usdc positions in half`."""
    orders = [one for one in read if _ORDERS.intersection(one.topics)]
    if len(orders) != 1 or orders[0].first in QUESTIONS:
        return None
    (order,) = orders
    if order.has(Topic.IF, Topic.LATER, Topic.NOT):
        return None
    remarks = [one for one in read if one is not order]
    if order.first not in _ORDERS or not all(_is_remark(one, order) for one in remarks):
        return None
    named = next((one.ids for one in remarks if one.ids), ())
    pointing = order.has(Topic.IT) and not order.ids
    unread = (word for one in remarks for word in (*one.unknown, *one.mended))
    told = replace(order, unknown=(*order.unknown, *unread), ids=named if pointing else order.ids)
    several = told.has(Topic.ALL, Topic.POSITIONS, Topic.ONES) and not told.ids
    return WantedClause(told, unsure=several)


def _is_remark(one: Sentence, order: Sentence) -> bool:
    counted = one.numbers or one.percents or one.amounts or one.dollars or one.prices
    # "27 is out of range, close it" names what is pointed at.
    pointed = one.ids and order.has(Topic.IT) and not order.ids and len(one.ids) == 1
    named = (one.ids and not pointed) or one.pairs or one.seconds or one.profile or one.network
    allowed = _REMARKS | _STANDINGS if one.has(Topic.WHETHER) else _REMARKS
    return bool(one.words) and not (counted or named) and {*one.topics} <= allowed
