"""A token as zuno speaks of it: an address first, then a name that may or may not be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.clean_text import without_own_marks
from chain.contracts.checksum import shortened

if TYPE_CHECKING:
    from chain.contracts.networks import Address

MOST_DECIMALS = 77
"""Ten to the 78th is beyond any uint256: with more decimals no amount could reach one token."""

_PLAIN_MARKS = "._-+₮"


class Token(Struct, frozen=True):
    address: Address
    symbol: str
    """What its contract calls it, cleaned; empty when it says nothing that can be shown."""
    decimals: int | None
    """None when its contract gives none that can be used; amounts then stay in raw units."""
    verified: bool
    """Its address is in the bundled list, and symbol and decimals are the list's."""
    suspicious: bool
    """Its symbol passes for a listed one, or held characters meant not to be seen."""

    @property
    def label(self) -> str:
        """The name to print: a bare symbol only for a token known by its address."""
        if self.verified:
            return self.symbol
        told = f"?{_one_word(self.symbol)} {shortened(self.address)}"
        return f"{told} look-alike" if self.suspicious else told


def _one_word(symbol: str) -> str:
    """A symbol that could be read as words of ours, between quotes it cannot close."""
    shown = without_own_marks(symbol)
    if all(letter.isalnum() or letter in _PLAIN_MARKS for letter in shown):
        return shown
    return f"“{shown}”"


def amount_text(amount: int, token: Token) -> str:
    """An amount to the last unit, with the token's name; raw units where decimals are unknown."""
    if token.decimals is None:
        return f"{amount} raw units of {token.label} (decimals unknown)"
    return f"{decimal_text(amount, token.decimals)} {token.label}"


def decimal_text(amount: int, decimals: int) -> str:
    """Whole tokens to the last unit, as `-1.25`."""
    sign = "-" if amount < 0 else ""
    whole, rest = divmod(abs(amount), 10**decimals)
    fraction = f"{rest:0{decimals}d}".rstrip("0") if rest else ""
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
