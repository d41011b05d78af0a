"""A key and a passphrase that are looked for wherever they must not be."""

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb

from chain.contracts.addresses import keccak
from chain.wallet.errors import WalletError
from chain.wallet.secrets import Passphrase, PrivateKey

KEY = keccak(b"canary in the wallet tests")
KEY_TEXT = KEY.hex()
ADDRESS = "0x111fe56e6b99887c03a9e7d49ce4692756a6aa00"
PASSPHRASE = "canary-passphrase-never-to-be-seen"

_FORMS = {
    "the key in hex": KEY_TEXT.encode(),
    "the key in capitals": KEY_TEXT.upper().encode(),
    "the key's bytes": KEY,
    "the key in base64": base64.b64encode(KEY),
    "the key's hex in base64": base64.b64encode(KEY_TEXT.encode()),
    "the key as a number": str(int(KEY_TEXT, 16)).encode(),
    "the key's repr": repr(KEY)[2:40].encode(),
    "the passphrase": PASSPHRASE.encode(),
    "the passphrase in base64": base64.b64encode(PASSPHRASE.encode())[:-4],
}


def seen_in(content: bytes | str) -> list[str]:
    raw = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    return [name for name, form in _FORMS.items() if form in raw]


def seen_under(folder: Path) -> list[tuple[Path, list[str]]]:
    return [(path, found) for path in _files(folder) if (found := seen_in(path.read_bytes()))]


def told_with_locals(error: BaseException) -> str:
    """The most talkative traceback there is: every frame with every variable."""
    from rich.console import Console
    from rich.traceback import Traceback

    console = Console(file=io.StringIO(), record=True, width=300)
    console.print(
        Traceback.from_exception(
            type(error), error, error.__traceback__, show_locals=True, locals_max_string=10_000
        )
    )
    return console.export_text()


def open_secrets(error: BaseException) -> list[PrivateKey | Passphrase]:
    """Keys and passphrases that the failed frames still hold and that nobody wiped."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    held = [value for frame in frames for value in frame.f_locals.values()]
    return [each for each in held if isinstance(each, PrivateKey | Passphrase) and is_open(each)]


def is_open(secret: PrivateKey | Passphrase) -> bool:
    try:
        return bool(secret.reveal())
    except WalletError:
        return False


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
