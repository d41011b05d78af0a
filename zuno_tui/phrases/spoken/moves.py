"""Sentences that would change positions: fees, leaving, taking a part out, putting more in."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.phrases.phrase_error import NotReadYetError
from zuno_tui.phrases.spoken.asking import for_each, no_such_position, one_position
from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.number_words import ROUNDED_DOWN
from zuno_tui.phrases.spoken.sentence import names_symbol
from zuno_tui.phrases.spoken.staying import names_what_stays
from zuno_tui.phrases.spoken.targets import RANK_TOPICS, STATE_TOPICS, held_as, positions_meant
from zuno_tui.phrases.spoken.topics import DEEDS, Topic
from zuno_tui.phrases.spoken.widths import around_price

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence, SpokenAmount
    from zuno_tui.phrases.spoken.targets import PositionsMeant

_WHOLE = 100
_FEW_WORDS = 3
_EDGES = 2
_TAKING = (Topic.TAKE, Topic.LEAVE, Topic.LESS, Topic.REMOVE, Topic.SWAP, Topic.EMPTY)
_OUTWARDS = frozenset(("out", "from", "withdraw", "withdrawing", "redeem", "all", "everything"))
_OUT_OF_ANOTHER = re.compile(r"\b[0-9]+ (?:out )?(?:out|from|off|of) (?:position )?#?[0-9]+\b")
"""A number before a position is an amount, though there is a position of that number too."""
_WANTING = frozenset(("want", "need", "give", "pay"))
_SOLD = frozenset(("dump", "dumping", "ditch", "unload", "offload"))
_SHIFTED = (Topic.LESS, Topic.MORE, Topic.FALLS, Topic.RISES)
_DUMPED_INTO = re.compile(
    r"^(?:dump|burn|pull|move|shift|roll|drop) [0-9.]+[km]? [a-z]{3,6} "
    r"(?:more )?(?:from (?:my )?wallet )?(?:into|to|in) (?:my |position )*#?[0-9]+\b"
)
"""`dump 500 usdc into 33` puts in, though to dump a position is to leave it."""
_BROUGHT_TO = re.compile(
    r"^(?:take|bring|get|pull|put|have)\b.*"
    r" (?:to|into|in|between|from) (?:between |range )*\$?[0-9.]"
)
_ALL_OF_IT = re.compile(
    r"\b(?:it all|all (?:of )?(?:it|this|that)|everything (?:of|in) (?:it|this))\b"
)
_ALL_OF_WHAT = re.compile(
    r"(?:exit|leave|quit|take|shut|shut down|end|bail|stop) (?:all|everything)"
    r"(?: (?:down|out|off|now|of it))*"
)
"""May be said of the positions, of their fees or of the desk itself."""
_BACK_IN = re.compile(r"\bback (?:in|into it|into position)$")
_WHOLLY = (
    *(Topic.LEAVE, Topic.ALL, Topic.WHOLE),
    *(Topic.POSITION, Topic.POSITIONS, Topic.ONE, Topic.ONES),
)
"""Without any of these `withdraw usdc` says not that all of a position is meant."""
_UPWARDS = frozenset(("up", "down", "higher", "lower", "upwards", "downwards"))
_COINS = {"ETH": "WETH", "BNB": "WBNB", "POL": "WPOL"}
"""A network's own coin and what wraps it."""


def _fees(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    if sentence.has(Topic.COMPOUND) or _put_back(sentence):
        return _for_fees("compound", sentence, context)
    fetched = sentence.has(Topic.TAKE, Topic.LEAVE, Topic.REMOVE) or sentence.words[:1] == ("get",)
    wanted = bool(_WANTING & {*sentence.words}) or sentence.first is Topic.COLLECT
    fetched = fetched or (sentence.has(Topic.FEES) and (sentence.has(Topic.WALLET) or wanted))
    if sentence.has(Topic.EARNED) and fetched and not sentence.has(Topic.FEES):
        return _profits(sentence, context)
    if sentence.has(Topic.COLLECT) or (sentence.has(Topic.FEES) and fetched):
        return _for_fees("collect", sentence, context)
    return None


def _profits(sentence: Sentence, context: PhraseContext) -> SpokenMeaning:
    """What a position won is its fees, or a part of its worth: never all of it."""
    said = for_each("collect", positions_meant(sentence, context), context)
    choices = said.phrases if isinstance(said, Rephrased) else ()
    return AskedBack("Its fees? Or a part of it, in percent, like: decrease 7 10%", choices)


def _put_back(sentence: Sentence) -> bool:
    putting = sentence.has(Topic.PUT, Topic.MORE, Topic.MOVE)
    putting = putting or _BACK_IN.search(sentence.text) is not None
    earned = sentence.has(Topic.FEES) or (sentence.has(Topic.EARNED) and "back" in sentence.words)
    return earned and putting and not sentence.amounts


def _for_fees(verb: str, sentence: Sentence, context: PhraseContext) -> SpokenMeaning:
    if (asked := _unheld(sentence, context)) is not None:
        return asked
    part = sentence.percents not in ((), (_WHOLE,))
    if part or sentence.amounts or sentence.dollars or sentence.numbers:
        return AskedBack(f"Fees are taken whole: `{verb}` and the position's number.")
    return for_each(verb, _with_fees(positions_meant(sentence, context), context), context)


def _with_fees(meant: PositionsMeant, context: PhraseContext) -> PositionsMeant:
    """Of several, those that have fees waiting; where all or none have, as it was."""
    having = [one for one in meant.ids if not _without_fees(one, context)]
    return replace(meant, ids=tuple(having)) if len(meant.ids) > 1 and having else meant


def _without_fees(token_id: int, context: PhraseContext) -> bool:
    held = held_as(token_id, context)
    return held is not None and held.standing == "empty" and not held.fees


def _unheld(sentence: Sentence, context: PhraseContext) -> AskedBack | None:
    """Where the only number is whole and no position's: `shut down 226`."""
    whole = [int(one) for one in sentence.numbers if one.isascii() and one.isdigit()]
    alone = len(whole) == len(sentence.numbers) and not sentence.ids and not sentence.tokens
    return no_such_position(whole, context) if alone else None


def _less(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    keeping = sentence.has(Topic.KEEP) and bool(sentence.percents)
    if not (sentence.has(*_TAKING) or keeping) or (sentence.has(Topic.SWAP) and sentence.amounts):
        return None
    if len(sentence.percents) == 1:
        return _part(sentence, sentence.percents[0], context)
    counted = len(sentence.ids) > 1 and _OUT_OF_ANOTHER.search(sentence.text) is not None
    if sentence.percents or sentence.amounts or sentence.dollars or counted:
        return _in_percent(sentence, context)
    if sentence.has(Topic.SOME, Topic.LESS):
        return _how_much_less(sentence, context, whole=False)
    partly = sentence.has(Topic.LIQUIDITY) and not sentence.has(Topic.ALL, Topic.WHOLE)
    if partly and not sentence.has(Topic.LEAVE):
        return _how_much_less(sentence, context, whole=True)
    return _leave(sentence, context)


def _in_percent(sentence: Sentence, context: PhraseContext) -> SpokenMeaning:
    """Of a worth the percents it comes to are offered, never more than was said."""
    question = "What is taken out is said in percent of the position. How many percent?"
    meant = positions_meant(sentence, context)
    held = held_as(meant.ids[0], context) if meant.sure and len(meant.ids) == 1 else None
    if len(sentence.dollars) != 1 or held is None or not held.worth:
        return AskedBack(question)
    percent = int(_WHOLE * Fraction(sentence.dollars[0]) / held.worth)
    if not 0 < percent < _WHOLE:
        return AskedBack(question)
    return AskedBack(
        f"What is taken out is said in percent; ${sentence.dollars[0]} is about {percent} % of it.",
        (f"decrease {held.token_id} {percent}",),
    )


def _leave(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    if sentence.has(Topic.SHOW):
        return None
    outwards = sentence.has(Topic.TAKE) and bool(_OUTWARDS & set(sentence.words) or sentence.mended)
    leaving = sentence.has(Topic.LEAVE, Topic.REMOVE) or outwards
    some = sentence.has(Topic.POSITIONS) and not sentence.has(Topic.ALL) and not sentence.ids
    if not leaving or (some and not sentence.has(Topic.LEAVE)):
        return _perhaps_leave(sentence)
    asked = _unheld(sentence, context) or _all_of_what(sentence)
    if (asked := asked or _unclear_leaving(sentence, context)) is not None:
        return asked
    if sentence.numbers or sentence.prices or sentence.seconds:
        return AskedBack("Leaving happens at once, or not at all. Of which position, and now?")
    meant = positions_meant(sentence, context)
    named = meant.said or sentence.has(Topic.POSITION)
    if named:
        return for_each("close", meant, context)
    short = 1 < len(sentence.words) <= _FEW_WORDS and sentence.first is Topic.LEAVE
    return AskedBack("Of which position? To leave one: close 7") if short else None


def _all_of_what(sentence: Sentence) -> AskedBack | None:
    """`exit all`, `take everything`, `shut everything down`."""
    if _ALL_OF_WHAT.fullmatch(sentence.text) is None:
        return None
    return AskedBack("Every position, or only the desk? Type: close everything, or: quit")


def _unclear_leaving(sentence: Sentence, context: PhraseContext) -> AskedBack | None:
    """Where one or every position may be meant, or tokens of the wallet."""
    if sentence.ids or sentence.pairs:
        return None
    if sentence.symbols and not sentence.has(*_WHOLLY):
        return AskedBack("Of which position, and how much? Like: decrease 7 25%")
    every = _ALL_OF_IT.search(sentence.text) is not None
    if every and context.it is not None and not sentence.symbols:
        if sentence.has(*STATE_TOPICS, *RANK_TOPICS) or sentence.fee is not None:
            return None
        return AskedBack(
            f"Only #{context.it}, or every position? Type: close {context.it}, or: close everything"
        )
    sold = _SOLD & set(sentence.words) and not sentence.has(Topic.POSITION, Topic.POSITIONS)
    if sentence.symbols and sold and not sentence.has(Topic.ONE, Topic.ONES):
        return AskedBack(
            f"The {sentence.symbols[0]} of the wallet, or a position? Type `swap` with an amount "
            "and two tokens, or `close` and the position's number."
        )
    return None


def _perhaps_leave(sentence: Sentence) -> SpokenMeaning | None:
    """`sell 27`, `empty 27`: leaving it may be meant, and is asked."""
    if not sentence.has(Topic.SWAP, Topic.EMPTY) or sentence.symbols or sentence.has(Topic.FEES):
        return None
    if sentence.ids:
        return AskedBack("To leave it whole?", tuple(f"close {one}" for one in sentence.ids))
    named = sentence.has(Topic.POSITION, Topic.POSITIONS, Topic.ALL)
    return AskedBack("Of which position? To leave one: close 7") if named else None


def _part(sentence: Sentence, percent: Fraction, context: PhraseContext) -> SpokenMeaning:
    meant = positions_meant(sentence, context)
    staying = names_what_stays(sentence)
    if staying and sentence.part and percent in ROUNDED_DOWN:
        percent += 1
    taken = _WHOLE - percent if staying else percent
    if not 0 < taken <= _WHOLE:
        return AskedBack(f"{float(percent):g} % of a position cannot be taken out. Which part?")
    if taken == _WHOLE:
        return for_each("close", meant, context)
    said = for_each("decrease", _not_empty(meant, context), context, after=f" {int(taken)}")
    if not isinstance(said, Rephrased):
        return said
    if staying:
        question = f"To keep {float(percent):g} %, {int(taken)} % is taken out. Is that meant?"
        return AskedBack(question, said.phrases)
    if taken.denominator != 1:
        question = "Only whole percents can be taken out. Is a little less right?"
        return AskedBack(question, said.phrases) if taken >= 1 else AskedBack(question)
    return said


def _not_empty(meant: PositionsMeant, context: PhraseContext) -> PositionsMeant:
    """Of several, those that hold anything to take out."""
    holding = [
        one
        for one in meant.ids
        if (held := held_as(one, context)) is None or held.standing != "empty"
    ]
    return replace(meant, ids=tuple(holding)) if len(meant.ids) > 1 and holding else meant


def _how_much_less(sentence: Sentence, context: PhraseContext, *, whole: bool) -> SpokenMeaning:
    if sentence.has(Topic.FEES):
        return AskedBack("The fee is the pool's own. What waits of fees is taken with: collect 7")
    if sentence.numbers:
        return _unheld(sentence, context) or _of_one_of_them(sentence)
    chosen = one_position("decrease", positions_meant(sentence, context), context, " 25")
    if isinstance(chosen, AskedBack):
        return AskedBack("Of which position, and how much? Like: decrease 7 25%")
    choices = [f"decrease {chosen} 25", f"decrease {chosen} 50"]
    if whole:
        choices.append(f"close {chosen}")
    return AskedBack(f"How much of #{chosen}?", tuple(choices))


def _of_one_of_them(sentence: Sentence) -> AskedBack:
    """`decrease 26 or 27 by 40`."""
    (number, *others) = sentence.numbers
    part = number.isdigit() and 0 < int(number) < _WHOLE and not others
    if not (part and sentence.has(Topic.OR) and len(sentence.ids) > 1):
        return AskedBack("How many percent? Like: decrease 7 25%")
    choices = tuple(f"decrease {one} {number}" for one in sentence.ids)
    return AskedBack("Of which position, in percent?", choices)


def _more(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    into = sentence.amounts and sentence.has(Topic.INTO) and not sentence.has(*_TAKING)
    dumped = sentence.amounts and sentence.ids and _DUMPED_INTO.search(sentence.text)
    adding = sentence.has(Topic.MORE, Topic.PUT, Topic.DOUBLE) or (into and sentence.ids)
    if not (adding or dumped) or sentence.first is Topic.LESS:
        return None
    if sentence.has(Topic.MOVE) and not (sentence.amounts or sentence.numbers or sentence.dollars):
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


def _own_range(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    moving = sentence.has(Topic.MOVE, Topic.WIDTH, Topic.SET, Topic.PUT, Topic.RANGE, Topic.BOUND)
    priced = sentence.prices is not None or len(sentence.numbers) == _EDGES
    bare = priced and sentence.ids and not sentence.has(*DEEDS, Topic.ALERT, Topic.SHOW)
    brought = sentence.prices is not None and _BROUGHT_TO.search(sentence.text) is not None
    if not (moving or bare or brought):
        return None
    prices = sentence.prices
    if prices is None and len(sentence.numbers) == _EDGES:
        prices = sentence.numbers[0], sentence.numbers[1]
    opening = sentence.has(Topic.OPEN, Topic.NEW) and not sentence.ids
    if prices is None or sentence.amounts or opening:
        return None
    low, high = sorted(prices, key=float)
    meant = positions_meant(sentence, context)
    said = for_each("move", meant, context, after=f" {low} {high}")
    if isinstance(said, Rephrased) and len(said.phrases) > 1:
        return AskedBack("One position is moved at a time. Which?", said.phrases)
    return said


def _one_edge(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """`raise the top of 38 to 3500`, `range of 36 lower`: a range is said by both its prices."""
    shifted = sentence.has(Topic.RANGE) and sentence.has(*_SHIFTED) and not sentence.percents
    changed = sentence.numbers or sentence.has(*_SHIFTED, Topic.MOVE, Topic.SET, Topic.PUT)
    shifted = shifted or bool(sentence.has(Topic.BOUND) and changed and not sentence.percents)
    shifted = shifted or (sentence.has(Topic.MOVE) and bool(_UPWARDS & set(sentence.words)))
    rechosen = sentence.has(Topic.RANGE) and sentence.has(Topic.SET) and not sentence.percents
    if not (shifted or rechosen) or sentence.amounts or sentence.has(Topic.OPEN, Topic.NEW):
        return None
    meant = positions_meant(sentence, context)
    named = meant.ids[0] if meant.sure and len(meant.ids) == 1 else 7
    return AskedBack(f"A range is said by its two prices. Which? Like: move {named} 2900 3300")


MOVE_RULES: tuple[SentenceRule, ...] = (_own_range, around_price, _one_edge, _fees, _more, _less)
