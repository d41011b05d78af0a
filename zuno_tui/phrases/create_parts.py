"""What a create phrase can be made of, once its words are understood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.numbers.profiles import RiskProfile
from zuno_tui.phrases.amounts import Numeral

if TYPE_CHECKING:
    from agents.numbers.shapes import ExposureBias
    from zuno_tui.phrases.create_words import KnownToken


@dataclass(frozen=True, slots=True)
class Separator:
    """Nothing in itself, but no amount reaches over it for its token."""


@dataclass(frozen=True, slots=True)
class Mention:
    token: KnownToken
    partner: bool
    """Introduced as the other side of the pair."""


@dataclass(frozen=True, slots=True)
class NamedPair:
    first: KnownToken
    second: KnownToken

    @property
    def name(self) -> str:
        return f"{self.first.symbol}/{self.second.symbol}"


@dataclass(frozen=True, slots=True)
class Exposure:
    bias: ExposureBias
    kept: KnownToken | None
    """The token to stay long in, where it was named."""


@dataclass(frozen=True, slots=True)
class Fee:
    pips: int


@dataclass(frozen=True, slots=True)
class UnknownWord:
    text: str


@dataclass(frozen=True, slots=True)
class UnknownToken:
    """A word where a token belongs, but none of the network's list."""

    text: str


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that is understood and cannot be followed."""

    sentence: str


PhrasePart = (
    Separator
    | Numeral
    | Mention
    | NamedPair
    | Exposure
    | Fee
    | RiskProfile
    | UnknownWord
    | UnknownToken
    | Wrong
)
