"""Who lives on the embedded chain: keys anybody can derive, for money that is worth nothing."""

import json
from functools import cache
from pathlib import Path

from msgspec import Struct

from chain.base.home import write_atomically
from chain.base.other_curves import without_other_curves
from chain.contracts.addresses import address_of, keccak
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

WATCH_KEY = account("watch key")
"""Carries out the demo wallet's standing orders; it owns nothing but coin for gas."""

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


DEMO_PASSPHRASE = "zuno demo"  # noqa: S105 - it guards nothing: the key follows from this source
_FILE_NAME = "demo-wallet.json"
_SCRYPT_COST = 4096


def demo_keystore(folder: Path) -> Path:
    """The file's place; it is written once, with a key derivation too light for real money."""
    path = folder / _FILE_NAME
    if not _holds_demo_wallet(path):
        with without_other_curves():
            from eth_keyfile.keyfile import create_keyfile_json

        content = create_keyfile_json(
            DEMO_WALLET.key, DEMO_PASSPHRASE.encode(), kdf="scrypt", iterations=_SCRYPT_COST
        )
        write_atomically(path, json.dumps(content).encode())
    return path


def _holds_demo_wallet(path: Path) -> bool:
    try:
        address = json.loads(path.read_bytes())["address"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False
    return f"0x{str(address).lower().removeprefix('0x')}" == DEMO_WALLET.address
