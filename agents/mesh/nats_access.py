"""How a NATS server is reached: over TLS or not, as whom, and what went wrong in a sentence."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agents.mesh.engine import EngineError
from chain.base.secret_struct import SecretStruct

if TYPE_CHECKING:
    from agents.mesh.peers import Member

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


Secret = TypeVar("Secret", str, bytes)


def wants_tls(member: Member) -> bool:
    named = member.authority is not None or member.certificate is not None
    return named or member.url.startswith("tls://")


def identity_of(member: Member) -> NatsIdentity | None:
    """Its credentials or its nkey, where it has one; a name and a password are in the URL."""
    try:
        if member.credentials is not None:
            return read_credentials(Path(member.credentials))
        return None if member.nkey is None else read_nkey(Path(member.nkey))
    except NatsIdentityError as error:
        raise EngineError(str(error)) from None


def access_options(
    member: Member, identity: NatsIdentity | None, is_over_tls: Callable[[], bool]
) -> dict[str, Any]:
    """What `Client.connect` takes; nothing secret leaves before TLS where TLS is wanted."""
    place = urlsplit(member.url)
    host = f"[{place.hostname}]" if ":" in (place.hostname or "") else place.hostname
    port = "" if place.port is None else f":{place.port}"
    options: dict[str, Any] = {"servers": [f"{place.scheme}://{host}{port}"]}
    tls = wants_tls(member)

    def told(secret: Secret) -> Secret:
        if tls and not is_over_tls():
            raise EngineError(
                "The NATS server speaks without TLS, and this member's settings ask for it. "
                "Nothing secret was sent."
            )
        return secret

    if identity is not None:
        options["signature_cb"] = lambda nonce: told(identity.sign(nonce))
        if (jwt := identity.jwt) is not None:
            options["user_jwt_cb"] = lambda: told(jwt)
    elif place.username is not None:
        user, password = unquote(place.username), unquote(place.password or "")
        options |= {"user": lambda: told(user), "password": lambda: told(password)}
    if tls:
        options["tls"] = _tls_context(member)
    return options


def _tls_context(member: Member) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=member.authority)
        if member.certificate is not None:
            context.load_cert_chain(member.certificate, member.certificate_key)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(filter(None, (member.authority, member.certificate)))
        why = getattr(error, "strerror", None) or type(error).__name__
        raise EngineError(f"The certificates for NATS cannot be read ({files}): {why}.") from None
    return context


def is_final(error: BaseException, *, says_who: bool) -> bool:
    """Whether trying again would end the same way."""
    return isinstance(error, ssl.SSLError) or _is_refusal(error, says_who=says_who)


def _is_refusal(error: BaseException, *, says_who: bool) -> bool:
    """Said by the server, or shown by hanging up on a member that says who it is."""
    hung_up = says_who and isinstance(error, BrokenPipeError | ConnectionResetError)
    return hung_up or "authorization violation" in str(error).lower()


def trouble_words(error: BaseException, *, says_who: bool = False) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            "The NATS server's certificate is not by an authority this member trusts, or for "
            f"another name ({error.verify_message}). Name its authority's file in member.json."
        )
    if isinstance(error, ssl.SSLError):
        return (
            f"The NATS server ends the TLS connection ({error.reason or 'no reason given'}). Where "
            "it asks for a certificate, name certificate and certificate_key in member.json."
        )
    if _is_refusal(error, says_who=says_who):
        return (
            "The NATS server does not let this member in: its name and password, nkey, credentials "
            "or certificate are not what the server knows. Correct them in member.json."
        )
    if isinstance(error, ConnectionRefusedError):
        return "The NATS server cannot be reached: nothing listens there."
    if isinstance(error, asyncio.TimeoutError):
        return "The NATS server does not answer in time."
    return f"The NATS server cannot be used ({type(error).__name__})."
