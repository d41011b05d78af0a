"""A key's way into a store, back out of it for signing, and its removal."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from enum import StrEnum

from msgspec import Struct

from chain.base.home import Home
from chain.contracts.addresses import checksum
from chain.contracts.networks import Address, Network, network_named
from chain.wallet.address_book import KeyStorage, Wallet, change_book, read_book
from chain.wallet.demo import DEMO_NETWORK, demo_key, refuse_demo_elsewhere, refuse_known_key
from chain.wallet.devices import Devices
from chain.wallet.errors import (
    KeyringUnusableError,
    KeystoreError,
    NoSuchWalletError,
    WalletError,
    WalletRefusedError,
)
from chain.wallet.key_holder import KeyHolder
from chain.wallet.keyring_store import Keyring, find_keyring
from chain.wallet.keystore_file import keystore_path, read_keystore, write_keystore
from chain.wallet.local_key import LocalKey
from chain.wallet.secrets import Passphrase, PrivateKey, guard_process
from chain.wallet.signer import Signer

_NO_OTHERS = Devices()


class StoreChoice(StrEnum):
    """Where a person wants a key kept."""

    BEST = "best"
    KEYRING = "keyring"
    FILE = "file"


class StoredKey(Struct, frozen=True):
    wallet: Wallet
    place: str
    """The keyring's title or the file's path."""
    why: str
    """Why not in the keyring; empty when it is there."""
    current: bool


def keep_key(
    home: Home,
    key: PrivateKey,
    *,
    name: str | None,
    choice: StoreChoice,
    new_passphrase: Callable[[str], Passphrase],
) -> StoredKey:
    """Keep a key in the system's keyring, or else in an encrypted file.

    `new_passphrase` is called for the file alone, with the sentence that says why it is used.
    """
    guard_process()
    known = read_book(home.keystore)
    before = known.at(key.address)
    if before is not None and not before.watch_only:
        raise WalletError(f"The wallet {before.name} already holds this key. Nothing was changed.")
    refuse_known_key(key.address)
    name = before.name if before is not None and name is None else known.free_name(name)
    home.prepare()
    keeping, place, why = store_key(home, key, choice, new_passphrase)
    wallet = Wallet(key.address, name, keeping)
    book = change_book(home.keystore, lambda book: book.with_wallet(wallet))
    return StoredKey(wallet, place, why, current=book.current == wallet.address)


def watch(
    home: Home,
    address: Address,
    *,
    name: str | None,
    keeping: KeyStorage = KeyStorage.NOWHERE,
    path: str = "",
) -> StoredKey:
    """Remember an address whose key is not here: nowhere, on a device or with another program."""
    known = read_book(home.keystore)
    before = known.at(address)
    if before is not None and (keeping is KeyStorage.NOWHERE or not before.watch_only):
        raise WalletError(f"{checksum(address)} is already here, as {before.name}.")
    own = before.name if before is not None and name is None else known.free_name(name)
    wallet = Wallet(address, own, keeping, path)
    home.prepare()
    book = change_book(home.keystore, lambda book: book.with_wallet(wallet))
    return StoredKey(wallet, "", "", current=book.current == address)


def remove(home: Home, wallet: Wallet) -> None:
    """Delete the key, then forget the wallet: the other way round a key could be left behind."""
    forget_key(home, wallet.address, wallet.keeping)
    change_book(home.keystore, lambda book: book.without(wallet.address))


def forget_key(home: Home, address: Address, keeping: KeyStorage) -> None:
    if keeping is KeyStorage.KEYRING:
        _needed_keyring().forget(address)
    elif keeping is KeyStorage.FILE:
        keystore_path(home.keystore, address).unlink(missing_ok=True)


def open_key(home: Home, wallet: Wallet, passphrase: Callable[[], Passphrase]) -> PrivateKey:
    """A wallet's key; the passphrase is asked for only when a file needs it."""
    if wallet.keeping in (KeyStorage.LEDGER, KeyStorage.PROGRAM):
        raise WalletRefusedError(
            f"The key of {wallet.name} is with its {wallet.keeping.value}, and does not leave it."
        )
    if wallet.watch_only:
        raise WalletRefusedError(
            f"{wallet.name} is watch-only: zuno holds no key for it and cannot sign. "
            "Add its key with: zuno wallet import"
        )
    return open_kept_key(home, wallet.address, wallet.keeping, passphrase)


def open_kept_key(
    home: Home, address: Address, keeping: KeyStorage, passphrase: Callable[[], Passphrase]
) -> PrivateKey:
    guard_process()
    if keeping is KeyStorage.KEYRING:
        return _needed_keyring().key_of(address)
    path = keystore_path(home.keystore, address)
    if not path.exists():
        raise KeystoreError(f"{path} is gone. Put its copy back, or import the key again.")
    with passphrase() as given:
        key = read_keystore(path, given)
    if key.address != address:
        key.wipe()
        raise KeystoreError(f"{path} holds another wallet's key. Nothing was opened.")
    return key


def open_signer(
    home: Home,
    network: Network,
    address: Address,
    passphrase: Callable[[Wallet], Passphrase],
    devices: Devices = _NO_OTHERS,
    *,
    asking: Callable[[str], None] = lambda _: None,
    lender: Address = "",
) -> Signer:
    """A signer for this address on this network, to be used in a `with` block.

    `asking` is told what a device waits for; `lender` is another account, which is lent.
    """
    refuse_demo_elsewhere(address, network.chain_id)
    with ExitStack() as opened:
        holders = [
            opened.enter_context(closing(_key_holder(home, each, passphrase, devices, asking)))
            for each in (address, lender)
            if each
        ]
        signer = Signer(holders[0], network.chain_id, holders[1] if lender else None)
        opened.pop_all()
    return signer


def _key_holder(
    home: Home,
    address: Address,
    passphrase: Callable[[Wallet], Passphrase],
    devices: Devices,
    asking: Callable[[str], None],
) -> KeyHolder:
    if address == network_named(DEMO_NETWORK).default_address:
        return LocalKey(demo_key(home.cache))
    wallet = read_book(home.keystore).at(address)
    if wallet is None:
        raise NoSuchWalletError(
            f"zuno holds no key for {checksum(address)}. Add it with: zuno wallet import"
        )
    match wallet.keeping:
        case KeyStorage.LEDGER:
            return devices.ledger_key(wallet, asking)
        case KeyStorage.PROGRAM:
            return devices.program_key(wallet, asking)
        case _:
            return LocalKey(open_key(home, wallet, lambda: passphrase(wallet)))


def _needed_keyring() -> Keyring:
    try:
        return find_keyring()
    except KeyringUnusableError as error:
        raise KeyringUnusableError(
            f"{error} The key is kept there: unlock or start it, and try again."
        ) from None


def store_key(
    home: Home, key: PrivateKey, choice: StoreChoice, new_passphrase: Callable[[str], Passphrase]
) -> tuple[KeyStorage, str, str]:
    """Where it is now, in which place, and why not in the keyring."""
    why = "A file was asked for."
    if choice is not StoreChoice.FILE:
        try:
            keyring = find_keyring()
            keyring.keep(key)
        except KeyringUnusableError as error:
            if choice is StoreChoice.KEYRING:
                raise KeyringUnusableError(
                    f"{error} Nothing was kept. Unlock or start it, or choose --store file."
                ) from None
            why = str(error)
        else:
            return KeyStorage.KEYRING, keyring.title, ""
    path = keystore_path(home.keystore, key.address)
    with new_passphrase(why) as passphrase:
        write_keystore(path, key, passphrase)
    return KeyStorage.FILE, str(path), why
