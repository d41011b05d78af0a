"""Whether and how a wallet's transactions can be signed here, in words; no key is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.networks import network_named
from chain.wallet.book import Keeping, read_book
from chain.wallet.demo import DEMO_NETWORK

if TYPE_CHECKING:
    from chain.home import Home
    from chain.networks import Address, Network


@dataclass(frozen=True, slots=True)
class SigningKey:
    words: str
    can_sign: bool = True
    needs_passphrase: bool = False


def signing_key(home: Home, network: Network, wallet: Address) -> SigningKey:
    demo = network_named(DEMO_NETWORK)
    if wallet == demo.default_address:
        if network == demo:
            return SigningKey("the demo's key")
        return SigningKey(
            "nothing: the demo's key signs on the embedded chain only", can_sign=False
        )
    known = read_book(home.keystore).at(wallet)
    if known is None:
        return SigningKey("nothing: zuno holds no key for it (zuno wallet import)", can_sign=False)
    match known.keeping:
        case Keeping.KEYRING:
            return SigningKey(f"{known.name}, in the system's keyring")
        case Keeping.FILE:
            return SigningKey(f"{known.name}, in an encrypted file", needs_passphrase=True)
        case Keeping.NOWHERE:
            return SigningKey(f"nothing: {known.name} is watch-only", can_sign=False)
