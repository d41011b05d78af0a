"""Sentences that put more into a position."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.phrases.phrase_error import NotReadYetError
from zuno_tui.phrases.spoken.asking import for_each, one_position
from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.sentence import names_symbol
from zuno_tui.phrases.spoken.taking_out import TAKING
from zuno_tui.phrases.spoken.targets import held_as, positions_meant
from zuno_tui.phrases.spoken.topics import Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence, SpokenAmount
    from zuno_tui.phrases.spoken.targets import PositionsMeant

_FEW_WORDS = 3
_SHARED = frozenset(("split", "divide", "spread", "distribute", "share"))
_MORE_INTO = re.compile(r"^(?:some )?more [a-z]+ (?:in|into|to|for) #?[0-9]")
_DUMPED_INTO = re.compile(
    r"^(?:dump|burn|pull|move|shift|roll|drop) [0-9.]+[km]? [a-z]{3,6} "
    r"(?:more )?(?:from (?:my )?wallet )?(?:into|to|in) (?:my |position )*#?[0-9]+\b"
)
"""`dump 500 usdc into 33` puts in, though to dump a position is to leave it."""
_COINS = {"ETH": "WETH", "BNB": "WBNB", "POL": "WPOL"}
"""A network's own coin and what wraps it."""


def put_in(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    into = sentence.amounts and sentence.has(Topic.INTO) and not sentence.has(*TAKING)
    dumped = sentence.amounts and sentence.ids and _DUMPED_INTO.search(sentence.text)
    adding = sentence.has(Topic.MORE, Topic.PUT, Topic.DOUBLE) or (into and sentence.ids)
    adding = adding or bool(sentence.ids and _MORE_INTO.search(sentence.text))
    shared = bool(sentence.amounts and sentence.first_word in _SHARED and sentence.ids)
    if not (adding or dumped or shared) or (sentence.first is Topic.LESS and not shared):
        return None
    counted = sentence.amounts or sentence.numbers or sentence.dollars
    if (sentence.has(Topic.MOVE) or sentence.first is Topic.ADVISE) and not counted:
        return None
    if len(sentence.amounts) > 1:
        return AskedBack("Of one token the amount is said; of the other the range takes its part.")
    if sentence.amounts:
        return _of_token(sentence, sentence.amounts[0], context)
    if sentence.dollars:
        return AskedBack("An amount is said in one of the position's tokens. How much of which?")
    return _of_no_token(sentence, context)


def _of_token(sentence: Sentence, amount: SpokenAmount, context: PhraseContext) -> SpokenMeaning:
    if sentence.numbers:
        return AskedBack("How much of which token, into which position? Like: increase 7 0.5 WETH")
    meant = _holding(amount, positions_meant(sentence, context), context)
    said = for_each("increase", meant, context, after=f" {amount.number} {amount.symbol}")
    if isinstance(said, Rephrased) and len(said.phrases) > 1:
        return AskedBack("More is put into one position at a time. Which?", said.phrases)
    return _in_its_token(said, amount, context)


def _holding(amount: SpokenAmount, meant: PositionsMeant, context: PhraseContext) -> PositionsMeant:
    """Where none is named, those that hold the token: nothing else can take it."""
    holding = [
        one
        for one in meant.ids
        if (held := held_as(one, context)) is not None
        and any(names_symbol(amount.symbol, symbol) for symbol in held.symbols)
    ]
    return replace(meant, ids=tuple(holding)) if holding and not meant.sure else meant


def _of_no_token(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    meant = positions_meant(sentence, context)
    if len(sentence.numbers) == 1:
        chosen = one_position("increase", meant, context)
        if isinstance(chosen, AskedBack):
            return AskedBack("Into which position, and of which token? Like: increase 7 0.5 WETH")
        return _of_which_token(chosen, sentence.numbers[0], context, sentence.symbols)
    short = len(sentence.words) < _FEW_WORDS and not sentence.unknown
    if not (meant.said or short or sentence.has(Topic.LIQUIDITY, Topic.POSITION)):
        return None
    example = meant.ids[0] if len(meant.ids) == 1 else 7
    return AskedBack(f"How much of which token? Like: increase {example} 0.5 WETH")


def _in_its_token(
    said: SpokenMeaning, amount: SpokenAmount, context: PhraseContext
) -> SpokenMeaning:
    """With the symbol the position's token has; its coin and what wraps it are not the same."""
    if not isinstance(said, Rephrased):
        phrases = said.choices if isinstance(said, AskedBack) else ()
        mended = tuple(_retold(phrase, amount, context) for phrase in phrases)
        return AskedBack(said.question, mended) if isinstance(said, AskedBack) else said
    token_id = int(said.phrases[0].split()[1])
    held = held_as(token_id, context)
    if held is None or amount.symbol in held.symbols:
        return said
    wrapped = _COINS.get(amount.symbol)
    if wrapped in held.symbols:
        return AskedBack(
            f"{held.words} holds {wrapped}, not {amount.symbol} itself. Put in {wrapped} that the "
            f"wallet has, or turn {amount.symbol} into it first?",
            (f"increase {token_id} {amount.number} {wrapped}", f"wrap {amount.number}"),
        )
    if any(names_symbol(amount.symbol, one) for one in held.symbols):
        return Rephrased((_retold(said.phrases[0], amount, context),))
    return AskedBack(f"{held.words} holds no {amount.symbol}. How much of {held.pair}?")


def _retold(phrase: str, amount: SpokenAmount, context: PhraseContext) -> str:
    verb, token_id, number, _ = phrase.split()
    held = held_as(int(token_id), context)
    symbols = () if held is None else held.symbols
    fitting = [one for one in symbols if names_symbol(amount.symbol, one)]
    return f"{verb} {token_id} {number} {(*fitting, amount.symbol)[0]}"


def _of_which_token(
    token_id: int, amount: str, context: PhraseContext, named: tuple[str, ...]
) -> SpokenMeaning:
    if context.held is None and not context.positions:
        raise NotReadYetError("positions")
    held = held_as(token_id, context)
    symbols = () if held is None else held.symbols
    symbols = tuple(one for one in symbols if one in named) or symbols
    return AskedBack(
        f"I understood `increase {token_id} {amount}`, but not of which token.",
        tuple(f"increase {token_id} {amount} {symbol}" for symbol in symbols),
    )
