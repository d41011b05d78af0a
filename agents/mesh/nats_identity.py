"""Who a member is to a NATS server: a key that signs the server's nonce, with or without a JWT."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from chain.base.secret_struct import SecretStruct

if TYPE_CHECKING:
    from pathlib import Path

_SEED_PREFIX = 18 << 3
_USER_PREFIX = 20 << 3
_SEED_BYTES = 2 + 32 + 2
_JWT = re.compile(rb"-+BEGIN NATS USER JWT-+\s*(\S+)\s*-+END NATS USER JWT-+")
_SEED = re.compile(rb"\b(SU[A-Z2-7]{56})\b")
_MOST_BYTES = 1 << 16


class NatsIdentityError(Exception):
    """A file that says who a member is and cannot be used; the message names it."""


class NatsIdentity(SecretStruct, frozen=True):
    key: Ed25519PrivateKey
    jwt: bytes | None = None
    """By an account of the server; None where the server knows the key itself."""

    @property
    def public(self) -> str:
        """As a server's settings name a user."""
        raw = bytes([_USER_PREFIX]) + self.key.public_key().public_bytes_raw()
        return base64.b32encode(raw + _checksum(raw)).decode().rstrip("=")

    def sign(self, nonce: str) -> bytes:
        return base64.b64encode(self.key.sign(nonce.encode()))


def read_nkey(path: Path) -> NatsIdentity:
    """From a file with the seed of a user's nkey."""
    return NatsIdentity(_seed_in(_content(path), path))


def read_credentials(path: Path) -> NatsIdentity:
    """From a credentials file: a JWT and the seed of the key it is about."""
    content = _content(path)
    jwt = _JWT.search(content)
    if jwt is None:
        raise NatsIdentityError(f"{path} holds no NATS user JWT.")
    return NatsIdentity(_seed_in(content, path), jwt.group(1))


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise NatsIdentityError(f"{path} cannot be read: {error.strerror}.") from None


def _seed_in(content: bytes, path: Path) -> Ed25519PrivateKey:
    found = _SEED.search(content)
    if found is None:
        raise NatsIdentityError(f"{path} holds no seed of a NATS user's key, which begins with SU.")
    text = found.group(1)
    raw = base64.b32decode(text + b"=" * (-len(text) % 8))
    if len(raw) != _SEED_BYTES or raw[0] & 0xF8 != _SEED_PREFIX or _checksum(raw[:-2]) != raw[-2:]:
        raise NatsIdentityError(f"The seed in {path} was mistyped: its checksum does not hold.")
    return Ed25519PrivateKey.from_private_bytes(raw[2:-2])


def _checksum(data: bytes) -> bytes:
    return binascii.crc_hqx(data, 0).to_bytes(2, "little")
