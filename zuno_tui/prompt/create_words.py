"""The words of a create phrase, as data, and the tokens it may name."""

from __future__ import annotations

from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.numbers.profiles import RiskProfile
from agents.numbers.shapes import ExposureBias
from chain.contracts.networks import Address, Network, all_networks
from chain.tokens.token import TokenClass, listed_tokens

if TYPE_CHECKING:
    from zuno_tui.prompt.pieces import Words


class Part(Enum):
    """What a word does in a phrase when it is no condition of its own."""

    FILLER = auto()
    """Says nothing, and separates what stands around it."""
    LINK = auto()
    """Says nothing, and may stand between an amount and its token."""
    PARTNER = auto()
    """The other token of the pair follows."""
    KEEP = auto()
    """The token to stay long in follows."""
    BASIS_POINTS = auto()
    """The number before it is a fee."""
    BETWEEN = auto()
    """The two prices of a range follow."""


class Refusal(Struct, frozen=True):
    """Words that mean something, but nothing zuno would guess at."""

    sentence: str


Meaning = RiskProfile | ExposureBias | Part | Refusal

_WIDTHS = Refusal("Widths follow from the risk: say conservative, balanced or aggressive.")
_NUMBERS = Refusal("Amounts are numbers, like 0.5 WETH or 1,000 USDC.")

_RISKS: tuple[tuple[RiskProfile, Words], ...] = (
    (
        RiskProfile.CONSERVATIVE,
        ("conservative", "passive", "safe", "cautious", "careful", "defensive"),
    ),
    (RiskProfile.BALANCED, ("balanced", "moderate", "medium", "normal")),
    (RiskProfile.AGGRESSIVE, ("aggressive", "active", "yolo", "degen", "spicy", "risky")),
)
"""Each may end in -ly."""

_PHRASES: tuple[tuple[Meaning, Words], ...] = (
    (RiskProfile.BALANCED, ("neutral risk", "risk neutral")),
    (ExposureBias.NEUTRAL, ("neutral", "50/50")),
    (ExposureBias.LONG_TOKEN, ("stay long", "stay in", "long exposure", "long token")),
    (ExposureBias.LONG_TOKEN, ("don't sell", "dont sell", "do not sell")),
    (Part.FILLER, ("create", "open", "mint", "provide", "add", "deposit", "please", "new", "and")),
    (Part.FILLER, ("position", "lp", "liquidity", "range", "pool", "pair", "network", "chain")),
    (Part.FILLER, ("into", "using", "in", "at", "fee", "tier", "risk", "profile", "exposure")),
    (Part.LINK, ("a", "an", "of", "the", "my")),
    (Part.PARTNER, ("with", "against", "vs")),
    (Part.KEEP, ("keep", "hold")),
    (Part.BETWEEN, ("between", "from")),
    (Part.BASIS_POINTS, ("bps", "bp", "bips", "basis points")),
    (_WIDTHS, ("stay in range", "wide", "wider", "narrow", "narrower", "tight", "tighter")),
    (_NUMBERS, ("half", "all", "everything", "max", "some")),
)


def _by_words() -> dict[Words, Meaning]:
    meanings: dict[Words, Meaning] = {}
    for meaning, phrases in _PHRASES:
        meanings.update((tuple(phrase.split()), meaning) for phrase in phrases)
    for profile, words in _RISKS:
        meanings.update(((form,), profile) for word in words for form in (word, f"{word}ly"))
    return meanings


MEANINGS = _by_words()
INTRODUCES_KEPT = frozenset(("in", "to", "my", "the", "of"))
"""What may stand between `stay long` and the token it speaks of."""


class KnownToken(Struct, frozen=True):
    address: Address
    symbol: str
    decimals: int
    stable: bool
    """Whether it follows a currency: then `stay long` alone hardly means this one."""


@cache
def known_tokens(network: Network) -> dict[str, KnownToken]:
    """The network's bundled tokens, by symbol and by address, both in small letters."""
    known = [
        KnownToken(
            item.token.address,
            item.token.symbol,
            item.token.decimals,
            stable=item.kind in (TokenClass.DOLLAR, TokenClass.EURO),
        )
        for item in listed_tokens(network).tokens
        if item.token.decimals is not None
    ]
    by_symbol = {token.symbol.lower(): token for token in known}
    return by_symbol | {token.address: token for token in known}


@cache
def known_symbols(network: Network) -> Words:
    return tuple(dict.fromkeys(token.symbol for token in known_tokens(network).values()))


@cache
def vocabulary(network: Network) -> Words:
    """All that can be offered in place of a word nobody knows."""
    meant = (words for words, meaning in MEANINGS.items() if not isinstance(meaning, Refusal))
    networks = (f"on {known.name}" for known in all_networks())
    return (*known_symbols(network), *(" ".join(words) for words in meant), *networks)
