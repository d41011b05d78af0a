"""What a sentence says that its command lines do not: nothing that carries a value is dropped."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain

from chain.protocols.reference import PositionRef, position_label, position_name, read_position_ref
from zuno_tui.intents.arguments import read_duration
from zuno_tui.intents.context import PhraseContext, SpokenPosition
from zuno_tui.prompt.days import span_of
from zuno_tui.prompt.figures import width
from zuno_tui.prompt.positions import position_of
from zuno_tui.prompt.slots import (
    DOLLARS,
    Percent,
    Sentence,
    is_look,
    is_spoken_here,
    names_symbol,
    symbol_of,
)
from zuno_tui.prompt.words import grammar, plain

_SPAN = r"(?:second|sec|minute|min|hour|hr|day|week|month|year)s?|while|bit|moment"
_COUNT = r"(?:(?:about|next|few|couple|of|half|one|two|three|four|five|[0-9.]+) )*"
_CLOCK = re.compile(
    r"(?<!since )\b(?:midnight|noon|midday|tonight|[0-9]+ oclock|[0-9]+(?: : [0-9]+)? [ap]m|"
    rf"(?:at|by|around|@) [0-9]{{1,2}} : [0-9]{{1,2}}|(?:in|within) {_COUNT}(?:{_SPAN}|h))\b"
)
_WORD = re.compile(r"[^\s?;,()'«»:$%]+(?::[0-9]+)?")
_ENS = re.compile(r"[a-z0-9]\.eth\b")
_WHOLE, _TWO = 100, 2
_TERSE = 5
_ROUNDED = 1
"""A third is 33% or 34%."""
_ENDS = frozenset(("until", "till"))
_TURNED_INTO = frozenset(("into", "to", "as"))
_PAID_IN = _TURNED_INTO | frozenset(("in", "for", "give", "get", "receive", "want"))
_PLAINLY = frozenset(("plain", "raw", "real", "native", "pure", "only"))
_SPOKEN_SPANS = frozenset(("today", "yesterday", "week", "month", "24h"))


def unused_of(
    sentence: Sentence, said: Sequence[str], context: PhraseContext, *, asked: bool = False
) -> tuple[str, ...]:
    """Numbers, coins, fees, times, rhythms and ends that none of these has.

    Lines that name a position have its pair and fee, too; a question has its words alone.
    """
    there = _Said(said, context, asked=asked)
    found = [*_figures(sentence, there), *_coins(sentence, there), *_days(sentence, there)]
    found += (each for each in sentence.twice if not there.has(each))
    found += _rhythms(sentence, there)
    ends = {"until"} if asked else {"until", "to"}
    found += (word for word in sentence.words if word in _ENDS and there.words.isdisjoint(ends))
    found += _limited(sentence, there)
    found += _unknown(sentence, there)
    return tuple(dict.fromkeys(found))


class _Said:
    """Command lines, or a question and its choices, as what they name."""

    def __init__(self, said: Sequence[str], context: PhraseContext, *, asked: bool) -> None:
        self.text = text = " ".join(said).replace(",", "").lower()
        bare = [word.strip(".#-").lower() for word in _WORD.findall(text)]
        self.words = frozenset(bare)
        self.spans = frozenset(filter(None, map(read_duration, self.words)))
        timed = {word for word in bare if read_duration(word) is not None}
        self.numbers = frozenset(chain.from_iterable(map(_number, {*bare} - timed)))
        self.words |= _IMPLIED.get(next(iter(bare), ""), frozenset())
        refs = {read_position_ref(word) for word in self.words} - {None}
        if not {"mute", "ack"}.isdisjoint(bare[:2]) or bare[:2] == ["alerts", "show"]:
            refs = {ref for alert, ref in context.alerts_of or () if {alert, "all"} & self.words}
        everything = "all" in self.words and not asked
        held = () if asked or everything else context.held or ()
        self.positions = [each for each in held if each.ref in refs]
        self._everything, self._refs, self._context = everything, refs, context
        self.asked = asked
        self.acts = not (asked or is_look(next(iter(bare), "")))

    def names(self, ref: PositionRef) -> bool:
        known = self._everything and position_of(ref, self._context) is not None
        return known or ref in self._refs

    def holds(self, symbol: str) -> bool:
        if self._refs and self._context.held is None:
            return True  # nobody has read what the positions hold
        named = any(names_symbol(symbol, word.upper()) for word in self.words)
        held = (known for position in self.positions for known in position.symbols)
        return named or any(names_symbol(symbol, known) for known in held)

    def has(self, spoken: str) -> bool:
        """`0.05%`, `2 hours`: by its number."""
        return all(number in self.numbers for number in _number(spoken))

    @property
    def network(self) -> str:
        return self._context.network


_IMPLIED = {verb: frozenset(("eth", "weth")) for verb in ("wrap", "unwrap")}


def _number(word: str) -> Iterator[Fraction]:
    for part in re.findall(r"[0-9]+(?:\.[0-9]+)?", word):
        yield Fraction(part)


def _figures(sentence: Sentence, there: _Said) -> Iterator[str]:
    left_out = not there.asked and sentence.has("except", "not", "keep")
    for ref in sentence.ids:
        if not (there.names(ref) or left_out or position_name(ref) in there.words):
            yield position_label(ref)
    around = width(sentence)
    for token in sentence.numbers:
        if token.number not in there.numbers and (around is None or len(there.numbers) < _TWO):
            yield token.text
    for percent in sentence.percents:
        ordinal = percent.worded and not there.words.isdisjoint(("ack", "mute"))
        if not (around or ordinal or _is_part(percent, there)):
            yield f"{plain(percent.value)}%"
    for number, symbol in sentence.amounts:
        if Fraction(number) not in there.numbers or not there.holds(symbol):
            yield f"{number} {symbol}"
    for dollars in sentence.dollars:
        if Fraction(dollars) not in there.numbers:
            yield f"${dollars}"
    if sentence.fee is not None and not _has_fee(sentence.fee, there):
        yield f"{plain(sentence.fee)}%"
    yield from _lengths(sentence, there)


def _lengths(sentence: Sentence, there: _Said) -> Iterator[str]:
    if sentence.times is not None and sentence.times not in there.numbers:
        yield f"{sentence.times} times"
    if sentence.seconds is not None and not _has_span(sentence.seconds, there):
        yield next(iter(_times(sentence)), f"{sentence.seconds} s")


def _is_part(percent: Percent, there: _Said) -> bool:
    """As it is, as what stays, or the whole, which needs no number."""
    near = (percent.value, _WHOLE - percent.value)
    away = _ROUNDED if percent.worded else 0
    return percent.value == _WHOLE or any(
        abs(known - each) <= away for known in there.numbers for each in near
    )


def _has_fee(fee: Fraction, there: _Said) -> bool:
    def has(position: SpokenPosition) -> bool:
        return position.fee.rstrip("*") == f"{plain(fee)}%"

    return fee in there.numbers or any(map(has, there.positions))


def _has_span(seconds: int, there: _Said) -> bool:
    return seconds in there.spans or not _SPOKEN_SPANS.isdisjoint(there.words)


def _times(sentence: Sentence) -> Iterator[str]:
    for token, behind in zip(sentence.tokens, (*sentence.words[1:], ""), strict=False):
        if token.number is not None and read_duration(f"{token.text}{behind}") is not None:
            yield f"{token.text} {behind}"


def _coins(sentence: Sentence, there: _Said) -> Iterator[str]:
    for symbol in sentence.described:
        if not (there.holds(symbol) or sentence.has("except")):
            yield symbol
    if sentence.network and sentence.network not in (there.network, *there.words):
        yield sentence.network
    yield from (word for word in sentence.words if _ENS.search(word) and word not in there.text)


def _days(sentence: Sentence, there: _Said) -> Iterator[str]:
    """Weekdays, months and seasons, which no command takes."""
    ends = [end for end in span_of(sentence.days, sentence.words) if end]
    within = ends and all(end in there.text for end in ends)
    yield from (day for day in sentence.days if day not in there.text and not within)
    days = set() if within else _other_days() | {"tomorrow"}
    if not spoken_rhythms(sentence):
        yield from (word for word in sentence.words if word in days and word not in there.text)


def _rhythms(sentence: Sentence, there: _Said) -> Iterator[str]:
    spoken = spoken_rhythms(sentence)
    if there.text.startswith("order "):
        # An order does so by itself.
        spoken = tuple(each for each in spoken if each not in _BY_ITSELF)
    times = " ".join(spoken)
    another = any(time not in times for time in _times(sentence))
    if len(spoken) > 1 or another or "every" not in there.words:
        yield from (each for each in spoken if each not in there.text)


_BY_ITSELF = frozenset(("auto", "automatic", "automatically", "always", "whenever", "every time"))


def clock_times(sentence: Sentence) -> tuple[str, ...]:
    """`5pm`, `noon`, `in 20 minutes`: when something is to happen."""
    found = _CLOCK.findall(" ".join(sentence.words))
    hours = (re.sub(r" : ([0-9]+)", lambda minutes: f":{minutes[1]:0>2}", each) for each in found)
    return tuple(re.sub(r"(?<=[0-9]) (?=[ap]m)", "", each) for each in hours)


def spoken_rhythms(sentence: Sentence) -> tuple[str, ...]:
    """`every friday`, `each 7 days`, `every time`, `weekly`: how often, as it was said."""
    return tuple(_often(sentence.words))


def _often(words: Sequence[str]) -> Iterator[str]:
    for place, word in enumerate(words):
        if word in _listed("often"):
            yield word
        if word not in ("every", "each"):
            continue
        behind = words[place + 1 : place + 3]
        timed = behind[:1] and (behind[0] in _listed("period") | _other_days())
        counted = len(behind) > 1 and read_duration("".join(behind)) is not None
        if timed or counted:
            yield " ".join((word, *(behind if counted else behind[:1])))


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(word.strip() for word in grammar().words[name].split(","))


def _other_days() -> frozenset[str]:
    return _listed("other_period") - {"quarter", "hour", "hourly"}


def _limited(sentence: Sentence, there: _Said) -> Iterator[str]:
    """`only the usdc`, `27 in usdc`: of a pair that comes whole."""
    words = sentence.words
    takes_out = not there.words.isdisjoint(("close", "collect", "decrease"))
    for place, word in enumerate(words):
        plainly = words[place + 1 : place + 2] and words[place + 1] in _PLAINLY
        behind = words[place + 1 + bool(plainly) : place + 2 + bool(plainly)]
        coin = behind and (symbol_of(behind[0]) in sentence.symbols or behind[0] in DOLLARS)
        # Without a number `in usdc` says which positions are meant.
        into = takes_out and word in (_PAID_IN if sentence.ids else _TURNED_INTO)
        if (word == "only" or into) and coin and behind[0] not in there.words:
            yield f"{word} {behind[0]}"


def _unknown(sentence: Sentence, there: _Said) -> Iterator[str]:
    """Words that nothing here reads, where they are meant: in a line as terse as a command's, led
    to by a preposition, like `in euros`, or telling in which way, like `gradually`.
    """
    terse = len(sentence.words) <= _TERSE and not there.asked
    for place, word in enumerate(sentence.words):
        led = place and sentence.words[place - 1] in grammar().leads.split()
        if (
            (led or (there.acts and (terse or word.endswith("ly"))))
            and _is_unread(word, sentence)
            and word not in there.text
        ):
            yield word


def unread_words(sentence: Sentence, said: Sequence[str]) -> tuple[str, ...]:
    """Words that nothing here reads: beside an act each of them is told."""
    text = " ".join(said).lower()
    unread = (word for word in sentence.words if _is_unread(word, sentence))
    return tuple(dict.fromkeys(word for word in unread if word not in text))


def _is_unread(word: str, sentence: Sentence) -> bool:
    read = is_spoken_here(word) or (sentence.times and word == f"x{sentence.times}")
    return word[0].isalpha() and not read
