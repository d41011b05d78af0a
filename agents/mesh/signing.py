"""Ed25519 keys of peers: they sign messages, and nothing that moves money."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from chain.base.errors import ZunoError
from chain.base.home import FILE_MODE, FOLDER_MODE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_BYTES = 32
SIGNATURE_BYTES = 64


class MeshKeyError(ZunoError):
    """A key file that cannot be used; the message says what to do."""


class SigningKey:
    """A private key that never shows itself."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = key.public_key().public_bytes_raw()

    @property
    def name(self) -> str:
        """The public key in hexadecimal digits: how others know this peer."""
        return self.public.hex()

    def sign(self, data: bytes) -> bytes:
        return self._key.sign(data)

    def pem(self) -> bytes:
        from cryptography.hazmat.primitives import serialization

        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


def new_key() -> SigningKey:
    _require_package()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return SigningKey(Ed25519PrivateKey.generate())


def write_key(path: Path, key: SigningKey) -> None:
    """A new private file; one that is there already is never replaced."""
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key.pem())


def read_key(path: Path) -> SigningKey:
    _require_package()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        if path.stat().st_mode & 0o077:
            raise MeshKeyError(f"{path} can be read by others. Close it: chmod 600 {path}")
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise MeshKeyError(
            f"{path} cannot be read: {error.strerror}. Make the keys: zuno mesh init"
        ) from error
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise MeshKeyError(f"{path} holds no key. Make new ones: zuno mesh init") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise MeshKeyError(f"{path} holds a key of another kind; an Ed25519 key is needed.")
    return SigningKey(key)


def is_signed_by(public: bytes, signature: bytes, data: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _require_package() -> None:
    if find_spec("cryptography") is None:
        raise MeshKeyError(
            'The mesh needs packages that are not installed: pip install "zuno-tui[mesh]"'
        )
