"""Sentences that open a position, or change tokens into others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.targets import positions_meant
from zuno_tui.phrases.spoken.topics import Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_WRAPPING = (("ETH", "WETH"), ("BNB", "WBNB"), ("POL", "WPOL"))


def _wrap(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    if not sentence.has(Topic.WRAP, Topic.UNWRAP):
        return None
    verb = "unwrap" if sentence.has(Topic.UNWRAP) else "wrap"
    numbers = (*(one.number for one in sentence.amounts), *sentence.numbers)
    if len(numbers) != 1 or sentence.percents:
        return AskedBack(f"How much? Like: {verb} 0.5")
    return Rephrased((f"{verb} {numbers[0]}",))


def _swap(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    tokens = tuple(dict.fromkeys(sentence.tokens))
    if not sentence.has(Topic.SWAP, Topic.BUY) or sentence.ids or not tokens:
        return None
    if sentence.has(Topic.POSITION, Topic.POSITIONS, Topic.IT) or sentence.percents:
        return None
    if len(sentence.amounts) != 1 or len(tokens) != 2 or _bought_amount(sentence):
        return AskedBack("How much of which token is sold, for which? Like: swap 0.5 WETH USDC")
    sold = sentence.amounts[0]
    (bought,) = (token for token in tokens if token != sold.symbol)
    if (sold.symbol, bought) in _WRAPPING:
        return Rephrased((f"wrap {sold.number}",))
    if (bought, sold.symbol) in _WRAPPING:
        return Rephrased((f"unwrap {sold.number}",))
    return Rephrased((f"swap {sold.number} {sold.symbol} {bought}",))


def _bought_amount(sentence: Sentence) -> bool:
    """`buy 1 ETH with USDC`: what is named is what comes, and a swap is said by what goes."""
    words = sentence.words
    paying = next((place for place, word in enumerate(words) if word in ("with", "using")), None)
    amount = next(
        place for place, word in enumerate(words) if word[:1].isdigit() or word[:1] == "."
    )
    return sentence.has(Topic.BUY) and (paying is None or amount < paying)


def _create(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    made = sentence.has(Topic.SET) and sentence.has(Topic.POSITION) and bool(sentence.amounts)
    opening = sentence.has(Topic.OPEN, Topic.NEW) or (made and not sentence.ids)
    putting = sentence.has(Topic.PUT, Topic.MORE) and bool(sentence.pairs) and not sentence.ids
    if not opening and not putting:
        return None
    if not sentence.amounts and sentence.dollars:
        return AskedBack("Which token is there to put in? Like: create 1,000 USDC WETH/USDC")
    if not sentence.amounts:
        asked = opening and not positions_meant(sentence, context).said
        liquid = sentence.has(Topic.LIQUIDITY, Topic.POSITION, Topic.NEW) or bool(sentence.pairs)
        return (
            AskedBack(_EXAMPLE)
            if (asked or putting or sentence.has(Topic.NEW)) and liquid
            else None
        )
    phrase = f"create {created(sentence)}"
    if opening or sentence.has(Topic.NEW):
        return Rephrased((phrase,))
    if sentence.has(Topic.POSITION):
        return None
    amount = sentence.amounts[0]
    meant = positions_meant(sentence, context)
    more = tuple(f"increase {one} {amount.number} {amount.symbol}" for one in meant.ids)
    return AskedBack("Into a position you have, or a new one?", (*more, phrase))


_EXAMPLE = "How much of what? Like: create 0.5 WETH/USDC between 2900 and 3300"


def created(sentence: Sentence) -> str:
    """What is to be opened, in the words of `create`."""
    amounts = " and ".join(f"{one.number} {one.symbol}" for one in sentence.amounts)
    given = {one.symbol for one in sentence.amounts}
    pair = next(iter(sentence.pairs), None)
    partner = next((one for one in sentence.symbols if one not in given), None)
    parts = [amounts]
    if pair is not None:
        parts.append("/".join(pair))
    elif partner is not None and len(given) == 1:
        parts.append(f"with {partner}")
    if sentence.fee is not None:
        parts.append(f"{float(sentence.fee):g}%")
    if sentence.profile is not None:
        parts.append(sentence.profile)
    if sentence.prices is not None:
        low, high = sorted(sentence.prices, key=float)
        parts.append(f"between {low} and {high}")
    if sentence.network is not None:
        parts.append(f"on {sentence.network}")
    return " ".join(parts)


OPENING_RULES: tuple[SentenceRule, ...] = (_wrap, _swap, _create)
