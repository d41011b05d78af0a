"""What can go wrong with a wallet; every message is a sentence and a next step, never a secret."""

from collections.abc import Callable
from typing import TypeVar

from chain.base.errors import Failure, SigningError, error_kind

T = TypeVar("T")


class WalletError(SigningError):
    """A wallet, a key or a passphrase that cannot be used."""


class WalletRefusedError(WalletError):
    """Something that could be done but must not be."""

    failure = Failure.REFUSED


class KeystoreError(WalletError):
    """A keystore file that is damaged, hostile or not the wallet it claims to be."""


class WrongPassphraseError(WalletError):
    """The passphrase does not open the file, or the file was changed: the two look the same."""

    def __init__(self, place: str) -> None:
        super().__init__(
            f"{place} does not open: the passphrase is wrong, or the file was changed. Try again."
        )


class KeyringUnusableError(WalletError):
    """The system's keyring cannot keep or give a key; the message says why."""


class NoSuchWalletError(WalletError):
    """No wallet goes by this name or address."""


def discreetly(action: Callable[[], T], failed: Callable[[str], Exception]) -> T:
    """Run what handles a secret; of an error only its kind gets out, not its words or frames."""
    try:
        return action()
    except Exception as error:
        kind = error_kind(error)
    # Raised out here the new error has no context, and no traceback leads to the secret's frames.
    raise failed(kind)
