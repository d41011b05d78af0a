"""The slots of a line that hold amounts and tokens: what is put in, swapped, wrapped or opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.prompt.figures import edges, two_prices, width
from zuno_tui.prompt.phrase_error import UnclearSlotError
from zuno_tui.prompt.positions import position_of, positions_meant
from zuno_tui.prompt.slots import DOLLARS, STABLE, called, names_symbol, symbol_of
from zuno_tui.prompt.words import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zuno_tui.prompt.context import PhraseContext
    from zuno_tui.prompt.slots import Amount, Sentence

_EXAMPLE_CREATE = "Like: create 0.5 WETH/USDC between 2900 and 3300"


def amount_slot(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    meant = positions_meant(sentence, context)
    token_id = meant.ids[0] if meant.sure and meant.ids else None
    example = f"increase {token_id or 7} 0.5 WETH"
    if len(sentence.amounts) != 1:
        raise UnclearSlotError(f"How much of which token? Like: {example}")
    amount = sentence.amounts[0]
    return (f"{amount.number} {_held_symbol(amount, token_id, context)}",)


def _held_symbol(amount: Amount, token_id: int | None, context: PhraseContext) -> str:
    position = None if token_id is None else position_of(token_id, context)
    if position is None:
        return called(amount.symbol, context)
    symbols = [symbol for symbol in position.symbols if names_symbol(amount.symbol, symbol)]
    if amount.symbol in position.symbols:
        return amount.symbol
    if amount.symbol == "ETH" or len(symbols) != 1:
        raise UnclearSlotError(
            f"{position.words} does not hold {amount.symbol}. How much of which token?",
            [f"increase {token_id} {amount.number} {symbol}" for symbol in symbols],
        )
    return symbols[0]


def swap_slot(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    example = "How much of which token, for which? Like: swap 0.5 WETH USDC"
    symbols = list(sentence.symbols)
    if len(sentence.amounts) == 1:
        number, sold = sentence.amounts[0]
    elif len(sentence.numbers) == 1 and symbols and not sentence.amounts:
        number, sold = sentence.numbers[0].text, symbols[0]
    else:
        raise UnclearSlotError(example)
    others = [symbol for symbol in symbols if symbol != sold]
    if DOLLARS & set(sentence.words) and not others:
        stables = dict.fromkeys(
            symbol
            for position in context.held or ()
            for symbol in position.symbols
            if symbol in STABLE
        )
        lines = [f"swap {number} {called(sold, context)} {symbol}" for symbol in stables]
        raise UnclearSlotError("For which token?", lines)
    if len(others) != 1 or _is_bought(sold, sentence) or "from" in sentence.words:
        raise UnclearSlotError(example)
    return (f"{number} {called(sold, context)} {called(others[0], context)}",)


def _is_bought(symbol: str, sentence: Sentence) -> bool:
    """Whether the amount is of what is to come in: `i want 500 usdc for my weth`."""
    if sentence.has("buy"):
        return sentence.symbols[0] == symbol
    if sentence.symbols[0] != symbol:
        return True
    if sentence.has("sell"):
        at = next(idea.place for idea in sentence.ideas if idea.name == "sell")
        named = (symbol_of(word) for word in sentence.words[at + 1 : at + 2])
        return any(known is not None and known != symbol for known in named)
    return not sentence.has("swap", "close", "add") and sentence.has("take", "want", "out")


def number_slot(verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    if len(sentence.amounts) == 1 and not sentence.percents:
        if sentence.amounts[0].symbol not in ("ETH", "WETH"):
            raise UnclearSlotError(f"`{verb}` takes ETH or WETH. Like: {verb} 0.5")
        return (sentence.amounts[0].number,)
    if len(sentence.numbers) == 1:
        return (sentence.numbers[0].text,)
    raise UnclearSlotError(f"How much? Like: {verb} 0.5")


def token_slot(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    if not sentence.symbols:
        if sentence.has("stable"):
            return ("USDC",)
        raise UnclearSlotError("Of which token? Like: price ETH")
    return (called(sentence.symbols[0], context),)


def create_slot(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    """The words of `create`: amounts, the other token, profile, fee, and prices."""
    if not sentence.amounts:
        raise UnclearSlotError(f"How much of what? {_EXAMPLE_CREATE}")
    parts = [f"{number} {called(symbol, context)}" for number, symbol in sentence.amounts]
    held = [called(symbol, context) for _, symbol in sentence.amounts]
    named = [called(symbol, context) for symbol in sentence.symbols]
    if held == ["ETH"] and "WETH" in named and len(named) > 2:
        # `enter weth usdc with 2 eth`
        held, parts = ["WETH"], [f"{sentence.amounts[0].number} WETH"]
    others = [symbol for symbol in named if symbol not in (*held, *(("ETH",) * (held == ["WETH"])))]
    if others:
        parts.append(f"with {others[0]}")
    fee = "" if sentence.fee is None else f"{plain(sentence.fee)}%"
    parts += filter(None, (sentence.profile, fee))
    prices = _create_prices(sentence, [*held, *others], context)
    if prices is not None:
        parts.append(f"between {prices[0]} and {prices[1]}")
    elif sentence.has("widen") and sentence.profile is None:
        parts.append("aggressive" if {"tight", "narrow"} & set(sentence.words) else "conservative")
    network = f"on {sentence.network}" if sentence.network else ""
    return (" ".join((*parts, network)),)


def _create_prices(
    sentence: Sentence, symbols: Sequence[str], context: PhraseContext
) -> tuple[str, str] | None:
    prices, around = two_prices(sentence), width(sentence)
    if prices is not None:
        return plain(prices[0]), plain(prices[1])
    if around is None:
        return None
    for position in context.held or ():
        same = all(any(names_symbol(name, held) for held in position.symbols) for name in symbols)
        if position.price is not None and same and len(symbols) > 1:
            return edges(position.price, around)
    raise UnclearSlotError(f"Between which two prices? {_EXAMPLE_CREATE}")
