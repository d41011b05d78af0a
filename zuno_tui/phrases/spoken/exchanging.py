"""Sentences that change tokens of the wallet into others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.sentence import STABLE, SpokenAmount
from zuno_tui.phrases.spoken.targets import called
from zuno_tui.phrases.spoken.topics import DEEDS, HELD, Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_WRAPPING = (("ETH", "WETH"), ("BNB", "WBNB"), ("POL", "WPOL"))
_JOINS = ("for", "to", "into")
_WRAPPABLE = frozenset(("ETHER", "ETHEREUM", *(symbol for pair in _WRAPPING for symbol in pair)))
_PAIR = 2
_FEW_WORDS = 4
_ALL_INTO = re.compile(r"(?:all|everything)(?: of (?:it|them))? (?:to|into|in) [a-z]+")
_HOW_MUCH = "How much of which token is sold, for which? Like: swap 0.5 WETH USDC"
_WANTING = frozenset(("want", "need", "get", "give", "have"))
_PAID_WITH = re.compile(r"\b(?:for|with|using) [0-9.]")
_BECOME = re.compile(r"\b(?:as|into|to) (w?(?:eth|bnb|pol)|ether|ethereum)\b")
_OWN_COIN = re.compile(r"\b(?:in)?to (?:the )?(?:native|plain|normal|raw|regular)\b")


def _wrap(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    if (wanted := _wanted_coin(sentence)) is not None:
        return wanted
    others = [one for one in sentence.tokens if one not in _WRAPPABLE]
    if _into_own_coin(sentence):
        return _wrapped(sentence, "unwrap")
    if not sentence.has(Topic.WRAP, Topic.UNWRAP) or others or sentence.has(Topic.BUY):
        return None
    return _wrapped(sentence, "unwrap" if sentence.has(Topic.UNWRAP) else "wrap")


def _wrapped(sentence: Sentence, verb: str) -> SpokenMeaning:
    numbers = (*(one.number for one in sentence.amounts), *sentence.numbers)
    if len(numbers) != 1 or sentence.percents:
        return AskedBack(f"How much? Like: {verb} 0.5")
    return Rephrased((f"{verb} {numbers[0]}",))


def _into_own_coin(sentence: Sentence) -> bool:
    """`convert 1 weth to native`."""
    wrappers = {wrapper for _, wrapper in _WRAPPING}
    changing = sentence.has(Topic.SWAP, Topic.SET) and not sentence.ids
    alone = len(set(sentence.tokens)) == 1 and set(sentence.tokens) <= wrappers
    return changing and alone and _OWN_COIN.search(sentence.text) is not None


def _wanted_coin(sentence: Sentence) -> Rephrased | None:
    """`i want plain eth back, 2 weth`: a coin and what wraps it are worth the same."""
    numbers = (*(one.number for one in sentence.amounts), *sentence.numbers)
    if len(numbers) != 1 or sentence.ids or sentence.has(*DEEDS):
        return None
    # "Make 0.5 eth into weth" wants the second, "make eth out of 0.5 weth" the first.
    wants = _WANTING | ({"make"} if " out of " in sentence.text else frozenset())
    wanting = next((at for at, word in enumerate(sentence.words) if word in wants), None)
    if wanting is None:
        return None
    # "I want my eth as weth" wants the second.
    become = _BECOME.search(sentence.text)
    after = (become[1],) if become is not None else sentence.words[wanting:]
    named = [word.upper() for word in after if word.upper() in _WRAPPABLE]
    for coin, wrapper in _WRAPPING:
        if {coin, wrapper} == set(sentence.tokens):
            verb = "wrap" if named[0] == wrapper else "unwrap"
            return Rephrased((f"{verb} {numbers[0]}",))
    return None


def _swap(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    tokens = tuple(dict.fromkeys(sentence.tokens))
    entering = "ape" in sentence.words and (len(tokens) == 1 or bool(sentence.pairs))
    # "Ape 0.1 weth usdc from 3k to 3.2k" names a range.
    if sentence.ids or not tokens or entering or sentence.prices:
        return None
    if sentence.has(*HELD) or _ALL_INTO.fullmatch(sentence.text):
        return _perhaps_tokens(sentence, tokens)
    changed = sentence.has(Topic.SET) and sentence.has(Topic.INTO) and bool(sentence.amounts)
    changed = changed or bool(
        sentence.has(Topic.LEAVE) and len(tokens) == _PAIR and sentence.amounts
    )
    changed = changed or bool(_WANTING & set(sentence.words) and _PAID_WITH.search(sentence.text))
    if not (sentence.has(Topic.SWAP, Topic.BUY) or changed):
        return _exchange(sentence) or _wanted_amount(sentence, tokens)
    if sentence.percents and sentence.pairs:
        return None
    if not sentence.amounts and not sentence.dollars and (exchanged := _exchange(sentence)):
        return exchanged
    return _spent_dollars(sentence, tokens, context) or _sold(sentence, tokens, context)


def _perhaps_tokens(sentence: Sentence, tokens: tuple[str, ...]) -> AskedBack | None:
    """`swap all my usdc to eth before it pumps` speaks of tokens all the same."""
    paired = len(tokens) == _PAIR and sentence.has(Topic.SWAP, Topic.BUY)
    paired = paired or _ALL_INTO.fullmatch(sentence.text) is not None
    positioned = sentence.pairs or sentence.has(Topic.POSITION, Topic.POSITIONS, Topic.ONES)
    return AskedBack(_HOW_MUCH) if paired and not positioned else None


def _sold(sentence: Sentence, tokens: tuple[str, ...], context: PhraseContext) -> SpokenMeaning:
    unsure = sentence.percents or sentence.numbers or sentence.has(Topic.WRAP, Topic.UNWRAP)
    if len(sentence.amounts) != 1 or len(tokens) != 2 or unsure:
        return AskedBack(_HOW_MUCH)
    # "Ape 1000 USDC into WETH/USDC" may be a position to open.
    paired = bool(sentence.pairs) and sentence.has(Topic.INTO)
    if paired or _bought_amount(sentence) or _bought_first(sentence):
        return AskedBack(_HOW_MUCH)
    sold = sentence.amounts[0]
    (bought,) = (token for token in tokens if token != sold.symbol)
    return _sold_for(sold, called(bought, context))


def _spent_dollars(
    sentence: Sentence, tokens: tuple[str, ...], context: PhraseContext
) -> SpokenMeaning | None:
    """`buy $200 of wbtc with usdc`: so many dollars are so many of a token that follows them."""
    if not sentence.has(Topic.BUY) or len(sentence.dollars) != 1 or sentence.amounts:
        return None
    if sentence.numbers or sentence.percents:
        return None
    paid = [one for one in tokens if one in STABLE and _pays(one, sentence)]
    bought = [one for one in tokens if one not in paid]
    if len(bought) != 1:
        return None
    number, wanted = sentence.dollars[0], called(bought[0], context)
    if paid:
        return Rephrased((f"swap {number} {paid[0]} {wanted}",))
    held = dict.fromkeys(symbol for one in context.held or () for symbol in one.symbols)
    choices = (f"swap {number} {one} {wanted}" for one in held if one in STABLE and one != wanted)
    return AskedBack("Paid with which token?", tuple(choices))


def _pays(symbol: str, sentence: Sentence) -> bool:
    joins = "with|using|from|for|in"
    return re.search(rf"\b(?:{joins}) (?:my )?{symbol.lower()}\b", sentence.text) is not None


def _wanted_amount(sentence: Sentence, tokens: tuple[str, ...]) -> AskedBack | None:
    """`i want 500 usdc for my weth`: a swap is said by what goes."""
    wanted = bool(_WANTING & {*sentence.words}) and len(sentence.amounts) == 1
    paid = len(tokens) == _PAIR and bool({"for", "from"} & {*sentence.words})
    bare = len(tokens) == 1 and set(sentence.topics) <= {Topic.FILLING, Topic.SHOW}
    whole = wanted and (paid or bare) and not sentence.pairs and not sentence.dollars
    return AskedBack(_HOW_MUCH) if whole and not sentence.has(*DEEDS, Topic.ALERT) else None


def _bought_first(sentence: Sentence) -> bool:
    """`swap weth for 100 usdc`, `swap 100 usdc from weth`: what is named is what is bought."""
    words = sentence.words
    amount = next(place for place, word in enumerate(words) if word[:1] in "0123456789.")
    before = any(one.lower() in words[:amount] for one in sentence.symbols)
    origin = any(f"from {one.lower()}" in sentence.text for one in sentence.symbols)
    wanted = sentence.has(Topic.BUY) or bool(_WANTING & set(words[:amount]))
    return (before or origin) and not (wanted and _PAID_WITH.search(sentence.text))


def _exchange(sentence: Sentence) -> SpokenMeaning | None:
    """Without a verb, or its number last: `1000 usdc for usdt`, `swap weth to eth, 0.4`."""
    others = (*(DEEDS - {Topic.SWAP}), Topic.PUT, Topic.ALERT)
    if sentence.pairs or sentence.has(*others) or sentence.percents:
        return None
    # "WETH 2 -> ETH": its number may stand behind it.
    words = tuple(
        word
        for word in sentence.words
        if word not in ("back", "my") and word[:1] not in "0123456789."
    )
    if {"pool", "pair", "tier", "get", "receive", "want", "need"} & set(words):
        return None
    for place, join in enumerate(words):
        sold, bought = words[place - 1 : place], words[place + 1 : place + 2]
        if join not in _JOINS or not sold or not bought or sold == bought:
            continue
        given, gotten = sold[0].upper(), bought[0].upper()
        if not {given, gotten} <= set(sentence.tokens):
            continue
        if len(sentence.amounts) == 1 and sentence.amounts[0].symbol == given:
            return _sold_for(sentence.amounts[0], gotten)
        if len(sentence.numbers) == 1 and not sentence.amounts:
            return _sold_for(SpokenAmount(sentence.numbers[0], given), gotten)
        if len(sentence.words) <= _FEW_WORDS and not sentence.has(Topic.PRICE):
            return AskedBack(_HOW_MUCH)
    return None


def _sold_for(sold: SpokenAmount, bought: str) -> SpokenMeaning:
    if (sold.symbol, bought) in _WRAPPING:
        return Rephrased((f"wrap {sold.number}",))
    if (bought, sold.symbol) in _WRAPPING:
        return Rephrased((f"unwrap {sold.number}",))
    return Rephrased((f"swap {sold.number} {sold.symbol} {bought}",))


def _bought_amount(sentence: Sentence) -> bool:
    """`buy 1 ETH with USDC`: what is named is what comes, and a swap is said by what goes."""
    words = sentence.words
    paying = next(
        (place for place, word in enumerate(words) if word in ("with", "using", "for")), None
    )
    amount = next(
        place for place, word in enumerate(words) if word[:1].isdigit() or word[:1] == "."
    )
    valued = "worth" in words[amount:]
    return sentence.has(Topic.BUY) and not valued and (paying is None or amount < paying)


def tokens_only(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    """`some weth for 400 usdc`: an amount and two tokens, and no word for what is done."""
    counted = len(sentence.amounts) == 1 and len(set(sentence.tokens)) == _PAIR
    # "Buy the dip!"
    counted = counted or (sentence.first in (Topic.BUY, Topic.SWAP) and not sentence.unknown)
    other = sentence.ids or sentence.pairs or sentence.prices or sentence.has(Topic.NOT, Topic.IF)
    return AskedBack(_HOW_MUCH) if counted and not other else None


EXCHANGE_RULES: tuple[SentenceRule, ...] = (_wrap, _swap)
