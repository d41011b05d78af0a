"""Sentences that ask for figures: prices, gas, what was earned, what another price would do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.sentence import STABLE
from zuno_tui.phrases.spoken.targets import RANK_TOPICS, STATE_TOPICS, called
from zuno_tui.phrases.spoken.topics import DEEDS, QUESTIONS, Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_PERIODS = (
    ("today", r"today|24 (?:h|hours)|this day|past day"),
    ("week", r"week|weekly|(?:7|seven) days?|7 d"),
    ("month", r"month|monthly|(?:30|thirty) days?|30 d|4 weeks"),
    (
        "other",
        r"yesterday|ytd|years?|yearly|quarter|[0-9]+ days|[0-9]+ weeks|[0-9]+ months|weekend"
        r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|fortnight"
        r"|(?:last|past|this|few|couple) hours?"
        r"|january|february|march|april|june|july|august|september|october|november|december"
        r"|morning|christmas|(?:1st|first) of",
    ),
    ("whole", r"since|so far|ever|lifetime|all time|in total|overall"),
)
_SPANS = frozenset(("week", "month", "year", "yesterday", "ytd"))
_SUPPOSED_OF = re.compile(
    r"\b(?:if|say|suppose|imagine|assume|assuming|pretend|when|of|model|test|shock) (?:my )?(\S+)"
)
_SORTED = frozenset(("sort", "sorted", "rank", "ranked", "order", "ordered"))
_RESULTS = frozenset(("pnl", "p&l", "p/l", "roi"))
_BY_SO_MUCH = re.compile(
    r"\b(?:drops?|falls?|dumps?|rises?|pumps?|climbs?|gains?|loses?|up|down) (?:by )?"
    r"\$?[0-9.,k]+(?: |$)"
)
"""By how much in money: the price it comes to is not said."""
_FEW_WORDS = 3
_SHORT = 4
_LEVELS = (Topic.REACHES, Topic.BELOW, Topic.ABOVE, Topic.FALLS, Topic.RISES)
_TAKING = (Topic.LEAVE, Topic.TAKE, Topic.COLLECT, Topic.MORE, Topic.LESS, Topic.MOVE)


def what_if(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    supposing = _supposes(sentence)
    # "What if pepe drops 10%": a token nobody here knows.
    strange = (one for one in _SUPPOSED_OF.findall(sentence.text) if one in sentence.unknown)
    token = next((one.upper() for one in (*sentence.tokens, *strange)), None)
    if token is None and supposing and len(sentence.percents) == 1 and not sentence.ids:
        return _of_every_token(sentence, context)
    bare = _bare_change(sentence)
    # An order on a condition supposes nothing, as in `when ETH is at 3500 close 27`.
    ordered = sentence.has(*DEEDS) and (bool(sentence.ids) or not sentence.has(Topic.WHAT_IF))
    if token is not None and not supposing and (level := _bare_level(sentence)) is not None:
        symbol = called(token, context)
        choices = (f"what-if {symbol} at {level}", f"alert {symbol} below {level}")
        question = f"What if {symbol} were at {level}, or to be told when it is?"
        return AskedBack(question, (*choices, f"alert {symbol} above {level}"))
    if token is None or not (supposing or bare) or ordered:
        return None
    return _supposed(sentence, called(token, context))


def _bare_change(sentence: Sentence) -> bool:
    """`eth -10%`, `say btc pumps fifteen percent`, `btc doubles?`: a token and how far it goes."""
    other = sentence.has(*(DEEDS - {Topic.LESS}), Topic.ALERT, Topic.IF, Topic.EARNED, Topic.NOT)
    if other or sentence.ids or sentence.unknown or sentence.pairs or len(sentence.symbols) != 1:
        return False
    turned = sentence.has(Topic.FALLS, Topic.RISES) or len(sentence.words) <= _FEW_WORDS
    return bool(turned and sentence.percents) or bool({"halves", "doubles"} & {*sentence.words})


def _bare_level(sentence: Sentence) -> str | None:
    """`eth to 2500?`: a token, a price, and no word for what is asked."""
    levels = (*sentence.numbers, *sentence.dollars)
    alone = {*sentence.topics} <= {
        Topic.FILLING,
        Topic.REACHES,
        Topic.INTO,
        Topic.BELOW,
        Topic.ABOVE,
    }
    said = alone and len(sentence.symbols) == 1 and not (sentence.ids or sentence.unknown)
    return levels[0] if said and len(levels) == 1 and len(sentence.words) <= _SHORT else None


def _supposes(sentence: Sentence) -> bool:
    if sentence.has(Topic.WHAT_IF) or sentence.first is Topic.IF:
        return True
    asked = sentence.has(Topic.IF) and sentence.first in QUESTIONS and not sentence.has(*DEEDS)
    halved = bool({"halves", "doubles"} & {*sentence.words})
    by_percent = asked and (len(sentence.percents) == 1 or halved)
    levelled = len(sentence.numbers) + len(sentence.dollars) == 1
    portrayed = sentence.has(Topic.POSITIONS) and sentence.has(Topic.REACHES)
    to_level = levelled and (portrayed or (asked and sentence.has(*_LEVELS)))
    return (by_percent or to_level) and bool(sentence.symbols)


def _supposed(sentence: Sentence, token: str) -> SpokenMeaning | None:
    if len(sentence.percents) == 1:
        change = _change(sentence)
        turned = sentence.has(Topic.FALLS, Topic.RISES, Topic.BELOW, Topic.ABOVE, Topic.LESS)
        if sentence.unknown and sentence.tokens and not turned and change[0] != "-":
            choices = (f"what-if {token} -{change}", f"what-if {token} {change}")
            return AskedBack("Down or up?", choices)
        return Rephrased((f"what-if {token} {change}",))
    for word, change in (("halves", "-50"), ("doubles", "100")):
        if word in sentence.words:
            return Rephrased((f"what-if {token} {change}",))
    level = next(iter((*sentence.dollars, *sentence.numbers)), None)
    level = level or next((one.number for one in sentence.amounts), None)
    if level is None and not sentence.tokens:
        return None
    if level is None or _BY_SO_MUCH.search(sentence.text):
        return AskedBack(f"By how many percent, or to which price? Like: what-if {token} -10")
    return Rephrased((f"what-if {token} at {level}",))


def _change(sentence: Sentence) -> str:
    falls = sentence.has(Topic.FALLS, Topic.BELOW, Topic.LESS)
    percent = float(sentence.percents[0])
    return f"{'-' if falls and percent > 0 else ''}{percent:g}"


def _of_every_token(sentence: Sentence, context: PhraseContext) -> AskedBack:
    """`what if everything drops 10%`: one token's price is supposed at a time."""
    held = dict.fromkeys(symbol for one in context.held or () for symbol in one.symbols)
    moving = [symbol for symbol in held if symbol not in STABLE]
    choices = tuple(f"what-if {symbol} {_change(sentence)}" for symbol in moving)
    return AskedBack("The price of which token?", choices)


def gas(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    onchain = sentence.has(Topic.NETWORK) and sentence.has(Topic.FEES) and not sentence.ids
    costs = onchain or (
        sentence.has(Topic.SENT)
        and (
            sentence.has(Topic.PRICE)
            or bool({"expensive", "cheap", "pricey"} & set(sentence.words))
        )
    )
    advised = bool(sentence.ids) and sentence.has(*DEEDS)
    if sentence.has(Topic.HURRY) and sentence.has(Topic.SENT):
        return None
    asked = sentence.has(Topic.GAS) and not sentence.has(Topic.MEANS, Topic.IF) and not advised
    having = "enough" in sentence.words or ("have" in sentence.words and bool(sentence.symbols))
    if asked and having:
        return Rephrased(("balances", "gas"))
    return Rephrased(("gas",)) if asked or costs else None


def earned(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    period = _period(sentence)
    fees_then = period and sentence.has(Topic.FEES, Topic.EARNED)
    named = sentence.ids or sentence.pairs or sentence.amounts or _SORTED & {*sentence.words}
    # "How much last month?"
    bare = period and sentence.words[:2] == ("how", "much") and not sentence.has(*DEEDS)
    bare = bare and not (sentence.tokens or {*sentence.unknown} - _SPANS)
    if not (sentence.has(Topic.EARNED) or fees_then or bare) or named:
        return None
    taken = sentence.first in (*_TAKING, Topic.COMPOUND, Topic.PUT)
    lping = bool(period) and "lp" in sentence.words
    one = sentence.has(Topic.POSITION) and not lping
    if sentence.has(Topic.TRACK_RECORD, Topic.POOLS) or one or sentence.symbols or taken:
        return None
    ranked = sentence.has(Topic.ONE) and sentence.has(*RANK_TOPICS, *STATE_TOPICS)
    if ranked or (sentence.first_word in ("positions", "lps") and period is None):
        return None
    said = set(sentence.words)
    if said & _RESULTS and period in (None, "whole"):
        return Rephrased(("portfolio",))
    if period == "other":
        return AskedBack(
            "What was earned is told of today, of a week, of a month, or of all days.",
            ("earned today", "earned week", "earned month", "earned all"),
        )
    span = "all" if period in (None, "whole") else period
    return Rephrased((f"earned {span}",))


def _period(sentence: Sentence) -> str | None:
    text = sentence.text
    return next((name for name, words in _PERIODS if re.search(rf"\b(?:{words})\b", text)), None)


def price(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    exchanged = sentence.first in (Topic.SWAP, Topic.BUY) and bool(sentence.amounts)
    if sentence.pairs or sentence.ids or exchanged:
        return None
    if sentence.has(Topic.POSITION, Topic.POSITIONS, Topic.RANGE, Topic.PORTFOLIO):
        return None
    tokens = tuple(dict.fromkeys(called(one, context) for one in sentence.tokens))
    priced = sentence.has(Topic.PRICE, Topic.WORTH)
    asking = sentence.first in (Topic.WHAT, Topic.HOW)
    called_one = sentence.words[-1:] == ("one",)
    asking = asking and not sentence.has(Topic.LIQUIDITY, Topic.ADVISE, *DEEDS) and not called_one
    alone = set(sentence.topics) <= {Topic.FILLING, Topic.REACHES, Topic.WHETHER}
    alone = alone and len(sentence.words) < _FEW_WORDS
    asked = priced or asking or alone
    if not tokens and sentence.has(Topic.PRICE):
        return _price_of_none(sentence, context)
    plainly = priced and asking and len(tokens) == 1
    if not asked or not tokens or (set(sentence.unknown) - {"today"} and not plainly):
        return None
    if (priced or sentence.amounts) and len(tokens) > 1:
        tokens = tuple(one for one in tokens if one not in ("USDC", "USDT")) or tokens
    if len(tokens) > 1:
        return AskedBack("The price of which token?", tuple(f"price {one}" for one in tokens))
    return Rephrased((f"price {tokens[0]}",))


def _price_of_none(sentence: Sentence, context: PhraseContext) -> SpokenMeaning:
    """Of the plan, of a token nobody knows, or a question which token."""
    if sentence.has(Topic.PLAN) or (sentence.has(Topic.IT) and context.plan_id is not None):
        return Rephrased(("plan",))
    if len(sentence.unknown) == 1:
        return Rephrased((f"price {called(sentence.unknown[0], context)}",))
    held = dict.fromkeys(symbol for one in context.held or () for symbol in one.symbols)
    return AskedBack("The price of which token?", tuple(f"price {one}" for one in held))
