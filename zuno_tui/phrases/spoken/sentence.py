"""What a sentence names: topics, numbers by their role, tokens, times, the unknown."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.networks import all_networks
from zuno_tui.phrases.create_words import known_symbols
from zuno_tui.phrases.spoken.topics import Topic

if TYPE_CHECKING:
    from fractions import Fraction

ALIASES = {
    "ETH": ("ETH", "WETH"),
    "ETHER": ("ETH", "WETH"),
    "ETHEREUM": ("ETH", "WETH"),
    "BTC": ("BTC", "WBTC", "CBBTC", "TBTC"),
    "TETHER": ("USDT",),
    "CIRCLE": ("USDC",),
    "BITCOIN": ("BTC", "WBTC", "CBBTC", "TBTC"),
}
"""What people call a token by, and what they may mean."""

STABLE = frozenset(("USDC", "USDT", "DAI", "PYUSD", "USDT0", "USDC.E", "EURC", "USDS", "GHO"))
"""Tokens that follow a currency."""


DOLLAR_NAMES = frozenset(("USD", "DOLLAR", "DOLLARS"))
"""What any token that follows the dollar is called beside another one."""


class SpokenAmount(Struct, frozen=True):
    number: str
    symbol: str


class Sentence(Struct, frozen=True):
    words: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()
    """In order, each form's all."""
    ids: tuple[int, ...] = ()
    numbers: tuple[str, ...] = ()
    """Bare: nothing says what they count."""
    percents: tuple[Fraction, ...] = ()
    part: bool = False
    """Whether a part was said as a word, like half."""
    amounts: tuple[SpokenAmount, ...] = ()
    dollars: tuple[str, ...] = ()
    prices: tuple[str, str] | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    symbols: tuple[str, ...] = ()
    fee: Fraction | None = None
    seconds: int | None = None
    profile: str | None = None
    network: str | None = None
    unknown: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    """Words that are known but for a slip of the fingers."""

    def has(self, *topics: Topic) -> bool:
        return any(topic in self.topics for topic in topics)

    @property
    def first(self) -> Topic | None:
        return next((topic for topic in self.topics if topic is not Topic.FILLING), None)

    @property
    def first_word(self) -> str:
        return self.words[0] if self.words else ""

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Every token that is named, however."""
        paired = (symbol for pair in self.pairs for symbol in pair)
        return (*self.symbols, *(one.symbol for one in self.amounts), *paired)


def names_symbol(word: str, symbol: str) -> bool:
    """Whether people call a token so: ETH is also said of WETH, but WETH not of ETH."""
    if word.upper() in DOLLAR_NAMES:
        return symbol.upper() in STABLE
    return symbol.upper() in ALIASES.get(word.upper(), (word.upper(),))


@cache
def symbols_anywhere() -> frozenset[str]:
    known = (symbol.upper() for network in all_networks() for symbol in known_symbols(network))
    return frozenset((*known, *ALIASES))
