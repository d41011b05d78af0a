"""The key that carries out standing orders: it owns nothing but coin for gas.

It is no wallet: it is not listed, not watched and never chosen, and it signs nothing but calls to
the delegation manager.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, ValidationError, convert, to_builtins

from chain.base.home import Home, write_atomically
from chain.base.strict_json import InvalidJsonError, loads
from chain.contracts.addresses import checksum
from chain.contracts.delegation import DELEGATION_MANAGER
from chain.contracts.networks import Address, Network
from chain.execution.transaction import SignedTransaction, UnsignedTransaction
from chain.wallet.address_book import KeyStorage, read_book
from chain.wallet.demo import DEMO_NETWORK, demo_watch_key, refuse_known_key
from chain.wallet.errors import KeystoreError, WalletError, WalletRefusedError
from chain.wallet.files import read_bounded, read_private, write_anywhere
from chain.wallet.keystore import StoreChoice, forget_key, open_kept_key, store_key
from chain.wallet.keystore_file import write_keystore
from chain.wallet.local_key import LocalKey
from chain.wallet.secrets import Passphrase, PrivateKey, guard_process
from chain.wallet.signer import Signer

PASSPHRASE_FILE = "ZUNO_WATCH_KEY_PASSPHRASE_FILE"  # noqa: S105 - where one is
_CREDENTIAL = "zuno-watch-key"
"""What systemd hands over by this name in its folder of credentials."""
_FILE_NAME = "watch-key.json"


class WatchKey(Struct, frozen=True):
    version: Literal[1]
    address: Address
    store: KeyStorage


class StoredWatchKey(Struct, frozen=True):
    key: WatchKey
    place: str
    why: str


def watch_key(home: Home, network: Network) -> WatchKey | None:
    """Whose orders this home carries out; on the embedded chain there always is one."""
    if network.name == DEMO_NETWORK:
        return WatchKey(1, demo_watch_key().address, KeyStorage.FILE)
    path = home.keystore / _FILE_NAME
    if not path.exists():
        return None
    try:
        return convert(loads(read_bounded(path)), WatchKey)
    except (InvalidJsonError, ValidationError):
        raise WalletError(
            f"{path} is damaged. Move it away and make another: zuno wallet watch-key"
        ) from None


def make_watch_key(
    home: Home,
    *,
    choice: StoreChoice,
    new_passphrase: Callable[[str], Passphrase],
    made: PrivateKey | None = None,
) -> StoredWatchKey:
    """A new one, or the one that another machine made."""
    guard_process()
    path = home.keystore / _FILE_NAME
    if path.exists():
        raise WalletError("This home has a watch key already. See it: zuno wallet watch-key")
    if made is not None:
        refuse_known_key(made.address)
        if read_book(home.keystore).at(made.address) is not None:
            raise WalletRefusedError(
                f"{checksum(made.address)} is a wallet of yours, and no watch key. Nothing was "
                "kept."
            )
    home.prepare()
    with made or PrivateKey.generate() as key:
        keeping, place, why = store_key(home, key, choice, new_passphrase)
        record = WatchKey(1, key.address, keeping)
    write_atomically(path, json.dumps(to_builtins(record), indent=2).encode())
    return StoredWatchKey(record, place, why)


def export_watch_key(
    home: Home,
    network: Network,
    path: Path,
    *,
    passphrase: Callable[[], Passphrase],
    new_passphrase: Callable[[], Passphrase],
    environment: Mapping[str, str] = os.environ,
) -> None:
    """For a second machine: an encrypted file in the format that every Ethereum wallet reads.

    `passphrase` is asked for only where nothing at hand opens the key.
    """
    guard_process()
    if network.name == DEMO_NETWORK:
        raise WalletRefusedError("The embedded chain keeps its watch key.")
    at_hand = _passphrase_path(environment) is not None
    opening = (lambda: _kept_passphrase(environment)) if at_hand else passphrase
    with _opened(home, network, opening) as key, new_passphrase() as given:
        write_keystore(path, key, given, write=write_anywhere)


def remove_watch_key(home: Home, key: WatchKey) -> None:
    forget_key(home, key.address, key.store)
    (home.keystore / _FILE_NAME).unlink(missing_ok=True)


class WatchSigner:
    """Signs what a watch key may: calls to the delegation manager, a transfer of nothing to itself
    in the place of one of those, and its coin's way back."""

    def __init__(self, signer: Signer, sweeps_to: Address | None = None) -> None:
        self._signer = signer
        self._sweeps_to = sweeps_to
        self.address: Address = signer.address

    def sign(self, transaction: UnsignedTransaction, /) -> SignedTransaction:
        redeems = transaction.to == DELEGATION_MANAGER and not transaction.value
        withdraws = transaction.to == self.address and not (transaction.value or transaction.data)
        sweeps = transaction.to == self._sweeps_to and not transaction.data
        if transaction.authorization is not None or not (redeems or withdraws or sweeps):
            raise WalletRefusedError(
                "A watch key signs calls to the delegation manager alone. Nothing was signed."
            )
        return self._signer.sign(transaction)

    def close(self) -> None:
        self._signer.close()


def open_watch_signer(
    home: Home,
    network: Network,
    *,
    passphrase: Callable[[], Passphrase] | None = None,
    environment: Mapping[str, str] = os.environ,
    sweeps_to: Address | None = None,
) -> WatchSigner:
    """Unlocked without a person: by the keyring, or by a passphrase that a file holds."""
    key = _opened(home, network, passphrase or (lambda: _kept_passphrase(environment)))
    return WatchSigner(Signer(LocalKey(key), network.chain_id), sweeps_to)


def watch_seal(home: Home, network: Network, environment: Mapping[str, str] = os.environ) -> bytes:
    """What vouches for the progress of orders: follows from the key, and is not it.

    Raises `WalletError` where the key cannot be opened, or is not of the address in its record.
    """
    with _opened(home, network, lambda: _kept_passphrase(environment)) as key:
        return hmac.digest(key.reveal(), b"zuno standing orders: progress", hashlib.sha256)


def is_proven(home: Home, network: Network, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the key behind the recorded address was opened; False where only a passphrase that
    is not at hand opens it. Raises `WalletError` where there is no such key."""
    found = watch_key(home, network)
    if found is None:
        return False
    at_hand = _passphrase_path(environment) is not None or network.name == DEMO_NETWORK
    if found.store is KeyStorage.FILE and not at_hand:
        return False
    watch_seal(home, network, environment)
    return True


def _opened(home: Home, network: Network, passphrase: Callable[[], Passphrase]) -> PrivateKey:
    found = watch_key(home, network)
    if found is None:
        raise WalletError("This home has no watch key. Make one: zuno wallet watch-key")
    if network.name == DEMO_NETWORK:
        return demo_watch_key()
    return open_kept_key(home, found.address, found.store, passphrase)


def _passphrase_path(environment: Mapping[str, str]) -> Path | None:
    named = environment.get(PASSPHRASE_FILE)
    folder = environment.get("CREDENTIALS_DIRECTORY")
    return Path(named) if named else Path(folder) / _CREDENTIAL if folder else None


def _kept_passphrase(environment: Mapping[str, str]) -> Passphrase:
    path = _passphrase_path(environment)
    if path is None:
        raise KeystoreError(
            "The watch key is in an encrypted file, and nothing here opens it. Name a file with "
            f"its passphrase in {PASSPHRASE_FILE}, or hand it over as systemd's credential "
            f"{_CREDENTIAL}."
        )
    text = read_private(path).decode("utf-8", "surrogateescape")
    return Passphrase.from_text(text.removesuffix("\n"))
