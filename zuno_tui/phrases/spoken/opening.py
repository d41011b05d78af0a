"""Sentences that open a position, or change tokens into others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.sentence import STABLE, SpokenAmount, names_symbol
from zuno_tui.phrases.spoken.targets import called, positions_meant
from zuno_tui.phrases.spoken.topics import DEEDS, Topic
from zuno_tui.phrases.spoken.widths import opened_around, profile_of_width, says_width

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_WRAPPING = (("ETH", "WETH"), ("BNB", "WBNB"), ("POL", "WPOL"))
_JOINS = ("for", "to", "into")
_WRAPPABLE = frozenset(("ETHER", "ETHEREUM", *(symbol for pair in _WRAPPING for symbol in pair)))
_PAIR = 2
_HOW_MUCH = "How much of which token is sold, for which? Like: swap 0.5 WETH USDC"
_WANTING = frozenset(("want", "need", "get", "give", "have"))
_PAID_WITH = re.compile(r"\b(?:for|with|using) [0-9.]")
_WITH_DOLLARS = re.compile(
    r"\b(?:with|and|against|vs|versus) (?:usd|dollars?|stables?|stablecoins?)\b"
)
_HELD_ALREADY = re.compile(r"\btop(?: |-)?(?:up|off)\b|\b(?:into|in|to) (?:all )?(?:my|our)\b")
_BECOME = re.compile(r"\b(?:as|into|to) (w?(?:eth|bnb|pol)|ether|ethereum)\b")
_OWN_COIN = re.compile(r"\b(?:in)?to (?:the )?(?:native|plain|normal|raw|regular)\b")
_TO_WORK = re.compile(r"\b(?:to|into) (?:good )?(?:work|use)\b")
_OUT_OF_WALLET = (Topic.POSITION, Topic.POSITIONS, Topic.IT, Topic.ONE, Topic.ONES)


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
    entering = "ape" in sentence.words and len(tokens) == 1
    if sentence.ids or not tokens or entering:
        return None
    if sentence.has(*_OUT_OF_WALLET):
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
    words = tuple(word for word in sentence.words if word not in ("back", "my"))
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


def _create(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    opening = sentence.has(Topic.OPEN, Topic.NEW) or _opens_without_verb(sentence)
    opening = opening or _invested(sentence)
    putting = sentence.has(Topic.PUT, Topic.MORE) and bool(sentence.pairs) and not sentence.ids
    ranged = sentence.prices is not None and len(set(sentence.tokens)) == _PAIR
    placed = sentence.has(Topic.PUT, Topic.MORE) and ranged
    opening = opening or ((_put_to_work(sentence) or placed) and not sentence.ids)
    shaped = sentence.has(Topic.RANGE, Topic.BOUND) and not sentence.amounts
    held = bool(sentence.ids) and (shaped or not sentence.has(Topic.NEW))
    if not (opening or putting) or held:
        alike = held and sentence.first is Topic.OPEN and "like" in sentence.words
        return AskedBack(_EXAMPLE) if alike or _begins_with_amount(sentence) else None
    if not sentence.amounts:
        return _without_amount(sentence, context, opening=opening)
    sentence = _in_symbols(sentence, context)
    if _WITH_DOLLARS.search(sentence.text) and len(set(sentence.tokens)) == 1:
        return _with_which_dollars(sentence, context)
    if "full range" in sentence.text or "full-range" in sentence.words:
        narrowed = replace(sentence, profile="conservative")
        question = "A range ends at two prices. Which? Or the widest that the agents argue for?"
        return AskedBack(question, (f"create {created(narrowed)}",))
    if says_width(sentence):
        return _opened_around(sentence, context)
    return _opened(sentence) if opening else _new_or_more(sentence, context)


def _with_which_dollars(sentence: Sentence, context: PhraseContext) -> AskedBack:
    """`1 weth with dollars`: each of them is a token of its own."""
    held = dict.fromkeys(symbol for one in context.held or () for symbol in one.symbols)
    given = set(sentence.tokens)
    paired = (replace(sentence, symbols=(one,)) for one in held if one in STABLE - given)
    return AskedBack("With which token?", tuple(f"create {created(one)}" for one in paired))


def _in_symbols(sentence: Sentence, context: PhraseContext) -> Sentence:
    """With the symbols tokens have: BTC is WBTC, and ETH is WETH where the pair names that."""
    pairs = tuple((called(one, context), called(two, context)) for one, two in sentence.pairs)
    paired = tuple(symbol for pair in pairs[:1] for symbol in pair)
    amounts = (
        SpokenAmount(one.number, _of_pair(called(one.symbol, context), paired))
        for one in sentence.amounts
    )
    symbols = tuple(called(one, context) for one in sentence.symbols)
    return replace(sentence, amounts=tuple(amounts), pairs=pairs, symbols=symbols)


def _of_pair(symbol: str, paired: tuple[str, ...]) -> str:
    meant = [one for one in paired if names_symbol(symbol, one)]
    return meant[0] if meant and symbol not in paired else symbol


def _begins_with_amount(sentence: Sentence) -> bool:
    """`liquidity 1 weth 2950 3250`, `weth/usdc 1 weth`: most of what opening one needs."""
    ranged = sentence.prices is not None or len(sentence.numbers) == _PAIR
    ranged = ranged or (bool(sentence.pairs) and set(sentence.topics) <= {Topic.FILLING})
    named = sentence.ids or sentence.has(*DEEDS, Topic.PUT, Topic.ALERT)
    return bool(sentence.amounts) and ranged and not named


def _invested(sentence: Sentence) -> bool:
    """`invest 1 weth together with usdc`, `put 2k usdc with weth, safe`: nothing held is named."""
    paired = len(set(sentence.tokens)) == _PAIR and len(sentence.amounts) == 1
    held = sentence.ids or sentence.has(*_OUT_OF_WALLET) or sentence.pairs
    shaped = sentence.profile is not None or "invest" in sentence.words
    return bool(paired and shaped and sentence.has(Topic.MORE, Topic.PUT) and not held)


def _put_to_work(sentence: Sentence) -> bool:
    """`put 1.5 eth to work with usdc`."""
    paired = len(set(sentence.tokens)) == _PAIR and bool(sentence.amounts)
    return paired and _TO_WORK.search(sentence.text) is not None


def _without_amount(
    sentence: Sentence, context: PhraseContext, *, opening: bool
) -> SpokenMeaning | None:
    if sentence.has(Topic.ADVISE):
        return None
    if sentence.dollars:
        return AskedBack("Which token is there to put in? Like: create 1,000 USDC WETH/USDC")
    named = sentence.has(Topic.POSITION, Topic.ONE, Topic.IT, Topic.SHOW)
    token = bool(sentence.symbols) and not named
    all_there_is = {"everything", "have"} <= set(sentence.words)
    asked = token or all_there_is or not positions_meant(sentence, context).said
    asked = opening and asked
    liquid = sentence.has(Topic.LIQUIDITY, Topic.POSITION, Topic.NEW) or bool(sentence.pairs)
    liquid = liquid or token or all_there_is or "position" in sentence.words
    return (
        AskedBack(_EXAMPLE)
        if (asked or not opening or sentence.has(Topic.NEW)) and liquid
        else None
    )


def _opened(sentence: Sentence) -> SpokenMeaning:
    if sentence.numbers and (sentence.prices or len(sentence.numbers) != _PAIR):
        return AskedBack(_EXAMPLE)
    if sentence.has(Topic.WIDTH) and not (sentence.prices or sentence.numbers or sentence.profile):
        shaped = replace(sentence, profile=profile_of_width(sentence))
        question = "How wide a range is follows from the risk. Is this meant?"
        return AskedBack(question, (f"create {created(shaped)}",))
    return Rephrased((f"create {created(sentence)}",))


def _new_or_more(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    if sentence.has(Topic.POSITION):
        return None
    amount = sentence.amounts[0]
    meant = positions_meant(sentence, context)
    more = tuple(f"increase {one} {amount.number} {amount.symbol}" for one in meant.ids)
    if more and _HELD_ALREADY.search(sentence.text):
        sure = meant.sure and len(more) == 1
        return (
            Rephrased(more)
            if sure
            else AskedBack("More is put into one position at a time. Which?", more)
        )
    created_too = f"create {created(sentence)}"
    return AskedBack("Into a position you have, or a new one?", (*more, created_too))


def _opened_around(sentence: Sentence, context: PhraseContext) -> SpokenMeaning:
    shaped = opened_around(sentence, context)
    phrases = tuple(f"create {created(one)}" for one in shaped)
    if len(phrases) == 1 and len(set(sentence.tokens)) == _PAIR:
        return Rephrased(phrases)
    return AskedBack("Between which two prices, of which pair?", phrases)


def _opens_without_verb(sentence: Sentence) -> bool:
    """`make a safe position with 0.3 WETH and USDC`, `0.5 weth/usdc between 2900 and 3300`."""
    if not sentence.amounts or sentence.ids:
        return False
    if len(set(sentence.tokens)) < _PAIR and not sentence.has(Topic.STABLE):
        return False
    both = len(sentence.amounts) == _PAIR and sentence.has(Topic.POSITION, Topic.LIQUIDITY)
    if both and not sentence.has(*DEEDS, Topic.PUT, Topic.ALERT):
        return True
    wanted = sentence.has(Topic.SET) or bool({"want", "like", "need"} & set(sentence.words))
    if wanted and sentence.has(Topic.POSITION) and not sentence.has(Topic.MORE, Topic.PUT):
        return True
    shaped = sentence.prices is not None or sentence.profile is not None or says_width(sentence)
    verbless = not sentence.has(*DEEDS, Topic.PUT, Topic.ALERT)
    return shaped and verbless and (bool(sentence.pairs) or not sentence.has(Topic.POSITION))


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
    prices = sentence.prices or sentence.numbers
    if len(prices) == _PAIR:
        low, high = sorted(prices, key=float)
        parts.append(f"between {low} and {high}")
    if sentence.network is not None:
        parts.append(f"on {sentence.network}")
    return " ".join(parts)


def tokens_only(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    """`some weth for 400 usdc`: an amount and two tokens, and no word for what is done."""
    counted = len(sentence.amounts) == 1 and len(set(sentence.tokens)) == _PAIR
    other = sentence.ids or sentence.pairs or sentence.prices or sentence.has(Topic.NOT, Topic.IF)
    return AskedBack(_HOW_MUCH) if counted and not other else None


OPENING_RULES: tuple[SentenceRule, ...] = (_wrap, _swap, _create)
