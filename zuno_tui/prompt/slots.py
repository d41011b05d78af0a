"""What a sentence names: positions, amounts, tokens, parts, prices, times, profiles, networks."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from msgspec import Struct

from agents.numbers.rules import RiskProfile
from chain.contracts.networks import all_networks
from chain.protocols.reference import PositionRef, read_position_ref, v4_position
from zuno_tui.intents.arguments import read_duration
from zuno_tui.intents.context import PhraseContext
from zuno_tui.prompt.create_parts import MEANINGS, known_symbols
from zuno_tui.prompt.days import day_length, day_text
from zuno_tui.prompt.named_networks import network_called
from zuno_tui.prompt.words import (
    Idea,
    SentenceToken,
    find_ideas,
    grammar,
    is_plain,
    is_spoken,
    plain,
    tokens_of,
)

ALIASES = {
    **dict.fromkeys(("ETH", "ETHER", "ETHEREUM"), ("ETH", "WETH")),
    **dict.fromkeys(("BTC", "BITCOIN"), ("BTC", "WBTC", "CBBTC", "TBTC")),
    "TETHER": ("USDT",),
    "CIRCLE": ("USDC",),
    **dict.fromkeys(("SOL", "SOLANA"), ("SOL",)),
    "CHAINLINK": ("LINK",),
}
"""What people call a token by, and what they may mean."""
STABLE = frozenset(("USDC", "USDT", "DAI", "PYUSD", "USDT0", "USDC.E", "EURC", "USDS", "GHO"))
"""Tokens that follow a currency."""
_COMMON_NAMES = {"BITCOIN": "BTC", "TETHER": "USDT", "CIRCLE": "USDC"}
_COMMON_NAMES |= {"SOLANA": "SOL", "CHAINLINK": "LINK"}
_COMMON_NAMES |= dict.fromkeys(("ETHER", "ETHEREUM"), "ETH")
DOLLARS = frozenset(("dollar", "dollars", "usd", "bucks", "cash", "stables"))
_PARTS = {"half": 50, "halve": 50, "third": 33, "quarter": 25, "fifth": 20, "tenth": 10}
_SEVERAL_PARTS = {("three", "quarters"): 75, ("two", "thirds"): 66, ("two", "fifths"): 40}
RANKS = ("most_fees", "worst", "best", "biggest", "smallest", "newest", "oldest")
"""Ideas that pick some positions out of all by a figure."""
_COUNTED = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS = {word: count for count, word in enumerate(_COUNTED, 2)}
_RISKS = {
    "low": RiskProfile.CONSERVATIVE,
    **dict.fromkeys(("mid", "medium", "moderate"), RiskProfile.BALANCED),
    "high": RiskProfile.AGGRESSIVE,
}
_FEE_WORDS = frozenset(("pool", "tier", "fee", "fees", "one", "position"))
_FEE_TIERS = frozenset((Fraction(1, 100), Fraction(5, 100), Fraction(3, 10)))
_TIMES = re.compile(r"x[0-9]{1,3}", re.ASCII)
_OF_WALLETS = frozenset(("wallet", "wallets", "account", "portfolio", "use", "called", "named"))
_BEFORE_TIME = frozenset(("for", "every", "each"))
_REPEATED = frozenset(("times", "moves"))
_BETWEEN_AMOUNT = frozenset(("of", "more", "worth", "in", "extra", "additional"))
_LARGEST_FRACTION = 10
_DIGITS = frozenset("0123456789")


class Amount(NamedTuple):
    number: str
    symbol: str


class Percent(NamedTuple):
    value: Fraction
    sign: str = ""
    worded: bool = False


class Sentence(Struct, frozen=True):
    tokens: tuple[SentenceToken, ...] = ()
    ideas: tuple[Idea, ...] = ()
    ids: tuple[PositionRef, ...] = ()
    """Numbers of positions that are held, or written with a #."""
    numbers: tuple[SentenceToken, ...] = ()
    """Numbers that nothing else explains: prices, or a position nobody holds."""
    percents: tuple[Percent, ...] = ()
    amounts: tuple[Amount, ...] = ()
    symbols: tuple[str, ...] = ()
    """Every token in order, those of amounts too."""
    described: tuple[str, ...] = ()
    """Tokens beside which no amount stands."""
    dollars: tuple[str, ...] = ()
    fee: Fraction | None = None
    seconds: int | None = None
    days: tuple[str, ...] = ()
    """Days, months and years, as `until` takes them: `1 dec`, `2026-02-01`."""
    times: int | None = None
    """`4 times`, `3 moves`, `x3`."""
    names: tuple[str, ...] = ()
    """ENS names, and words that nothing reads beside a wallet: `wallet cold`, `use cold`."""
    profile: str | None = None
    network: str | None = None
    twice: tuple[str, ...] = ()
    """Fees or times, where several were named and one is taken."""
    count: int = 1
    """`the three worst`: how many a rank picks."""
    unclear: str = ""
    """A number that can be read in two ways."""
    unread: str = ""
    """A number with letters behind it that are no unit and no token: `35zzz`."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(token.text for token in self.tokens)

    def has(self, *names: str) -> bool:
        return any(idea.name in names for idea in self.ideas)

    @property
    def verbs(self) -> tuple[Idea, ...]:
        return tuple(idea for idea in self.ideas if idea.is_verb)


def read_sentence(text: str, context: PhraseContext) -> Sentence:
    return sentence_of(tokens_of(text), context)


def sentence_of(tokens: tuple[SentenceToken, ...], context: PhraseContext) -> Sentence:
    reader = _SlotReader(tokens, context)
    reader.read()
    words = [token.text for token in tokens]
    return Sentence(
        tokens,
        _with_but_as_meant(find_ideas(words), words),
        tuple(dict.fromkeys(reader.ids)),
        tuple(reader.numbers),
        tuple(reader.percents),
        tuple(reader.amounts),
        tuple(dict.fromkeys(reader.symbols)),
        tuple(dict.fromkeys(reader.described)),
        tuple(reader.dollars),
        reader.fee,
        reader.seconds,
        tuple(dict.fromkeys(reader.days)),
        reader.times,
        tuple(dict.fromkeys(_names(words))),
        _profile(words),
        _network(words),
        reader.twice,
        reader.count,
        reader.unclear,
        next(filter(None, (_unread(token) for token in tokens)), ""),
    )


def _with_but_as_meant(ideas: tuple[Idea, ...], words: Sequence[str]) -> tuple[Idea, ...]:
    """`all of them but 27` leaves one out; any other `but` goes on."""
    every = [idea.place for idea in ideas if idea.name in _OF_SEVERAL]

    def leaves_out(idea: Idea) -> bool:
        goes_on = {each.name for each in ideas if each.place > idea.place}
        several = any(place < idea.place for place in every)
        return several and not any(each in goes_on for each in ("keep", "not", "if", "aside"))

    return tuple(
        idea
        for idea in ideas
        if idea.name != "except" or words[idea.place] != "but" or leaves_out(idea)
    )


_OF_SEVERAL = frozenset(("all", "them", "positions", "whole", "orders", "alerts"))


class _SlotReader:
    """Walks over the tokens once; what a number means follows from what stands beside it."""

    def __init__(self, tokens: Sequence[SentenceToken], context: PhraseContext) -> None:
        self._tokens = tokens
        self._held = frozenset(context.positions)
        ideas = find_ideas([token.text for token in tokens])
        self._ranks = {idea.place for idea in ideas if idea.name in RANKS}
        self._opens = not {idea.name for idea in ideas} & {
            "swap",
            "buy",
            "sell",
            "wrap",
            "unwrap",
            "price",
            "notify",
        }
        self._at = 0
        self.ids: list[PositionRef] = []
        self.numbers: list[SentenceToken] = []
        self.percents: list[Percent] = []
        self.amounts: list[Amount] = []
        self.symbols: list[str] = []
        self.described: list[str] = []
        self.dollars: list[str] = []
        self.fee: Fraction | None = None
        self.seconds: int | None = None
        self.days: list[str] = []
        self.times: int | None = None
        self._fees: list[str] = []
        self._spans: list[str] = []
        self.count = 1
        self.unclear = ""

    def read(self) -> None:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if self._is_count(token) or self._is_repeated(token):
                self._at += 1
            elif length := day_length(self._tokens[self._at :], self._word(-1)):
                self.days.append(day_text(self._tokens[self._at : self._at + length]))
                self._at += length
            elif token.number is not None:
                self._number(token, token.number)
            elif _TIMES.fullmatch(token.text):
                self.times = int(token.text[1:])
                self._at += 1
            elif not (self._part(token) or self._two_in_one(token)):
                symbol = symbol_of(token.text)
                if self._word(-1) == "for" and (span := read_duration(f"1{token.text}")):
                    self._time(span, f"a {token.text}")
                if symbol is not None:
                    self.symbols.append(symbol)
                    # `as eth`: what is paid out, and no position.
                    self.described += [symbol] * (self._word(-1) != "as")
                self._at += 1

    def _word(self, ahead: int) -> str:
        place = self._at + ahead
        return self._tokens[place].text if 0 <= place < len(self._tokens) else ""

    def _number(self, token: SentenceToken, value: Fraction) -> None:
        if not (
            self._is_id(token)
            or self._is_percent(token, value)
            or self._is_fraction(value)
            or self._is_time(token)
            or self._is_amount(token)
            or self._is_bare_fee(token, value)
            or self._is_held(token)
        ):
            self.numbers.append(token)
            self._at += 1

    def _is_count(self, token: SentenceToken) -> bool:
        """`three worst`, `worst 3`: beside a rank of one word or two."""
        beside = self._ranks & {self._at + 1, self._at - 1, self._at - 2}
        count = token.number if token.number is not None else _COUNTS.get(token.text)
        if not beside or token.is_id or count is None or count not in _COUNTS.values():
            return False
        self.count = int(count)
        return True

    def _is_repeated(self, token: SentenceToken) -> bool:
        if token.is_whole and self._word(1) in _REPEATED and token.number is not None:
            self.times = int(token.number)
            return True
        return False

    def _is_id(self, token: SentenceToken) -> bool:
        if token.is_id:
            self.ids.append(read_position_ref(token.text) or v4_position(0))
            self._at += 1
        return token.is_id

    def _is_percent(self, token: SentenceToken, value: Fraction) -> bool:
        follows = self._word(1)
        if follows in ("%", "percent"):
            after = self._word(2)
            is_fee = value in _FEE_TIERS or (value == 1 and after in _FEE_WORDS)
        elif follows in ("bps", "bp", "bips"):
            value = value * Fraction(1, 100)
            is_fee = value in _FEE_TIERS
        elif value in _FEE_TIERS and (
            (self.described and follows in _FEE_WORDS)
            or (follows, self._word(2)) == ("fee", "tier")
        ):
            # `my weth/usdc 0.3 one`
            self._fee(value)
            self._at += 1
            return True
        else:
            return False
        if is_fee:
            self._fee(value)
        else:
            sign = token.sign or ("-" if self._word(-1) == "minus" else "")
            self.percents.append(Percent(value, sign))
        self._at += 2
        return True

    def _fee(self, value: Fraction) -> None:
        self._fees.append(f"{plain(value)}%")
        self.fee = value

    def _is_bare_fee(self, token: SentenceToken, value: Fraction) -> bool:
        """`eth/usdc 0.05 with 1 eth`: behind a pair, and no amount of the next word."""
        pair = self._word(-1), self._word(-2 if self._word(-2) != "/" else -3)
        if value not in (*_FEE_TIERS, 1) or None in map(symbol_of, pair):
            return False
        if symbol_of(self._word(1)) or token.dollars or token.scaled or not self._opens:
            return False
        self._fee(value)
        self._at += 1
        return True

    def _is_fraction(self, value: Fraction) -> bool:
        below = self._tokens[self._at + 2].number if self._at + 2 < len(self._tokens) else None
        if self._word(1) != "/" or below is None or not 0 < value < below <= _LARGEST_FRACTION:
            return False
        if value.denominator != 1 or below.denominator != 1:
            return False
        self.percents.append(Percent(Fraction(int(value * 100 // below)), worded=True))
        self._at += 3
        return True

    def _is_time(self, token: SentenceToken) -> bool:
        minutes = token.scaled and self._word(-1) in _BEFORE_TIME and token.number is not None
        if minutes and token.number is not None:
            self._time(int(token.number * Fraction(60, 10**6)), f"{token.text} m")
            self._at += 1
            return True
        limit = self._word(1) in ("min", "m") and self._word(2)[:1] in _DIGITS
        seconds = None if limit else read_duration(f"{token.text}{self._word(1)}")
        if seconds is None:
            return False
        self._time(seconds, f"{token.text} {self._word(1)}")
        self._at += 2
        return True

    def _time(self, seconds: int, spoken: str) -> None:
        self._spans.append(spoken)
        self.seconds = seconds

    @property
    def twice(self) -> tuple[str, ...]:
        several = (dict.fromkeys(named) for named in (self._fees, self._spans))
        return tuple(each for named in several if len(named) > 1 for each in named)

    def _is_amount(self, token: SentenceToken) -> bool:
        ahead = 1
        while self._word(ahead) in _BETWEEN_AMOUNT:
            ahead += 1
        symbol = symbol_of(self._word(ahead))
        worth = 2 + (self._word(2) in _BETWEEN_AMOUNT)
        if self._word(1) in DOLLARS and symbol_of(self._word(worth)) in STABLE:
            # `100 dollars of usdc`
            ahead, symbol = worth, symbol_of(self._word(worth))
        elif self._word(1) in DOLLARS or token.dollars:
            self.dollars.append(token.text)
            self._at += 1 + (self._word(1) in DOLLARS)
            return True
        if symbol is None or (ahead > 1 and token.ref in self._held):
            return False
        if token.sign == "-":
            self.unclear = f"-{token.text}"
        self.amounts.append(Amount(token.text, symbol))
        self.symbols.append(symbol)
        self._at += ahead + 1
        return True

    def _is_held(self, token: SentenceToken) -> bool:
        changed = token.sign and symbol_of(self._word(-1)) is not None
        if token.scaled or not token.is_whole or token.sign == "+" or changed:
            return False
        if token.ref not in self._held:
            return False
        self.ids.append(token.ref)
        self._at += 1
        return True

    def _two_in_one(self, token: SentenceToken) -> bool:
        """`26,37` are two positions; `1,5` is a number that two people read differently."""
        parts = token.text.split(",")
        if len(parts) != 2 or not all(parts) or not _DIGITS.issuperset("".join(parts)):
            return False
        ids = [v4_position(int(part)) for part in parts]
        if self._held.issuperset(ids):
            self.ids += ids
        else:
            self.unclear = token.text
        self._at += 1
        return True

    def _part(self, token: SentenceToken) -> bool:
        several = _SEVERAL_PARTS.get((token.text, self._word(1)))
        part = several or _PARTS.get(token.text)
        if part is None:
            return False
        self._at += 2 if several else 1
        if any(self._word(ahead) in ("percent", "%") for ahead in range(3)):
            # `half a percent` is no half.
            self.unclear = f"{token.text} … percent"
        self.percents.append(Percent(Fraction(part), worded=True))
        return True


_AFTER_NUMBERS = frozenset(
    ("th", "st", "nd", "rd", "pct", "bps", "bp", "bips", "percent", "am", "pm", "gwei", "wei")
)


def _unread(token: SentenceToken) -> str:
    """The token as it was typed, where what is glued to its digits says nothing."""
    glued = token.glued
    known = (
        not glued
        or glued in _AFTER_NUMBERS
        or glued in DOLLARS
        or symbol_of(glued) is not None
        or read_duration(f"1{glued}") is not None
    )
    return "" if known else f"{token.text}{glued}"


def symbol_of(word: str) -> str | None:
    """The token of this name, as people write it, in capital letters."""
    upper = word.upper()
    return _COMMON_NAMES.get(upper, upper) if upper in symbols_anywhere() else None


def common_symbol(symbol: str, context: PhraseContext) -> str:
    """The symbol of what people call so: BTC is WBTC to a wallet whose positions hold that."""
    name = _COMMON_NAMES.get(symbol.upper(), symbol.upper())
    held = {known for position in context.held or () for known in position.symbols}
    fitting = [known for known in sorted(held) if names_symbol(name, known)]
    return fitting[0] if len(fitting) == 1 and name not in held and name != "ETH" else name


def names_symbol(word: str, symbol: str) -> bool:
    """Whether people call a token so: ETH is also said of WETH, but WETH not of ETH."""
    if word.lower() in DOLLARS:
        return symbol.upper() in STABLE
    return symbol.upper() in ALIASES.get(word.upper(), (word.upper(),))


@cache
def symbols_anywhere() -> frozenset[str]:
    known = (symbol.upper() for network in all_networks() for symbol in known_symbols(network))
    return frozenset((*known, *ALIASES)) - {"OP"}


def is_spoken_here(word: str) -> bool:
    """Whether anything here reads it; marks and single letters say nothing by themselves."""
    return (
        len(word) < 2
        or not word.isalnum()
        or is_spoken(word)
        or word in _PARTS
        or word in DOLLARS
        or word in _AFTER_NUMBERS
        or read_duration(f"1{word}") is not None
        or network_called((word,)) is not None
        or symbol_of(word) is not None
        or any(word in words for words in (*MEANINGS, *_SEVERAL_PARTS))
    )


def _profile(words: Sequence[str]) -> str | None:
    for place, word in enumerate(words):
        follows = words[place + 1] if place + 1 < len(words) else ""
        known = _RISKS.get(word) if follows == "risk" else MEANINGS.get((word,))
        if isinstance(known, RiskProfile) and (word, follows) != ("safe", "to"):
            denied = not {"not", "nothing"}.isdisjoint(words[max(0, place - 2) : place])
            return str((RiskProfile.CONSERVATIVE if denied else known).value)
    return None


def _names(words: Sequence[str]) -> Iterator[str]:
    for place, word in enumerate(words):
        beside = {*words[max(0, place - 2) : place + 2], "use" if words[:1] == ("use",) else ""}
        unread = word.isalpha() and not (find_ideas([word]) or is_plain(word) or symbol_of(word))
        if word.endswith(".eth") or (unread and not _OF_WALLETS.isdisjoint(beside)):
            yield word


def _network(words: Sequence[str]) -> str | None:
    for count in (2, 1):
        for place in range(len(words) - count + 1):
            network = network_called(words[place : place + count])
            if network is not None and words[place] not in ("eth", "arb", "op"):
                return network.name
    return None


def is_look(command: str) -> bool:
    return command in grammar().looks
