"""Secrets as objects that cannot be printed or saved by accident."""

from __future__ import annotations

import ctypes
import re
import resource
import secrets
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn, Self

from chain.base.other_curves import without_other_curves
from chain.contracts.addresses import address_of
from chain.contracts.networks import Address
from chain.wallet.errors import WalletError, discreetly

KEY_BYTES = 32
CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141

_HEX_KEY = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})")


class _Concealed:
    """Bytes that show themselves to nobody, and are overwritten when they are done with."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = bytearray(secret)

    def reveal(self) -> bytes:
        """The secret itself: never to be kept in a variable that a traceback could show."""
        if not self._secret:
            raise WalletError("This secret was already wiped. Open the wallet again.")
        return bytes(self._secret)

    def wipe(self) -> None:
        """Overwrite it; copies that Python's libraries made are beyond reach."""
        self._secret[:] = bytes(len(self._secret))
        self._secret.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wipe()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"A {type(self).__name__} is not copied or saved.")


class Passphrase(_Concealed):
    """What opens a keystore file."""

    __slots__ = ()

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(text.encode("utf-8", "surrogateescape"))

    def equals(self, other: Passphrase) -> bool:
        return secrets.compare_digest(self.reveal(), other.reveal())

    @property
    def length(self) -> int:
        return len(self._secret)


class PrivateKey(_Concealed):
    """A secp256k1 key and the address that follows from it."""

    __slots__ = ("address",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES or not 0 < int.from_bytes(secret, "big") < CURVE_ORDER:
            raise WalletError("That is not a private key: its number is outside the curve.")
        super().__init__(secret)
        self.address: Address = discreetly(
            lambda: address_of(secret),
            lambda kind: WalletError(f"No address could be derived from that key ({kind})."),
        )

    @classmethod
    def generate(cls) -> Self:
        return cls((secrets.randbelow(CURVE_ORDER - 1) + 1).to_bytes(KEY_BYTES, "big"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        found = _HEX_KEY.fullmatch(text.strip())
        if found is None:
            raise WalletError("That is not a private key: 64 hexadecimal digits are needed.")
        return cls(bytes.fromhex(found[1]))

    def as_text(self) -> str:
        return self.reveal().hex()

    def __repr__(self) -> str:
        return f"PrivateKey(hidden, of {self.address})"


_PATH = "m/44'/60'/0'/0/{}"
_COUNTS = (12, 15, 18, 21, 24)
MOST_ACCOUNTS = 100


def keys_of_phrase(phrase: bytes, accounts: Sequence[int]) -> tuple[PrivateKey, ...]:
    """The keys of these accounts, the first being 0; no message repeats a word of the phrase."""
    if not all(0 <= account < MOST_ACCOUNTS for account in accounts):
        raise WalletError(f"Accounts are counted from 0 to {MOST_ACCOUNTS - 1}.")
    count = len(phrase.split())
    if count not in _COUNTS:
        raise WalletError(
            f"A seed phrase has 12, 15, 18, 21 or 24 words, and that has {count}. Nothing was kept."
        )
    return discreetly(
        lambda: _derived(phrase, accounts),
        lambda _: WalletError(
            "That is not a seed phrase: a word is misspelt, or two are in the wrong order. "
            "Nothing was kept."
        ),
    )


def _derived(phrase: bytes, accounts: Sequence[int]) -> tuple[PrivateKey, ...]:
    with without_other_curves():
        from eth_account.hdaccount import key_from_seed, seed_from_mnemonic

    seed = seed_from_mnemonic(" ".join(phrase.decode("utf-8").lower().split()), "")
    return tuple(PrivateKey(key_from_seed(seed, _PATH.format(account))) for account in accounts)


_PR_SET_DUMPABLE = 4


def guard_process() -> None:
    """No core and no tracer sees a key, as far as this system can be asked for that."""
    with suppress(OSError, ValueError, AttributeError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0)
