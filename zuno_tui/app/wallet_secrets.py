"""How secrets get in: typed without being shown, or from a file only its owner can read."""

import getpass
import sys
import warnings
from pathlib import Path

from chain.wallet.errors import WalletError, WalletRefusedError
from chain.wallet.files import read_private
from chain.wallet.secrets import Passphrase, PrivateKey, keys_of_phrase
from zuno_tui.app.session import say

SHORTEST_PASSPHRASE = 8
_TRIES = 3


def ask_key() -> PrivateKey:
    text = _typed("Private key (not shown): ", "Without one, use a keystore: --keystore FILE.")
    return PrivateKey.from_text(text)


def ask_seed_phrase(account: int) -> PrivateKey:
    """The key of one account of it; the phrase itself is kept nowhere."""
    text = _typed("Seed phrase (not shown): ", "Without one, use a keystore: --keystore FILE.")
    return keys_of_phrase(text.encode("utf-8", "surrogateescape"), (account,))[0]


def ask_model_key(title: str) -> str:
    """A provider's key: nothing in it is a wallet's."""
    return _typed(f"Key of {title} (not shown): ", "Without one, set it in the environment.")


def key_in_file(path: Path) -> PrivateKey:
    try:
        text = read_private(path).decode("ascii")
    except UnicodeDecodeError:
        text = ""
    return PrivateKey.from_text(text)


def ask_passphrase(place: str, file: Path | None) -> Passphrase:
    """The passphrase of a keystore that exists."""
    if file is not None:
        return _passphrase_in(file)
    return Passphrase.from_text(_typed(f"Passphrase of {place}: ", _WITHOUT_TERMINAL))


def ask_new_passphrase(file: Path | None) -> Passphrase:
    """A passphrase for a new file, typed twice so that a slip does not lock the key away."""
    if file is not None:
        return _long_enough(_passphrase_in(file))
    for _ in range(_TRIES):
        first = Passphrase.from_text(_typed("New passphrase: ", _WITHOUT_TERMINAL))
        _long_enough(first)
        with Passphrase.from_text(_typed("The same again: ", _WITHOUT_TERMINAL)) as second:
            if first.equals(second):
                return first
        say("The two differ.")
    raise WalletError("No passphrase was set. Nothing was kept.")


_WITHOUT_TERMINAL = "Without one, give it as a file only you can read: --passphrase-file FILE."


def typed_word(question: str) -> str:
    """A word that is shown as it is typed; empty without a terminal."""
    if not sys.stdin.isatty():
        return ""
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _typed(question: str, instead: str) -> str:
    if not sys.stdin.isatty():
        raise WalletRefusedError(f"There is no terminal to ask on. {instead}")
    with warnings.catch_warnings():
        # The library would go on with a warning, showing what is typed.
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(question)
        except getpass.GetPassWarning:
            raise WalletRefusedError(f"The terminal cannot hide what is typed. {instead}") from None
        except EOFError:
            raise WalletError("Nothing was typed, and nothing was done.") from None


def _passphrase_in(file: Path) -> Passphrase:
    content = read_private(file)
    return Passphrase(content.removesuffix(b"\n").removesuffix(b"\r"))


def is_long_enough(passphrase: Passphrase) -> bool:
    return passphrase.length >= SHORTEST_PASSPHRASE


def _long_enough(passphrase: Passphrase) -> Passphrase:
    if not is_long_enough(passphrase):
        passphrase.wipe()
        raise WalletError(
            f"That passphrase is too short: at least {SHORTEST_PASSPHRASE} characters, "
            "because anybody who copies the file can try guesses."
        )
    return passphrase
