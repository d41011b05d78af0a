"""Which positions a sentence means: by number, pair, state, rank, pointing at one, or all."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from zuno_tui.phrases.phrase_error import NotReadYetError
from zuno_tui.phrases.spoken.sentence import STABLE, names_symbol
from zuno_tui.phrases.spoken.sentence_reader import read_sentence
from zuno_tui.phrases.spoken.topics import Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zuno_tui.phrases.context import PhraseContext, SpokenPosition
    from zuno_tui.phrases.spoken.sentence import Sentence

_STATES: tuple[tuple[Topic, Callable[[SpokenPosition], bool]], ...] = (
    (Topic.OUT_OF_RANGE, lambda one: one.standing == "out of range"),
    (Topic.NEAR_EDGE, lambda one: one.standing == "near edge"),
    (Topic.IN_RANGE, lambda one: one.standing in ("in range", "near edge")),
    (Topic.EMPTY, lambda one: one.standing == "empty"),
    (Topic.STABLE, lambda one: STABLE.issuperset(one.symbols)),
    (Topic.DYNAMIC_FEE, lambda one: one.fee.endswith("*") or one.fee == "dynamic"),
    (Topic.LOSING, lambda one: one.result is not None and one.result < 0),
    (Topic.WINNING, lambda one: one.result is not None and one.result > 0),
)
_RANKS: tuple[tuple[Topic, Callable[[SpokenPosition], Fraction | None]], ...] = (
    (Topic.MOST_FEES, lambda one: one.fees),
    (Topic.WORST, lambda one: None if one.result is None else -one.result),
    (Topic.BEST, lambda one: one.result),
    (Topic.BIGGEST, lambda one: one.worth),
    (Topic.SMALLEST, lambda one: None if one.worth is None else -one.worth),
    (Topic.NEWEST, lambda one: Fraction(one.token_id)),
    (Topic.OLDEST, lambda one: -Fraction(one.token_id)),
)
_COMMON_NAMES = {
    "ETHER": "ETH",
    "ETHEREUM": "ETH",
    "BITCOIN": "BTC",
    "TETHER": "USDT",
    "CIRCLE": "USDC",
}
_EXCLUDING = tuple(
    tuple(form.split())
    for form in (
        *("except for", "except", "excluding", "besides", "but not", "but", "minus", "other than"),
        *("apart from", "aside from", "save for"),
    )
)
STATE_TOPICS = tuple(topic for topic, _ in _STATES)
RANK_TOPICS = tuple(topic for topic, _ in _RANKS)
_BOTH = 2
_COINS = frozenset(("ETH", "BNB", "POL"))
_NATIVE = re.compile(
    r"\bnative\b|\b(?:plain|raw|real|pure|unwrapped|normal|actual) (?:eth|bnb|pol)\b"
)
"""A network's own coin, and not what wraps it."""
_ONE_OF = re.compile(r"\b(?:one|1|any|any one|some|either|two|few|most) of\b")
_BY_RESULT = (Topic.WORST, Topic.BEST, Topic.LOSING, Topic.WINNING)


class PositionsMeant(Struct, frozen=True):
    ids: tuple[int, ...]
    sure: bool = True
    """Whether all of them are meant; otherwise one of them is, and it must be asked which."""
    said: bool = True
    """Whether anything in the sentence names them."""


def positions_meant(
    sentence: Sentence, context: PhraseContext, *, by_token: bool = True
) -> PositionsMeant:
    """Whatever names none leaves every position possible, and none sure."""
    meant = _meant(sentence, context, by_token=by_token)
    # "Close one of the losing ones" means one of them.
    one_of = len(meant.ids) > 1 and _ONE_OF.search(sentence.text) is not None
    return replace(meant, sure=False) if one_of else meant


def _meant(sentence: Sentence, context: PhraseContext, *, by_token: bool) -> PositionsMeant:
    excluded = _excluded(sentence, context)
    if excluded is not None:
        kept, left_out = excluded
        meant = positions_meant(kept, context, by_token=by_token)
        ids = tuple(one for one in meant.ids if one not in left_out.ids)
        sure = meant.sure and left_out.sure and left_out.said
        return PositionsMeant(ids, sure=sure, said=meant.said)
    if sentence.ids:
        # "26 or 27" names two of which one is meant.
        return PositionsMeant(
            sentence.ids, sure=not sentence.has(Topic.OR) or len(sentence.ids) == 1
        )
    described = _described(sentence, context, by_token=by_token)
    if described is not None:
        return described
    if sentence.has(Topic.IT) and context.it is not None:
        return PositionsMeant((context.it,))
    if sentence.has(Topic.ALL, Topic.POSITIONS, Topic.ONES):
        every = sentence.has(Topic.ALL, Topic.POSITIONS)
        return PositionsMeant(_known(context), sure=every and _as_many(sentence, _known(context)))
    return PositionsMeant(_known(context), sure=False, said=False)


def held_as(token_id: int, context: PhraseContext) -> SpokenPosition | None:
    return next((one for one in context.held or () if one.token_id == token_id), None)


def called(said: str, context: PhraseContext) -> str:
    """The symbol of what people call so: BTC is WBTC to a wallet whose positions hold that."""
    name = _COMMON_NAMES.get(said.upper(), said.upper())
    held = {symbol for one in context.held or () for symbol in one.symbols}
    fitting = [symbol for symbol in sorted(held) if names_symbol(name, symbol)]
    exact = name == "ETH" or name in held
    return fitting[0] if len(fitting) == 1 and not exact else name


def _excluded(sentence: Sentence, context: PhraseContext) -> tuple[Sentence, PositionsMeant] | None:
    if not sentence.has(Topic.EXCEPT) or not sentence.has(Topic.ALL, Topic.POSITIONS, Topic.ONES):
        return None
    for words in _EXCLUDING:
        for place in range(1, len(sentence.words)):
            if sentence.words[place : place + len(words)] == words:
                after = read_sentence(sentence.words[place + len(words) :], context)
                if after.percents:
                    return None
                before = read_sentence(sentence.words[:place], context)
                return before, positions_meant(after, context)
    return None


def _described(
    sentence: Sentence, context: PhraseContext, *, by_token: bool
) -> PositionsMeant | None:
    """By what is known of positions: pair, fee, state, rank; None where none of these is said."""
    states = [fits for topic, fits in _STATES if sentence.has(topic)]
    rank = next((figure for topic, figure in _RANKS if sentence.has(topic)), None)
    named = list(sentence.pairs) if by_token else []
    symbols = sentence.symbols if by_token else ()
    by_fee = sentence.fee is not None and by_token
    native = _NATIVE.search(sentence.text) is not None and sentence.has(Topic.ONE, Topic.POSITION)
    if not (states or rank or named or symbols or by_fee or native):
        return None
    held: Iterable[SpokenPosition] = _held(context)
    if sentence.has(*_BY_RESULT) and all(one.result is None for one in held):
        raise NotReadYetError("results")
    for fits in states:
        held = filter(fits, held)
    for tokens in (*named, *((symbol,) for symbol in symbols)):
        held = [one for one in held if _holds(one, tokens)]
    if by_token and _NATIVE.search(sentence.text) is not None:
        held = [one for one in held if _COINS & {*one.symbols}]
    if sentence.fee is not None and by_fee:
        fee = f"{float(sentence.fee):g}%"
        held = [one for one in held if one.fee.rstrip("*") == fee]
    found = tuple(held)
    if rank is not None:
        ranked = [(figure, one) for one in found if (figure := rank(one)) is not None]
        best = max((figure for figure, _ in ranked), default=None)
        found = tuple(one for figure, one in ranked if figure == best)
    every = sentence.has(Topic.ALL, Topic.POSITIONS, Topic.ONES) or "positions" in sentence.words
    ids = tuple(one.token_id for one in found)
    return PositionsMeant(ids, sure=_as_many(sentence, ids) and (every or len(ids) == 1))


def _as_many(sentence: Sentence, ids: tuple[int, ...]) -> bool:
    """`both` says two, whatever they are."""
    return "both" not in sentence.words or len(ids) == _BOTH


def _holds(one: SpokenPosition, tokens: tuple[str, ...]) -> bool:
    return all(any(names_symbol(said, symbol) for symbol in one.symbols) for said in tokens)


def _known(context: PhraseContext) -> tuple[int, ...]:
    if context.held is None and not context.positions:
        raise NotReadYetError("positions")
    return context.positions


def _held(context: PhraseContext) -> tuple[SpokenPosition, ...]:
    if context.held is None:
        raise NotReadYetError("positions")
    return context.held
