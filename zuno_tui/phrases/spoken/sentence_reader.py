"""A sentence read word by word into what it names."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from zuno_tui.phrases.named_networks import network_called
from zuno_tui.phrases.phrase_error import NotReadYetError
from zuno_tui.phrases.spoken.lexicon import forms
from zuno_tui.phrases.spoken.number_words import PARTS, plain_number, worded_number
from zuno_tui.phrases.spoken.plain import plain_words
from zuno_tui.phrases.spoken.risk_words import risk_said
from zuno_tui.phrases.spoken.sentence import STABLE, Sentence, SpokenAmount
from zuno_tui.phrases.spoken.slips import topics_but_for_slip, without_slips
from zuno_tui.phrases.spoken.token_words import is_symbol, pair_at
from zuno_tui.phrases.spoken.topics import DEEDS, Topic
from zuno_tui.phrases.spoken.units import BIPS, DOLLARS, PERCENT, TIMES
from zuno_tui.phrases.spoken.whole_sentence import in_order, topics_of_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zuno_tui.phrases.context import PhraseContext

_NUMBER = re.compile(r"\$?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)[km]?", re.ASCII)
_SIGNED = re.compile(r"[+-](?:[0-9]+(?:\.[0-9]+)?)", re.ASCII)
_ID = re.compile(r"#([0-9]{1,77})", re.ASCII)
_INTEGER = re.compile(r"[0-9]{1,77}", re.ASCII)
_RANGE_JOINS = frozenset(("-", "to", "and", "through", "until"))
_COUNTING = (Topic.MORE, Topic.PUT, Topic.SWAP, Topic.BUY, Topic.OPEN, Topic.WRAP, Topic.UNWRAP)
_PARTED = (Topic.LESS, Topic.TAKE, Topic.REMOVE)
_ORDINALS = (("first",), ("last",))
_RANKED = frozenset(("one", "position", "pos", "lp", "nft", "pool", "of"))
_WORDS_FOR_DIGITS = {"4": "for", "2": "to"}
_MOST_PERCENT = 95
_MOST_WORDS = 5


def read_sentence(typed: Iterable[str], context: PhraseContext) -> Sentence:
    return _Reader(plain_words(typed), context).read()


class _Reader:
    """Walks over the words once; a number's role is told by what stands around it."""

    def __init__(self, words: tuple[str, ...], context: PhraseContext) -> None:
        self._words, mended = without_slips(words)
        self._context = context
        self._held = {symbol for one in context.held or () for symbol in one.symbols}
        self._at = 0
        self._topics: list[Topic] = []
        self._ids: list[int] = []
        self._numbers: list[str] = []
        self._percents: list[Fraction] = []
        self._amounts: list[SpokenAmount] = []
        self._dollars: list[str] = []
        self._pairs: list[tuple[str, str]] = []
        self._symbols: list[str] = []
        self._unknown: list[str] = []
        self._mended = [*mended]
        self._prices: tuple[str, str] | None = None
        self._fee: Fraction | None = None
        self._seconds: int | None = None
        self._profile: str | None = None
        self._network: str | None = None
        self._part = False

    def read(self) -> Sentence:
        whole = tuple(topics_of_whole(self._words))
        self._topics.extend(whole)
        while self._at < len(self._words):
            taken = (
                self._part_word()
                or self._number()
                or self._pair_or_symbol()
                or self._risk_or_network()
                or self._form()
            )
            self._at += taken or self._stranger()
        return Sentence(
            words=self._words,
            topics=in_order(self._topics, len(whole)),
            ids=tuple(dict.fromkeys(self._ids)),
            numbers=tuple(self._numbers),
            percents=tuple(self._percents),
            part=self._part,
            amounts=tuple(self._amounts),
            dollars=tuple(self._dollars),
            prices=self._prices,
            pairs=tuple(dict.fromkeys(self._pairs)),
            symbols=tuple(dict.fromkeys(self._symbols)),
            fee=self._fee,
            seconds=self._seconds,
            profile=self._profile,
            network=self._network,
            unknown=tuple(self._unknown),
            mended=tuple(self._mended),
        )

    def _word(self, ahead: int = 0) -> str:
        place = self._at + ahead
        return self._words[place] if 0 <= place < len(self._words) else ""

    def _part_word(self) -> int:
        for words, percent in PARTS:
            if self._words[self._at : self._at + len(words)] == words:
                self._percents.append(Fraction(percent))
                self._part = True
                if words == ("halve",):
                    self._topics.append(Topic.LESS)
                return len(words)
        return 0

    def _number(self) -> int:
        word = self._word()
        if (named := _ID.fullmatch(word)) is not None:
            self._ids.append(int(named[1]))
            return 1
        if word in TIMES and self._word(-1) == "for":
            # Articles are gone by now: "for a day" came as "for day".
            self._seconds = TIMES[word]
            return 1
        if (taken := self._worded() or self._added(word) or self._signed(word)) > 0:
            return taken
        if _NUMBER.fullmatch(word) is None:
            return 0
        return self._range(word) or self._with_unit(word) or self._bare(word)

    def _signed(self, word: str) -> int:
        """`-10%`, `minus 10%`."""
        if _SIGNED.fullmatch(word) and self._word(1) in PERCENT:
            self._percents.append(Fraction(word))
            return 2
        sign = {"minus": -1, "plus": 1}.get(word)
        if sign and _NUMBER.fullmatch(self._word(1)) and self._word(2) in PERCENT:
            self._percents.append(sign * Fraction(plain_number(self._word(1))))
            return 3
        return 0

    def _worded(self) -> int:
        """`ten percent`, `two thousand usdc`: a number only where what it counts follows."""
        found = worded_number(self._words[self._at : self._at + _MOST_WORDS])
        if found is None:
            return 0
        number, taken = found
        # "The one USDC position" counts nothing, "add one USDC" does.
        told = forms().get((self._word(-1),), ()) if self._word() == "one" else _COUNTING
        counted = (*PERCENT, *TIMES, *DOLLARS)
        if number in self._context.positions and self._calls_position(taken, counted):
            self._ids.append(number)
            return taken
        symbol = self._is_symbol(self._word(taken)) and any(one in _COUNTING for one in told)
        if self._word(taken) not in counted and not symbol:
            # What nothing is said of still stands in the way of taking everything.
            bare = number > 1 and self._pair_at(taken) is None
            self._numbers.extend((str(number),) if bare else ())
            return taken if bare else 0
        self._words = (*self._words[: self._at], str(number), *self._words[self._at + taken :])
        return self._number()

    def _calls_position(self, taken: int, counted: tuple[str, ...]) -> bool:
        """`is thirty six back in range`: nothing is counted by it, and no price is named."""
        unit = self._word(taken)
        return (
            unit not in counted
            and not self._is_symbol(unit)
            and self._pair_at(taken) is None
            and self._word(-1) not in ("by", "between", "from", "and", "to")
            and not self._ids
        ) or (self._at + taken == len(self._words) and not self._ids)

    def _added(self, word: str) -> int:
        """`+3k usdc`: more of it."""
        number = word.removeprefix("+")
        if number == word or _NUMBER.fullmatch(number) is None:
            return 0
        if not self._is_symbol(self._word(1)):
            return 0
        self._topics.append(Topic.MORE)
        return self._with_unit(number)

    def _range(self, word: str) -> int:
        # "From 2850 up to 3400".
        joined = 2 if (self._word(1), self._word(2)) == ("up", "to") else 1
        join, second = self._word(joined), self._word(joined + 1)
        if join not in _RANGE_JOINS or _NUMBER.fullmatch(second) is None:
            return 0
        introduced = self._word(-1) in ("between", "from")
        if self._word(joined + 2) in (*PERCENT, *TIMES):
            return 0
        if join == "and" and self._word(-1) != "between":
            return 0
        named = self._is_position(word) or self._is_position(second)
        if not introduced and join != "-" and named:
            return 0
        if self._prices is not None:
            return 0
        self._prices = plain_number(word), plain_number(second)
        return joined + 2

    def _with_unit(self, word: str) -> int:
        unit = self._word(1)
        if unit in PERCENT:
            self._share(Fraction(plain_number(word)))
            return 2
        if unit in BIPS:
            return self._in_bips(Fraction(plain_number(word)) / 100)
        lasts = unit in TIMES and _NUMBER.fullmatch(self._word(2)) is None
        if lasts and _INTEGER.fullmatch(word):
            self._seconds = int(word) * TIMES[unit]
            return 2
        if word.startswith("$") or unit in DOLLARS:
            return self._in_dollars(plain_number(word.removeprefix("$")), unit)
        return self._of_token(word, unit)

    def _in_bips(self, percent: Fraction) -> int:
        """A fee, or a part where something is taken: `reduce 26 by 3000 bps`."""
        beside = {self._word(2), self._word(3)} & {"pool", "tier", "fee", "one"}
        if percent >= 1 and not beside and any(one in _PARTED for one in self._topics):
            self._percents.append(percent)
        else:
            self._fee = percent
        return 2

    def _in_dollars(self, number: str, unit: str) -> int:
        """`100 dollars of usdc` is an amount of that token; of any other it is a worth."""
        taken = 2 if unit in DOLLARS else 1
        while self._word(taken) in ("of", "in", "worth"):
            taken += 1
        token = self._word(taken).upper()
        if token in STABLE and self._pair_at(taken) is None:
            self._amounts.append(SpokenAmount(number, token))
            return taken + 1
        self._dollars.append(number)
        return 2 if unit in DOLLARS else 1

    def _of_token(self, word: str, unit: str) -> int:
        if (pair := self._pair_at(1)) is not None:
            if _INTEGER.fullmatch(word) and int(word) in self._context.positions:
                self._ids.append(int(word))
                return 1
            self._amounts.append(SpokenAmount(plain_number(word), pair[0][0]))
            return 1
        taken = 3 if self._word(2) == "my" else 2
        if unit == "of" and self._is_symbol(self._word(taken)) and not self._is_position(word):
            self._amounts.append(SpokenAmount(plain_number(word), self._word(taken).upper()))
            return taken + 1
        if self._is_symbol(unit):
            if self._word(2) in _WORDS_FOR_DIGITS and self._is_symbol(self._word(3)):
                # "Trade .02 btc 4 weth".
                said = _WORDS_FOR_DIGITS[self._word(2)]
                self._words = (*self._words[: self._at + 2], said, *self._words[self._at + 3 :])
            self._topics.extend((Topic.MORE,) if self._word(-1) == "another" else ())
            self._amounts.append(SpokenAmount(plain_number(word), unit.upper()))
            return 2
        if unit == "more" and self._is_symbol(self._word(2)):
            self._topics.append(Topic.MORE)
            self._amounts.append(SpokenAmount(plain_number(word), self._word(2).upper()))
            return 3
        return 0

    def _share(self, percent: Fraction) -> None:
        """A fee where it stands beside a pair or the word for a pool, else a part of something."""
        if self._reaches_around():
            self._percents.append(percent)
            return
        beside = {self._word(2), self._word(3)} & {"pool", "tier", "fee", "one"}
        after_pair = self._at > 0 and (self._pairs or self._symbols) and percent <= 1
        before_pair = self._pair_at(2) is not None
        if percent < 1 and not before_pair and not any(one in _PARTED for one in self._topics):
            before_pair = self._is_symbol(self._word(2))
        if percent <= 1 and (beside or after_pair or before_pair):
            self._fee = percent
        else:
            self._percents.append(percent)

    def _reaches_around(self) -> bool:
        """`±1%`, `1% either side`."""
        following = forms().get((self._word(2), self._word(3)), ())
        return self._word(-1) == "±" or Topic.AROUND in following

    def _bare(self, word: str) -> int:
        if self._is_change(word):
            self._percents.append(Fraction(word))
        elif self._is_position(word):
            self._ids.append(int(word))
        elif self._is_fee(word):
            self._fee = Fraction(word)
        elif self._is_doubtful(word):
            raise NotReadYetError("positions")
        else:
            self._numbers.append(plain_number(word))
        return 1

    def _is_change(self, word: str) -> bool:
        """`what if btc is down 30`: in percent, though there is a position of that number."""
        supposing = Topic.WHAT_IF in self._topics or Topic.IF in self._topics[:1]
        before = forms().get((self._word(-1),), ())
        moved = Topic.FALLS in before or Topic.RISES in before
        small = word.isdigit() and 0 < int(word) <= _MOST_PERCENT
        return small and supposing and moved and bool(self._symbols)

    def _is_fee(self, word: str) -> bool:
        """`my weth/usdc 0.3`: the fee of a position that is held, where no amount is expected."""
        counting = any(one in (*_COUNTING, *_PARTED, Topic.ALERT) for one in self._topics)
        if counting or not self._pairs or not re.fullmatch(r"0?\.[0-9]+", word, re.ASCII):
            return False
        fee = f"{float(word):g}%"
        return any(one.fee.rstrip("*") == fee for one in self._context.held or ())

    def _is_position(self, word: str) -> bool:
        """A whole number of a position that is held, or called one, or nothing else at all."""
        if _INTEGER.fullmatch(word) is None:
            return False
        if self._word(-1) in ("position", "pos", "nft", "number", "lp") or int(word) in self._ids:
            return True
        if self._context.held is not None or self._context.positions:
            return int(word) in self._context.positions
        return not self._ids and not self._numbers and not self._compared()

    def _is_doubtful(self, word: str) -> bool:
        """Whether only the positions tell which of several numbers is one of them."""
        unread = self._context.held is None and not self._context.positions
        return unread and _INTEGER.fullmatch(word) is not None and bool(self._ids or self._numbers)

    def _compared(self) -> bool:
        before = {Topic.BELOW, Topic.ABOVE, Topic.REACHES}
        return any(topic in before for topic in forms().get((self._word(-1),), ()))

    def _pair_or_symbol(self) -> int:
        if (found := self._pair_at(0)) is not None:
            pair, taken = found
            if pair[1] in ("USD", "DOLLAR"):
                self._symbols.append(pair[0])
                self._topics.append(Topic.PRICE)
            else:
                self._pairs.append(pair)
            return taken
        if self._is_symbol(self._word()):
            self._symbols.append(self._word().upper())
            return 1
        return 0

    def _pair_at(self, ahead: int) -> tuple[tuple[str, str], int] | None:
        return pair_at(self._words[self._at + ahead :], self._held)

    def _is_symbol(self, word: str) -> bool:
        return is_symbol(word, self._held)

    def _risk_or_network(self) -> int:
        if (risk := risk_said(self._words[self._at :])) is not None:
            self._profile, taken = risk
            return taken
        for count in (2, 1):
            named = self._words[self._at : self._at + count]
            if self._words[self._at : self._at + 2] in forms():
                # "The base fee".
                return 0
            if len(named) == count and (network := network_called(named)) is not None:
                self._network = network.name
                return count
        return 0

    def _form(self) -> int:
        for count in range(_MOST_WORDS, 0, -1):
            form = self._words[self._at : self._at + count]
            if len(form) == count and form in forms() and not self._ends_in_longer(count):
                # "Get out of 36" does not ask to see it, "collect first" names no position.
                fetching = form == ("get",) and Topic.TAKE in self._topics
                unranked = form in _ORDINALS and not self._names_rank()
                self._topics.extend(() if fetching or unranked else forms()[form])
                return count
        return 0

    def _names_rank(self) -> bool:
        """`my first position`, `the last one`."""
        return self._word(1) in _RANKED or self._word(-1) in ("my", "our")

    def _ends_in_longer(self, count: int) -> bool:
        """Whether the last word of a form begins a longer one: `close | out of range`."""
        start = self._at + count - 1
        most = min(_MOST_WORDS, len(self._words) - start)
        longer = range(max(count, 2), most + 1) if count > 1 else ()
        return any(self._words[start : start + each] in forms() for each in longer)

    def _stranger(self) -> int:
        word = self._word()
        topics = topics_but_for_slip(word)
        # "So i can sleep" is no sweep where something else is to be done.
        doing = {*DEEDS, Topic.PUT}.intersection(self._topics)
        second = doing and DEEDS.intersection(topics or ())
        if topics is not None and not second:
            self._topics.extend(topics)
            self._mended.append(word)
            return 1
        if word not in ("-", "/", "%", ","):
            self._unknown.append(word)
        return 1
