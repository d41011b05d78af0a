"""Which positions a sentence means: by number, pair, state, rank, pointing at one, or all."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from chain.protocols.reference import PositionRef
from zuno_tui.intents.context import PhraseContext, SpokenPosition
from zuno_tui.intents.phrase_error import NotReadYetError
from zuno_tui.prompt.slots import STABLE, Sentence, names_symbol, sentence_of
from zuno_tui.prompt.words import plain

_STATES: dict[str, Callable[[SpokenPosition], bool]] = {
    "out_of_range": lambda position: position.standing == "out of range",
    "near_edge": lambda position: position.standing == "near edge",
    "in_range": lambda position: position.standing in ("in range", "near edge"),
    "empty": lambda position: position.standing == "empty",
    "stable": lambda position: STABLE.issuperset(position.symbols),
    "dynamic": lambda position: position.fee.endswith("*") or position.fee == "dynamic",
    "native": lambda position: not {"ETH", "BNB", "POL"}.isdisjoint(position.symbols),
    "losing": lambda position: position.result is not None and position.result < 0,
    "winning": lambda position: position.result is not None and position.result > 0,
}
_RANKS: dict[str, Callable[[SpokenPosition], Fraction | int | None]] = {
    "most_fees": lambda position: position.fees,
    "worst": lambda position: None if position.result is None else -position.result,
    "best": lambda position: position.result,
    "biggest": lambda position: position.worth,
    "smallest": lambda position: None if position.worth is None else -position.worth,
    "newest": lambda position: position.ref.token_id,
    "oldest": lambda position: -position.ref.token_id,
}
_BY_RESULT = ("worst", "best", "losing", "winning")
_BOTH = 2
_JOINS = frozenset(("and", ",", "&", "+", "or", "nor", ".", "!"))
_SECOND_WORDS = (("but",), ("than",), ("from",))


class PositionsMeant(NamedTuple):
    ids: tuple[PositionRef, ...] = ()
    sure: bool = False
    """Whether all of them are meant; otherwise one is, and it must be asked which."""
    named: bool = False
    """Whether anything in the sentence names them."""
    described: bool = False
    """Whether by number, pair, state or rank, and not by `it` or `all`."""


def positions_meant(sentence: Sentence, context: PhraseContext) -> PositionsMeant:
    excluded = _excluded(sentence, context)
    if excluded is not None:
        return excluded
    unclear = sentence.has("or") or sentence.has("except")
    if sentence.ids:
        return PositionsMeant(
            sentence.ids, sure=len(sentence.ids) == 1 or not unclear, named=True, described=True
        )
    described = _described(sentence, context)
    if described is not None:
        return described
    if sentence.has("it") and context.it is not None and not sentence.has("all"):
        return PositionsMeant((context.it,), sure=True, named=True)
    if sentence.has("all", "them", "positions"):
        ids = _read_positions(context)
        sure = _as_many(sentence, ids) and bool(ids) and not sentence.has("it")
        return PositionsMeant(ids, sure=sure, named=True)
    return PositionsMeant()


def position_of(ref: PositionRef, context: PhraseContext) -> SpokenPosition | None:
    held = context.held or ()
    return next((position for position in held if position.ref == ref), None)


def _excluded(sentence: Sentence, context: PhraseContext) -> PositionsMeant | None:
    """`everything but the stable one`: all of them without those."""
    split = next((idea.place for idea in sentence.ideas if idea.name == "except"), None)
    if split is None or not sentence.has("all", "them", "positions"):
        return None
    # `everything but` and `other than` are two words.
    begins = split + 1 + (sentence.words[split + 1 : split + 2] in _SECOND_WORDS)
    after = sentence_of(sentence.tokens[begins:], context)
    if after.percents:
        return None
    left_out = [positions_meant(each, context) for each in _joined(after, context)]
    if not left_out or not all(each.named and each.ids for each in left_out):
        return PositionsMeant(_read_positions(context), sure=False, named=True)
    before = positions_meant(sentence_of(sentence.tokens[:split], context), context)
    kept = before.ids if before.named else _read_positions(context)
    ids = tuple(ref for ref in kept if not any(ref in each.ids for each in left_out))
    return PositionsMeant(ids, sure=bool(ids), named=True)


def _joined(sentence: Sentence, context: PhraseContext) -> Iterator[Sentence]:
    """`27 and the stable one`: each by itself."""
    for joins, tokens in groupby(sentence.tokens, lambda token: token.text in _JOINS):
        if not joins:
            yield sentence_of(tuple(tokens), context)


def _described(sentence: Sentence, context: PhraseContext) -> PositionsMeant | None:
    """By what is known of positions; None where nothing of that is said."""
    states = [fits for name, fits in _STATES.items() if sentence.has(name)]
    rank = next((figure for name, figure in _RANKS.items() if sentence.has(name)), None)
    symbols = sentence.described
    if not (states or rank or symbols or sentence.fee is not None):
        return None
    if context.held is None:
        raise NotReadYetError("positions")
    held = list(context.held)
    if sentence.has(*_BY_RESULT) and all(position.result is None for position in held):
        raise NotReadYetError("results")
    for fits in states:
        held = [position for position in held if fits(position)]
    for symbol in symbols:
        held = [
            position
            for position in held
            if any(names_symbol(symbol, known) for known in position.symbols)
        ]
    if sentence.fee is not None:
        fee = f"{plain(sentence.fee)}%"
        held = [position for position in held if position.fee.rstrip("*") == fee]
    if rank is not None:
        ranked = [(figure, position) for position in held if (figure := rank(position)) is not None]
        figures = sorted((figure for figure, _ in ranked), reverse=True)[: sentence.count]
        held = [position for figure, position in ranked if figure in figures]
    ids = tuple(position.ref for position in held)
    every = sentence.has("them", "positions") or len(ids) == sentence.count
    # `dump all my eth` may mean the token; a pair, a state or `positions` means positions.
    every = every or (sentence.has("all") and (bool(states or rank) or len(symbols) != 1))
    sure = (len(ids) == 1 and not sentence.has("except")) or (
        every and _as_many(sentence, ids) and not sentence.has("or")
    )
    return PositionsMeant(ids, sure=sure and bool(ids), named=True, described=True)


def _as_many(sentence: Sentence, ids: tuple[PositionRef, ...]) -> bool:
    """`both` says two, whatever they are."""
    both = sentence.count == 1 and {"both", "two"} & set(sentence.words)
    return len(ids) == _BOTH if both else len(ids) >= sentence.count


def _read_positions(context: PhraseContext) -> tuple[PositionRef, ...]:
    if context.held is None and not context.positions:
        raise NotReadYetError("positions")
    return context.positions
