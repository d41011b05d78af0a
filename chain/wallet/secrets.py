"""Secrets as objects that cannot be printed or saved by accident, and the files that hold them."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import secrets
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, Self

from chain.base.home import FILE_MODE, FOLDER_MODE, sync_folder
from chain.base.recursion_limit import kept_recursion_limit
from chain.contracts.addresses import address_of
from chain.contracts.networks import Address
from chain.wallet.errors import WalletError, WalletRefusedError, discreetly

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
    with kept_recursion_limit():
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


MOST_BYTES = 64 * 1024


def read_bounded(path: Path) -> bytes:
    """A small file's content, whoever may read it."""
    return _read(path, private=False)


def read_private(path: Path) -> bytes:
    """A small file's content, refused when others could have read it too."""
    return _read(path, private=True)


def write_once(path: Path, content: bytes) -> None:
    """Create a file that only its owner can read, from its first moment; never replace one."""
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    path.parent.chmod(FOLDER_MODE)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
    except FileExistsError:
        raise WalletError(
            f"{path} is already there and is not overwritten. Move it away first."
        ) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.read_bytes() != content:
            raise WalletError(f"{path} did not keep what was written. Check the disk.")
        sync_folder(path.parent)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _open_at_once(path: str, flags: int) -> int:
    """Without waiting: a named pipe must not hang the command."""
    return os.open(path, flags | os.O_NONBLOCK)


def _read(path: Path, *, private: bool) -> bytes:
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            _refuse_unfit(path, os.fstat(file.fileno()), private=private)
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise WalletError(f"{path} cannot be read: {error.strerror}.") from None
    if len(content) > MOST_BYTES:
        raise WalletError(f"{path} is too large: at most {MOST_BYTES // 1024} KB are read.")
    return content


def _refuse_unfit(path: Path, status: os.stat_result, *, private: bool) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise WalletError(f"{path} is not a file.")
    if private and status.st_mode & 0o077:
        raise WalletRefusedError(
            f"{path} can be read by others and was not used. Run: chmod 600 {path}"
        )
    if private and status.st_uid not in (os.getuid(), 0):
        raise WalletRefusedError(f"{path} belongs to somebody else and was not used.")
