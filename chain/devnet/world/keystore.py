"""The demo wallet's key as a keystore file, so that it is opened like anybody's own."""

from __future__ import annotations

import json
from pathlib import Path

from chain.base.home import write_atomically
from chain.base.recursion_limit import kept_recursion_limit
from chain.devnet.world.accounts import DEMO_WALLET

DEMO_PASSPHRASE = "zuno demo"  # noqa: S105 - it guards nothing: the key follows from this source
_FILE_NAME = "demo-wallet.json"
_SCRYPT_COST = 4096


def demo_keystore(folder: Path) -> Path:
    """The file's place; it is written once, with a key derivation too light for real money."""
    path = folder / _FILE_NAME
    if not _holds_demo_wallet(path):
        with kept_recursion_limit():
            from eth_keyfile.keyfile import create_keyfile_json

        content = create_keyfile_json(
            DEMO_WALLET.key, DEMO_PASSPHRASE.encode(), kdf="scrypt", iterations=_SCRYPT_COST
        )
        write_atomically(path, json.dumps(content).encode())
    return path


def _holds_demo_wallet(path: Path) -> bool:
    try:
        address = json.loads(path.read_bytes())["address"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False
    return f"0x{str(address).lower().removeprefix('0x')}" == DEMO_WALLET.address
