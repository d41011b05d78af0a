"""What a create phrase can be made of, once its words are understood."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from agents.numbers.profiles import RiskProfile
from chain.base.numerals import Numeral

if TYPE_CHECKING:
    from agents.numbers.shapes import ExposureBias
    from zuno_tui.prompt.create_words import KnownToken


class Separator(Struct, frozen=True):
    """Nothing in itself, but no amount reaches over it for its token."""


class Mention(Struct, frozen=True):
    token: KnownToken
    partner: bool
    """Introduced as the other side of the pair."""


class NamedPair(Struct, frozen=True):
    first: KnownToken
    second: KnownToken

    @property
    def name(self) -> str:
        return f"{self.first.symbol}/{self.second.symbol}"


class Exposure(Struct, frozen=True):
    bias: ExposureBias
    kept: KnownToken | None
    """The token to stay long in, where it was named."""


class Fee(Struct, frozen=True):
    pips: int


class PriceBounds(Struct, frozen=True):
    """The two prices between which liquidity is to work."""

    low: Numeral
    high: Numeral


class UnknownWord(Struct, frozen=True):
    text: str


class UnknownToken(Struct, frozen=True):
    """A word where a token belongs, but none of the network's list."""

    text: str


class Wrong(Struct, frozen=True):
    """Something that is understood and cannot be followed."""

    sentence: str


PhrasePart = (
    Separator
    | Numeral
    | Mention
    | NamedPair
    | Exposure
    | Fee
    | PriceBounds
    | RiskProfile
    | UnknownWord
    | UnknownToken
    | Wrong
)
