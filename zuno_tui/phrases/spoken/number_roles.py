"""What a number of a sentence counts or names, told by the words around it."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from zuno_tui.phrases.phrase_error import NotReadYetError
from zuno_tui.phrases.spoken.lexicon import forms
from zuno_tui.phrases.spoken.number_words import plain_number, worded_number
from zuno_tui.phrases.spoken.sentence import STABLE, SpokenAmount
from zuno_tui.phrases.spoken.topics import Topic
from zuno_tui.phrases.spoken.units import BIPS, DOLLARS, PERCENT, TIMES

if TYPE_CHECKING:
    from zuno_tui.phrases.spoken.sentence_draft import SentenceDraft

_NUMBER = re.compile(r"\$?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)[km]?", re.ASCII)
_SIGNED = re.compile(r"[+-](?:[0-9]+(?:\.[0-9]+)?)", re.ASCII)
_ID = re.compile(r"#([0-9]{1,77})", re.ASCII)
_INTEGER = re.compile(r"[0-9]{1,77}", re.ASCII)
_RANGE_JOINS = frozenset(("-", "to", "and", "through", "until", "till", "til"))
_COUNTING = (Topic.MORE, Topic.PUT, Topic.SWAP, Topic.BUY, Topic.OPEN, Topic.WRAP, Topic.UNWRAP)
_PARTED = (Topic.LESS, Topic.TAKE, Topic.REMOVE)
_WORDS_FOR_DIGITS = {"4": "for", "2": "to"}
_MOST_PERCENT = 95
_BOTH = 2
_POINTING = frozenset(("those", "these", "all", "my", "other"))
_MOST_WORDS = 5


def read_number(draft: SentenceDraft) -> int:
    """How many words a number took with what says its role; none where the next is no number."""
    word = draft.word()
    if (named := _ID.fullmatch(word)) is not None:
        draft.ids.append(int(named[1]))
        return 1
    if word in TIMES and draft.word(-1) == "for":
        # Articles are gone by now: "for a day" came as "for day".
        draft.seconds = TIMES[word]
        return 1
    if (taken := _worded(draft) or _added(draft, word) or _signed(draft, word)) > 0:
        return taken
    if _NUMBER.fullmatch(word) is None:
        return 0
    return _range(draft, word) or _with_unit(draft, word) or _bare(draft, word)


def _signed(draft: SentenceDraft, word: str) -> int:
    """`-10%`, `minus 10%`."""
    if _SIGNED.fullmatch(word) and draft.word(1) in PERCENT:
        draft.percents.append(Fraction(word))
        return 2
    supposed = Topic.WHAT_IF in draft.topics and bool(draft.symbols)
    if _SIGNED.fullmatch(word) and supposed and abs(Fraction(word)) <= _MOST_PERCENT:
        # "What if btc -20".
        draft.percents.append(Fraction(word))
        return 1
    sign = {"minus": -1, "plus": 1}.get(word)
    if sign and _NUMBER.fullmatch(draft.word(1)) and draft.word(2) in PERCENT:
        draft.percents.append(sign * Fraction(plain_number(draft.word(1))))
        return 3
    return 0


def _worded(draft: SentenceDraft) -> int:
    """`ten percent`, `two thousand usdc`: a number only where what it counts follows."""
    found = worded_number(draft.words[draft.at : draft.at + _MOST_WORDS])
    if found is None:
        return 0
    number, taken = found
    if number == _BOTH and draft.word(-1) in _POINTING and not draft.is_symbol(draft.word(1)):
        # "Close those two that are out of range".
        draft.words = (*draft.words[: draft.at], "both", *draft.words[draft.at + 1 :])
        return 0
    # "The one USDC position" counts nothing, "add one USDC" does.
    told = forms().get((draft.word(-1),), ()) if draft.word() == "one" else _COUNTING
    counted = (*PERCENT, *TIMES, *DOLLARS)
    if number in draft.context.positions and _calls_position(draft, taken, counted):
        draft.ids.append(number)
        return taken
    symbol = draft.is_symbol(draft.word(taken)) and any(one in _COUNTING for one in told)
    if draft.word(taken) not in counted and not symbol:
        # What nothing is said of still stands in the way of taking everything.
        bare = number > 1 and draft.pair_at(taken) is None
        draft.numbers.extend((str(number),) if bare else ())
        return taken if bare else 0
    draft.words = (*draft.words[: draft.at], str(number), *draft.words[draft.at + taken :])
    return read_number(draft)


def _calls_position(draft: SentenceDraft, taken: int, counted: tuple[str, ...]) -> bool:
    """`is thirty six back in range`: nothing is counted by it, and no price is named."""
    unit = draft.word(taken)
    return (
        unit not in counted
        and not draft.is_symbol(unit)
        and draft.pair_at(taken) is None
        and draft.word(-1) not in ("by", "between", "from", "and", "to")
        and not draft.ids
    ) or (draft.at + taken == len(draft.words) and not draft.ids)


def _added(draft: SentenceDraft, word: str) -> int:
    """`+3k usdc`: more of it."""
    number = word.removeprefix("+")
    if number == word or _NUMBER.fullmatch(number) is None:
        return 0
    if not draft.is_symbol(draft.word(1)):
        return 0
    draft.topics.append(Topic.MORE)
    return _with_unit(draft, number)


def _range(draft: SentenceDraft, word: str) -> int:
    # "From 2850 up to 3400".
    joined = 2 if (draft.word(1), draft.word(2)) == ("up", "to") else 1
    join, second = draft.word(joined), draft.word(joined + 1)
    if join not in _RANGE_JOINS or _NUMBER.fullmatch(second) is None:
        return 0
    introduced = draft.word(-1) in ("between", "from")
    if draft.word(joined + 2) in (*PERCENT, *TIMES):
        return 0
    if join == "and" and draft.word(-1) != "between":
        return 0
    named = _is_position(draft, word) or _is_position(draft, second)
    both = _is_held(draft, word) and _is_held(draft, second)
    if (not introduced and join != "-" and named) or both:
        return 0
    if draft.prices is not None:
        return 0
    draft.prices = plain_number(word), plain_number(second)
    return joined + 2


def _with_unit(draft: SentenceDraft, word: str) -> int:
    unit = draft.word(1)
    if unit in PERCENT:
        _share(draft, Fraction(plain_number(word)))
        return 2
    if unit in BIPS:
        return _in_bips(draft, Fraction(plain_number(word)) / 100)
    lasts = unit in TIMES and _NUMBER.fullmatch(draft.word(2)) is None
    if lasts and _INTEGER.fullmatch(word):
        draft.seconds = int(word) * TIMES[unit]
        return 2
    if word.startswith("$") or unit in DOLLARS:
        return _in_dollars(draft, plain_number(word.removeprefix("$")), unit)
    return _of_token(draft, word, unit)


def _in_bips(draft: SentenceDraft, percent: Fraction) -> int:
    """A fee, or a part where something is taken: `reduce 26 by 3000 bps`."""
    beside = {draft.word(2), draft.word(3)} & {"pool", "tier", "fee", "one"}
    if percent >= 1 and not beside and any(one in _PARTED for one in draft.topics):
        draft.percents.append(percent)
    else:
        draft.fee = percent
    return 2


def _in_dollars(draft: SentenceDraft, number: str, unit: str) -> int:
    """`100 dollars of usdc` is an amount of that token; of any other it is a worth."""
    taken = 2 if unit in DOLLARS else 1
    while draft.word(taken) in ("of", "in", "worth"):
        taken += 1
    token = draft.word(taken).upper()
    if token in STABLE and draft.pair_at(taken) is None:
        draft.amounts.append(SpokenAmount(number, token))
        return taken + 1
    draft.dollars.append(number)
    return 2 if unit in DOLLARS else 1


def _of_token(draft: SentenceDraft, word: str, unit: str) -> int:
    if (pair := draft.pair_at(1)) is not None:
        if _INTEGER.fullmatch(word) and int(word) in draft.context.positions:
            draft.ids.append(int(word))
            return 1
        draft.amounts.append(SpokenAmount(plain_number(word), pair[0][0]))
        return 1
    taken = 3 if draft.word(2) == "my" else 2
    if unit == "of" and draft.is_symbol(draft.word(taken)) and not _is_position(draft, word):
        draft.amounts.append(SpokenAmount(plain_number(word), draft.word(taken).upper()))
        return taken + 1
    if draft.is_symbol(unit):
        if draft.word(2) in _WORDS_FOR_DIGITS and _is_named(draft, draft.word(3)):
            # "Trade .02 btc 4 weth", "add .3 weth 2 #35".
            said = _WORDS_FOR_DIGITS[draft.word(2)]
            draft.words = (*draft.words[: draft.at + 2], said, *draft.words[draft.at + 3 :])
        draft.topics.extend((Topic.MORE,) if draft.word(-1) == "another" else ())
        draft.amounts.append(SpokenAmount(plain_number(word), unit.upper()))
        return 2
    if unit == "more" and draft.is_symbol(draft.word(2)):
        draft.topics.append(Topic.MORE)
        draft.amounts.append(SpokenAmount(plain_number(word), draft.word(2).upper()))
        return 3
    return 0


def _is_named(draft: SentenceDraft, word: str) -> bool:
    """Whether a word names a token or a position."""
    return _is_held(draft, word) or draft.is_symbol(word) or _ID.fullmatch(word) is not None


def _share(draft: SentenceDraft, percent: Fraction) -> None:
    """A fee where it stands beside a pair or the word for a pool, else a part of something."""
    if _reaches_around(draft):
        draft.percents.append(percent)
        return
    beside = {draft.word(2), draft.word(3)} & {"pool", "tier", "fee", "one"}
    after_pair = draft.at > 0 and (draft.pairs or draft.symbols) and percent <= 1
    before_pair = draft.pair_at(2) is not None
    if percent < 1 and not before_pair and not any(one in _PARTED for one in draft.topics):
        before_pair = draft.is_symbol(draft.word(2))
    if percent <= 1 and (beside or after_pair or before_pair):
        draft.fee = percent
    else:
        draft.percents.append(percent)


def _reaches_around(draft: SentenceDraft) -> bool:
    """`±1%`, `1% either side`."""
    following = forms().get((draft.word(2), draft.word(3)), ())
    return draft.word(-1) == "±" or Topic.AROUND in following


def _bare(draft: SentenceDraft, word: str) -> int:
    if _is_change(draft, word):
        draft.percents.append(Fraction(word))
    elif _is_position(draft, word):
        draft.ids.append(int(word))
    elif _is_fee(draft, word):
        draft.fee = Fraction(word)
    elif _is_doubtful(draft, word):
        raise NotReadYetError("positions")
    else:
        draft.numbers.append(plain_number(word))
    return 1


def _is_change(draft: SentenceDraft, word: str) -> bool:
    """`what if btc is down 30`: in percent, though there is a position of that number."""
    supposing = Topic.WHAT_IF in draft.topics or Topic.IF in draft.topics[:1]
    before = forms().get((draft.word(-1),), ())
    moved = Topic.FALLS in before or Topic.RISES in before
    small = word.isdigit() and 0 < int(word) <= _MOST_PERCENT
    return small and supposing and moved and bool(draft.symbols)


def _is_fee(draft: SentenceDraft, word: str) -> bool:
    """`my weth/usdc 0.3`: the fee of a position that is held, where no amount is expected."""
    counting = any(one in (*_COUNTING, *_PARTED, Topic.ALERT) for one in draft.topics)
    if counting or not draft.pairs or not re.fullmatch(r"0?\.[0-9]+", word, re.ASCII):
        return False
    fee = f"{float(word):g}%"
    return any(one.fee.rstrip("*") == fee for one in draft.context.held or ())


def _is_position(draft: SentenceDraft, word: str) -> bool:
    """A whole number of a position that is held, or called one, or nothing else at all."""
    if _INTEGER.fullmatch(word) is None:
        return False
    if draft.word(-1) in ("position", "pos", "nft", "number", "lp") or int(word) in draft.ids:
        return True
    if draft.context.held is not None or draft.context.positions:
        return int(word) in draft.context.positions
    return not draft.ids and not draft.numbers and not _compared(draft)


def _is_held(draft: SentenceDraft, word: str) -> bool:
    return _INTEGER.fullmatch(word) is not None and int(word) in draft.context.positions


def _is_doubtful(draft: SentenceDraft, word: str) -> bool:
    """Whether only the positions tell which of several numbers is one of them."""
    unread = draft.context.held is None and not draft.context.positions
    return unread and _INTEGER.fullmatch(word) is not None and bool(draft.ids or draft.numbers)


def _compared(draft: SentenceDraft) -> bool:
    before = {Topic.BELOW, Topic.ABOVE, Topic.REACHES}
    return any(topic in before for topic in forms().get((draft.word(-1),), ()))
