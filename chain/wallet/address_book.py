"""The wallets a person has told zuno about, and which one is meant when none is named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError, convert, field, to_builtins
from msgspec.structs import replace

from chain.base.home import hold_lock, write_atomically
from chain.base.strict_json import InvalidJsonError, loads
from chain.contracts.addresses import checksum
from chain.contracts.networks import Address
from chain.wallet.errors import NoSuchWalletError, WalletError
from chain.wallet.files import read_bounded

_FILE_NAME = "wallets.json"
_LOCK_NAME = ".lock"
_VERSION: Literal[1] = 1
_ADDRESS = re.compile(r"0x[0-9a-f]{40}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")


class KeyStorage(StrEnum):
    """Where a wallet's key is."""

    KEYRING = "keyring"
    FILE = "keystore file"
    NOWHERE = "watch-only"
    LEDGER = "Ledger"
    PROGRAM = "another program"
    SAFE = "Safe"
    """A contract that does what enough of its owners sign."""


class Wallet(Struct, frozen=True, omit_defaults=True):
    address: Annotated[Address, Meta(pattern=rf"^{_ADDRESS.pattern}\Z")]
    name: Annotated[str, Meta(pattern=rf"^{_NAME.pattern}\Z")]
    keeping: KeyStorage = field(name="store")
    path: str = ""
    """Of the account on its Ledger; empty for any other wallet."""

    @property
    def watch_only(self) -> bool:
        return self.keeping in (KeyStorage.NOWHERE, KeyStorage.SAFE)


class AddressBook(Struct, frozen=True):
    wallets: tuple[Wallet, ...] = ()
    current: Address | None = None

    def at(self, address: Address) -> Wallet | None:
        return next((wallet for wallet in self.wallets if wallet.address == address), None)

    def find(self, named: str) -> Wallet:
        """The wallet with this name or address."""
        for wallet in self.wallets:
            if named == wallet.name or named.lower() == wallet.address:
                return wallet
        raise NoSuchWalletError(
            "No wallet goes by that name or address. See which there are: zuno wallet list"
        )

    def free_name(self, chosen: str | None) -> str:
        """A name for a new wallet: the chosen one when it is free, else the next number."""
        taken = {wallet.name for wallet in self.wallets}
        if chosen is None:
            numbered = (f"wallet-{number}" for number in count(1))
            return next(name for name in numbered if name not in taken)
        if not _NAME.fullmatch(chosen) or chosen.lower().startswith("0x"):
            raise WalletError(
                "That name cannot be used: up to 32 letters, digits, dots and dashes, "
                "and not like an address."
            )
        if chosen in taken:
            raise WalletError(f"There already is a wallet called {chosen}. Choose another --name.")
        return chosen

    def with_wallet(self, wallet: Wallet) -> AddressBook:
        """With this wallet in it; the first one becomes the current one."""
        others = tuple(other for other in self.wallets if other.address != wallet.address)
        return AddressBook((*others, wallet), self.current or wallet.address)

    def without(self, address: Address) -> AddressBook:
        left = tuple(wallet for wallet in self.wallets if wallet.address != address)
        return AddressBook(left, None if self.current == address else self.current)

    def with_current(self, address: Address) -> AddressBook:
        return replace(self, current=address)


class _BookFile(Struct, frozen=True):
    version: Literal[1]
    current: Address | None
    wallets: tuple[Wallet, ...]

    def __post_init__(self) -> None:
        if self.current not in {None, *(wallet.address for wallet in self.wallets)}:
            raise ValueError("the current wallet is not in the book")


def read_book(folder: Path) -> AddressBook:
    path = folder / _FILE_NAME
    if not path.exists():
        return AddressBook()
    try:
        file = convert(loads(read_bounded(path)), _BookFile)
    except (InvalidJsonError, ValidationError):
        raise WalletError(
            f"{path} is damaged. Move it away and import the wallets again; "
            "the keys themselves are not in it."
        ) from None
    return AddressBook(file.wallets, file.current)


def change_book(folder: Path, change: Callable[[AddressBook], AddressBook]) -> AddressBook:
    """Read, change and write the book while no other process does."""
    with hold_lock(folder / _LOCK_NAME):
        book = change(read_book(folder))
        content = to_builtins(_BookFile(_VERSION, book.current, book.wallets))
        write_atomically(folder / _FILE_NAME, json.dumps(content, indent=2).encode())
    return book


def parsed_address(text: str) -> Address:
    """An address in any case; with EIP-55 capitals its checksum must be right."""
    lowered = text.strip().lower()
    if not _ADDRESS.fullmatch(lowered):
        raise WalletError("That is not an address: 0x and 40 hexadecimal digits are needed.")
    digits = text.strip()[2:]
    if digits not in (digits.lower(), digits.upper()) and digits != checksum(lowered)[2:]:
        raise WalletError("That address has a typing error: its capitals do not fit its digits.")
    return lowered
