"""The system's own keyring, used only when it is one that encrypts, and checked after writing."""

import threading
from collections.abc import Callable, Iterable
from secrets import compare_digest
from typing import Generic, Protocol, TypeVar, cast

from msgspec import Struct

from chain.base.errors import error_kind
from chain.contracts.networks import Address
from chain.wallet.errors import KeyringUnusableError, WalletError
from chain.wallet.secrets import PrivateKey

T = TypeVar("T")

SERVICE = "zuno"
ANSWER_SECONDS = 30.0
"""Long enough for a person to type into the dialog that unlocks it."""

TRUSTED = {
    "keyring.backends.SecretService.Keyring": "Secret Service",
    "keyring.backends.libsecret.Keyring": "libsecret",
    "keyring.backends.kwallet.DBusKeyring": "KWallet",
    "keyring.backends.kwallet.DBusKeyringKWallet4": "KWallet",
    "keyring.backends.macOS.Keyring": "macOS Keychain",
    "keyring.backends.Windows.WinVaultKeyring": "Windows Credential Manager",
}
_CHAIN = "keyring.backends.chainer.ChainerBackend"
_NONE = "keyring.backends.fail.Keyring"
_REASONS = {
    "KeyringLocked": "is locked",
    "InitError": "is locked or not set up",
    "PasswordSetError": "refused to keep the key",
    "PasswordDeleteError": "refused to delete the key",
}


class Backend(Protocol):
    """What zuno asks of a backend of the keyring library."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


class Keyring(Struct, frozen=True):
    """A trusted keyring that answered when it was asked."""

    title: str
    _backend: Backend
    _seconds: float

    def probe(self) -> None:
        """A locked keyring shows itself at the first question, before a key is at stake."""
        self._ask(lambda: self._backend.get_password(SERVICE, "probe"))

    def keep(self, key: PrivateKey) -> None:
        """Write the key and read it back: a keyring that forgets is found out at once."""
        address = key.address
        self._ask(lambda: self._backend.set_password(SERVICE, address, key.as_text()))
        kept = self._ask(
            lambda: compare_digest(
                self._backend.get_password(SERVICE, address) or "", key.as_text()
            )
        )
        if not kept:
            raise KeyringUnusableError(f"{self.title} did not give back the key it was given.")

    def key_of(self, address: Address) -> PrivateKey:
        key = self._ask(lambda: _parsed(self._backend.get_password(SERVICE, address)))
        if key is None:
            raise KeyringUnusableError(
                f"{self.title} holds no key for {address}. Import it again: zuno wallet import"
            )
        if key.address != address:
            key.wipe()
            raise KeyringUnusableError(
                f"{self.title} holds another wallet's key under {address}. Nothing was opened."
            )
        return key

    def keep_text(self, name: str, text: str) -> None:
        """Keep a secret that is no wallet's key, and see that it can be read back."""
        self._ask(lambda: self._backend.set_password(SERVICE, name, text))
        if not compare_digest((self.text_of(name) or "").encode(), text.encode()):
            raise KeyringUnusableError(f"{self.title} did not give back what it was given.")

    def text_of(self, name: str) -> str | None:
        return self._ask(lambda: self._backend.get_password(SERVICE, name))

    def forget(self, name: str) -> None:
        """Delete what is kept under a wallet's address or a name; nothing there is as good."""
        self._ask(lambda: _deleted(self._backend, name))

    def _ask(self, action: Callable[[], T]) -> T:
        return _in_time(action, self.title, self._seconds)


def find_keyring(seconds: float = ANSWER_SECONDS) -> Keyring:
    """The trusted keyring of this session; `KeyringUnusableError` says why there is none."""
    found = _in_time(_candidates, "The system's keyring", seconds)
    for name, backend in found:
        if name in TRUSTED:
            keyring = Keyring(TRUSTED[name], backend, seconds)
            keyring.probe()
            return keyring
    names = [name for name, _ in found if name != _NONE]
    if not names:
        raise KeyringUnusableError("This system has no keyring that answers.")
    raise KeyringUnusableError(
        f"The keyring here is {names[0]}, which is not one that zuno trusts to encrypt."
    )


def _candidates() -> list[tuple[str, Backend]]:
    # Judged after the library chose: environment and configuration can make it choose anything.
    import keyring

    chosen: object = keyring.get_keyring()
    if _name(chosen) == _CHAIN:
        chain = cast("Iterable[object]", getattr(chosen, "backends", ()))
        return [(_name(backend), cast("Backend", backend)) for backend in chain]
    return [(_name(chosen), cast("Backend", chosen))]


def _name(backend: object) -> str:
    return f"{type(backend).__module__}.{type(backend).__qualname__}"


def _parsed(text: str | None) -> PrivateKey | None:
    return None if text is None else PrivateKey.from_text(text)


def _deleted(backend: Backend, address: Address) -> None:
    if backend.get_password(SERVICE, address) is not None:
        backend.delete_password(SERVICE, address)


class _Outcome(Generic[T]):
    """What a thread came to; of an error only the kind, since its words may hold a secret."""

    def __init__(self, action: Callable[[], T]) -> None:
        self._action = action
        self.values: list[T] = []
        self.failure = ""

    def run(self) -> None:
        try:
            self.values.append(self._action())
        except WalletError:
            self.failure = "UnreadableKey"
        except Exception as error:
            self.failure = error_kind(error)


def _in_time(action: Callable[[], T], title: str, seconds: float) -> T:
    """Ask in a thread of its own: a keyring may wait for a dialog that nobody sees."""
    outcome = _Outcome(action)
    thread = threading.Thread(target=outcome.run, name="keyring", daemon=True)
    thread.start()
    thread.join(seconds)
    if outcome.values:
        return outcome.values.pop()
    if not outcome.failure:
        raise KeyringUnusableError(f"{title} did not answer within {seconds:g} s.")
    reason = _REASONS.get(outcome.failure, f"cannot be used ({outcome.failure})")
    raise KeyringUnusableError(f"{title} {reason}.")
