"""Prices of tokens, exact as fractions, and the worth of amounts in the unit a person counts in."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown, combine

if TYPE_CHECKING:
    from chain.contracts.networks import Address
    from chain.tokens import Token

DISPUTED_FROM = Fraction(2, 100)
"""From this relative difference on, two sources are said to disagree."""


class WorthUnit(StrEnum):
    """What a person counts their worth in."""

    USD = "USD"
    ETH = "ETH"


class PricedTwice(Known[Fraction], frozen=True):
    """The median of what two markets say, and what each of them says."""

    said: tuple[Known[Fraction], ...] = ()


class DollarPrice(Struct, frozen=True):
    """US dollars for one whole token."""

    usd: Quantity[Fraction]
    """By the best source that answered."""
    beside: Known[Fraction] | None
    """What a second source says, where one answered too."""
    said: tuple[Known[Fraction], ...] = ()
    """What each source says, where the first is of several."""

    @property
    def difference(self) -> Fraction | None:
        """How far the sources are apart, in parts of the larger; None without a second."""
        values = [source.value for source in self.sources]
        return (max(values) - min(values)) / max(values) if len(values) > 1 else None

    @property
    def sources(self) -> tuple[Known[Fraction], ...]:
        """Everybody who told a price."""
        if isinstance(self.usd, Unknown):
            return ()
        return self.said or (self.usd, *(() if self.beside is None else (self.beside,)))

    @property
    def highest(self) -> Quantity[Fraction]:
        """What the token may be worth at most, for limits that must hold whoever is right."""
        return max(self.sources, key=lambda source: source.value, default=self.usd)

    @property
    def is_disputed(self) -> bool:
        difference = self.difference
        return difference is not None and difference >= DISPUTED_FROM


_NEVER_ASKED = Unknown("its price was not asked for")


class PriceBook(Struct, frozen=True):
    """The prices read together, and what one ether was worth beside them."""

    prices: Mapping[Address, DollarPrice]
    ether: Quantity[Fraction]
    """US dollars for one ether."""

    def price(self, address: Address, unit: WorthUnit = WorthUnit.USD) -> Quantity[Fraction]:
        """The price of one whole token in this unit."""
        entry = self.prices.get(address)
        usd = _NEVER_ASKED if entry is None else entry.usd
        return usd if unit is WorthUnit.USD else combine(Fraction.__truediv__, usd, self.ether)

    def value(
        self, token: Token, amount: int, unit: WorthUnit = WorthUnit.USD
    ) -> Quantity[Fraction]:
        """What an amount in the token's smallest units is worth."""
        if amount == 0:
            return Known(Fraction(0), "nothing held")
        if token.decimals is None:
            return Unknown(f"{token.label} gives no usable decimals")
        whole = Fraction(amount, 10**token.decimals)
        return self.price(token.address, unit).map(lambda price: price * whole)

    @property
    def disputed_tokens(self) -> tuple[Address, ...]:
        """The tokens whose sources disagree."""
        return tuple(address for address, entry in self.prices.items() if entry.is_disputed)

    def dispute_words(self, tokens: Mapping[Address, Token]) -> tuple[str, ...]:
        """A sentence for each of these tokens whose sources disagree, with what each says."""
        return tuple(
            f"The price of {tokens[address].label} is disputed: {said_words(self.prices[address])}"
            for address in self.disputed_tokens
            if address in tokens
        )


def said_words(price: DollarPrice) -> str:
    return ", ".join(f"{source.source} ${float(source.value):,.6g}" for source in price.sources)
