"""What addresses and amounts are called in the sentences about a transaction."""

from collections.abc import Mapping

from msgspec import Struct, field

from chain.contracts.addresses import checksum
from chain.contracts.networks import Address
from chain.math.liquidity import Amounts
from chain.protocols.reference import PositionRef
from chain.tokens.token import Token, amount_text


class Names(Struct, frozen=True):
    """Who is who: an address that is not here is told in full."""

    you: Address
    tokens: Mapping[Address, Token]
    contracts: Mapping[Address, str]
    pairs: Mapping[PositionRef, tuple[Address, Address]] = field(default_factory=dict)
    """Of positions, where their own calls do not name the tokens."""

    def place(self, address: Address) -> str:
        full = checksum(address)
        if address == self.you:
            return f"{full} (you)"
        known = self.contracts.get(address)
        return f"{full} ({known})" if known else f"{full} (not you)"

    def pair(self, ref: PositionRef) -> tuple[Address, Address] | None:
        return self.pairs.get(ref)

    def token(self, address: Address) -> Token:
        unknown = Token(address, "", None, verified=False, suspicious=False)
        return self.tokens.get(address, unknown)

    def currency(self, address: Address) -> str:
        token = self.token(address)
        return token.symbol if token.verified else f"{token.label} at {checksum(address)}"

    def amount(self, amount: int, address: Address) -> str:
        return amount_text(amount, self.token(address))

    def both(self, amounts: Amounts, pair: tuple[Address, Address] | None) -> str:
        if pair is None:
            return f"{amounts[0]} units of currency0 and {amounts[1]} units of currency1"
        return f"{self.amount(amounts[0], pair[0])} and {self.amount(amounts[1], pair[1])}"
