"""Who lives on the embedded chain: keys anybody can derive, for money that is worth nothing."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.keccak import keccak
from chain.contracts.public_keys import address_of

if TYPE_CHECKING:
    from chain.contracts.networks import Address


class Account(Struct, frozen=True):
    name: str
    key: bytes
    address: Address

    def __repr__(self) -> str:
        return f"Account({self.name!r}, {self.address})"


@cache
def account(name: str) -> Account:
    """The account with this name, its key a hash of it, so that addresses never change."""
    key = keccak(f"zuno devnet: {name}".encode())
    return Account(name, key, address_of(key))


DEPLOYER = account("deployer")
"""Deploys and owns the protocol."""

ISSUER = account("issuer")
"""Deploys the tokens."""

KEEPER = account("hook keeper")
"""Sets the dynamic fee, and can make the guard hook refuse exits."""

STRANGER = account("stranger")
"""Runs the look-alike token's pool, and holds approvals somebody forgot."""

DEMO_WALLET = account("demo wallet")

NEIGHBOUR = account("neighbour")
"""Another liquidity provider, who gives positions away and takes them."""

WIDE_PROVIDER = account("wide provider")
MEDIUM_PROVIDER = account("medium provider")
NARROW_PROVIDER = account("narrow provider")
PROVIDERS = (WIDE_PROVIDER, MEDIUM_PROVIDER, NARROW_PROVIDER)

ARBITRAGEUR = account("arbitrageur")
CROWD = tuple(account(f"trader {number}") for number in range(1, 5))
TRADERS = (ARBITRAGEUR, *CROWD)

RESIDENTS = (DEPLOYER, ISSUER, KEEPER, STRANGER, NEIGHBOUR, *PROVIDERS, *TRADERS)
"""Everybody but the demo wallet."""
