"""One line of a wallet's ledger: so much of a token into or out of the wallet or a position."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from chain.base.quantity import Known, Quantity, Unknown

if TYPE_CHECKING:
    from chain.tokens import Token


class EntryKind(StrEnum):
    MINT = "mint"
    INCREASE = "increase"
    DECREASE = "decrease"
    COLLECT = "collect"
    """Fees that were paid out."""
    SWAP = "swap"
    WRAP = "wrap"
    """The coin into its wrapped form, or back."""
    GAS = "gas"
    TRADED = "traded"
    """What others' trades through its range made of a position: less of one token, more of the
    other."""
    TRANSFERRED = "transferred"
    """What came with a position from another wallet, or left with it, and all since."""
    FEES = "fees"
    """Earned and not collected."""
    ELSEWHERE = "elsewhere"
    """What came to or left the wallet by anything but the above."""
    REVALUED = "revalued"
    """No token moved: prices did."""


class LedgerAccount(StrEnum):
    WALLET = "wallet"
    POSITION = "position"


class LedgerPlace(NamedTuple):
    """When and where something happened; without a transaction where no single one did it."""

    time: int
    block: int
    transaction: str


class LedgerSubject(NamedTuple):
    """Where tokens went to or came from, and the position it was about."""

    account: LedgerAccount
    position: int | None


class PricedToken(NamedTuple):
    token: Token
    price: Quantity[Fraction]
    """US dollars for a whole one at the time that is spoken of."""


class LedgerEntry(Struct, frozen=True):
    time: int
    block: int
    transaction: str
    """Its hash; empty where no single transaction did it."""
    kind: EntryKind
    account: LedgerAccount
    position: int | None
    """The position it is about, where it is about one."""
    token: Token
    amount: int
    """In the token's smallest units, into the account; negative out of it."""
    price: Quantity[Fraction]
    """US dollars for a whole token at that time."""
    usd: Quantity[Fraction]


def entry_value(token: Token, amount: int, price: Quantity[Fraction]) -> Quantity[Fraction]:
    """US dollars of an amount at a price."""
    if amount == 0:
        return Known(Fraction(0), "nothing moved")
    if token.decimals is None:
        return Unknown(f"{token.label} gives no usable decimals")
    whole = Fraction(amount, 10**token.decimals)
    return price.map(lambda each: each * whole)


def ledger_entry(
    place: LedgerPlace, kind: EntryKind, subject: LedgerSubject, priced: PricedToken, amount: int
) -> LedgerEntry:
    value = entry_value(priced.token, amount, priced.price)
    return LedgerEntry(*place, kind, *subject, priced.token, amount, priced.price, value)
