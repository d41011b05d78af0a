"""Sentences that open a position."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.sentence import STABLE, SpokenAmount, names_symbol
from zuno_tui.phrases.spoken.targets import called, positions_meant
from zuno_tui.phrases.spoken.topics import DEEDS, HELD, Topic
from zuno_tui.phrases.spoken.widths import opened_around, profile_of_width, says_width

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_PAIR = 2
_WITH_DOLLARS = re.compile(
    r"\b(?:with|and|against|vs|versus) (?:usd|dollars?|stables?|stablecoins?)\b"
)
_HELD_ALREADY = re.compile(r"\btop(?: |-)?(?:up|off)\b|\b(?:into|in|to) (?:all )?(?:my|our)\b")
_TO_WORK = re.compile(r"\b(?:to|into) (?:good )?(?:work|use)\b")
_EXAMPLE = "How much of what? Like: create 0.5 WETH/USDC between 2900 and 3300"


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
    held = sentence.ids or sentence.has(*HELD) or sentence.pairs
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
    liquid = liquid or bool(sentence.numbers and sentence.first is Topic.OPEN)
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


OPENING_RULES: tuple[SentenceRule, ...] = (_create,)
