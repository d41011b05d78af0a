"""Sentences that take out a part of positions, or all of them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.phrases.spoken.asking import for_each, no_such_position, one_position
from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.number_words import ROUNDED_DOWN
from zuno_tui.phrases.spoken.staying import names_what_stays
from zuno_tui.phrases.spoken.targets import RANK_TOPICS, STATE_TOPICS, held_as, positions_meant
from zuno_tui.phrases.spoken.topics import Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence
    from zuno_tui.phrases.spoken.targets import PositionsMeant

_WHOLE = 100
_FEW_WORDS = 3
TAKING = (Topic.TAKE, Topic.LEAVE, Topic.LESS, Topic.REMOVE, Topic.SWAP, Topic.EMPTY)
_OUTWARDS = frozenset(("out", "from", "withdraw", "withdrawing", "redeem", "all", "everything"))
_OUT_OF_ANOTHER = re.compile(r"\b[0-9]+ (?:out )?(?:out|from|off|of) (?:position )?#?[0-9]+\b")
"""A number before a position is an amount, though there is a position of that number too."""
_SOLD = frozenset(("dump", "dumping", "ditch", "unload", "offload"))
_ALL_OF_IT = re.compile(
    r"\b(?:it all|all (?:of )?(?:it|this|that)|everything (?:of|in) (?:it|this))\b"
)
_ALL_OF_WHAT = re.compile(
    r"(?:exit|leave|quit|take|shut|shut down|end|bail|stop|delete|remove|drop|reset)"
    r" (?:all|everything)"
    r"(?: (?:down|out|off|now|of it))*"
)
"""May be said of the positions, of their fees or of the desk itself."""
_WHOLLY = (
    *(Topic.LEAVE, Topic.ALL, Topic.WHOLE),
    *(Topic.POSITION, Topic.POSITIONS, Topic.ONE, Topic.ONES),
)
"""Without any of these `withdraw usdc` says not that all of a position is meant."""


def only_unheld(sentence: Sentence, context: PhraseContext) -> AskedBack | None:
    """Where the only number is whole and no position's: `shut down 226`."""
    whole = [int(one) for one in sentence.numbers if one.isascii() and one.isdigit()]
    alone = len(whole) == len(sentence.numbers) and not sentence.ids and not sentence.tokens
    return no_such_position(whole, context) if alone else None


def taken_out(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    keeping = sentence.has(Topic.KEEP) and bool(sentence.percents)
    if not (sentence.has(*TAKING) or keeping) or (sentence.has(Topic.SWAP) and sentence.amounts):
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
    asked = only_unheld(sentence, context) or _all_of_what(sentence)
    if (asked := asked or _unclear_leaving(sentence, context)) is not None:
        return asked
    if sentence.numbers or sentence.prices or sentence.seconds:
        return AskedBack("Leaving happens at once, or not at all. Of which position, and now?")
    meant = positions_meant(sentence, context)
    named = meant.said or sentence.has(Topic.POSITION)
    if named:
        return for_each("close", meant, context)
    short = len(sentence.words) <= _FEW_WORDS and sentence.first in (Topic.LEAVE, Topic.TAKE)
    short = short and sentence.first_word != "close"
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
        return only_unheld(sentence, context) or _of_one_of_them(sentence)
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
