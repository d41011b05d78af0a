"""One signed message on the wire: whose key, a signature over all the rest, a header, a payload."""

from __future__ import annotations

import os
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from agents.bus.envelope import Envelope, EnvelopeError, Registry, Role
from agents.mesh.peers import Peer, PeerBook
from chain.base.errors import ZunoError
from chain.base.home import FILE_MODE, FOLDER_MODE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


KEY_BYTES = 32
SIGNATURE_BYTES = 64


class MeshKeyError(ZunoError):
    """A key file that cannot be used; the message says what to do."""


class PeerSigningKey:
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


def new_key() -> PeerSigningKey:
    _require_package()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return PeerSigningKey(Ed25519PrivateKey.generate())


def write_key(path: Path, key: PeerSigningKey) -> None:
    """A new private file; one that is there already is never replaced."""
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key.pem())


def read_key(path: Path) -> PeerSigningKey:
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
    return PeerSigningKey(key)


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


# Nothing is parsed before the signature of a known peer was found to hold.
MAGIC = b"zuno-mesh 1\n"
"""It opens every message; it is no JSON, so that no router of a node takes it for its own."""
_FAMILY = b"zuno-mesh "
_MOST_HEADER = 16_384
MOST_FRAME = 1 << 20
"""A NATS server takes no more."""
_KEY_END = len(MAGIC) + KEY_BYTES
_HEAD_END = _KEY_END + SIGNATURE_BYTES
LARGEST_PAYLOAD = MOST_FRAME - _HEAD_END - _MOST_HEADER - len(b"\n")


class FrameKind(StrEnum):
    HELLO = "hello"
    """Who is there; the answer tells its boot and its version."""
    WELCOME = "welcome"
    READY = "ready"
    """Shows that the one who said hello is alive now."""
    DATA = "data"
    ACK = "ack"
    TOOK = "took"
    """Tells the desk in which order an agent took what others sent it."""


class DropCause(StrEnum):
    """Why a message went by without effect."""

    MALFORMED = "malformed"
    OVERSIZE = "oversize"
    OTHER_VERSION = "other version"
    STRANGER = "stranger"
    FORGED = "forged"
    WRONG_RECIPIENT = "wrong recipient"
    WRONG_ROLE = "wrong role"
    WRONG_REQUEST = "wrong request"
    REPLAYED = "replayed"
    STALE = "stale"
    """Meant for an earlier life of this process, or from an earlier one of its sender."""
    EARLY = "early"
    """Of a request that was not announced yet; it is sent again."""
    LATE = "late"


class DroppedError(Exception):
    """A message that is not taken."""

    def __init__(self, cause: DropCause) -> None:
        super().__init__(cause.value)
        self.cause = cause


class FlowStamp(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a message stands in its request, so that the desk can record it after its causes."""

    number: int
    """Of all that its sender has on the record, counted from 0."""
    structural: int
    """How many of those up to it, itself included, may not be lost."""
    after: dict[str, int] = {}
    """By role how many of its messages the sender builds on."""


class FrameHeader(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    kind: FrameKind
    to: str
    """The recipient's key."""
    boot: str
    """Of the sender's process; a later one is greater."""
    seq: int
    """Counts what this process sent to this recipient."""
    to_boot: str = ""
    """Of the recipient's process, where it is known; all but a hello name it."""
    wants_ack: bool = False
    acks: tuple[int, ...] = ()
    request: str = ""
    stamp: FlowStamp | None = None
    routes: dict[str, str] | None = None
    """With a request's terms: by role the key of the peer who plays it."""


def header_without_number(
    kind: FrameKind, to: Peer, request: str, routes: dict[str, str] | None = None
) -> FrameHeader:
    """Without process and number, which it gets when it is sent."""
    return FrameHeader(kind, to.key, "", 0, request=request, routes=routes)


class Frame(NamedTuple):
    sender: Peer
    header: FrameHeader
    payload: bytes


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(FrameHeader)


def seal_frame(key: PeerSigningKey, header: FrameHeader, payload: bytes = b"") -> bytes:
    body = _ENCODER.encode(header) + b"\n" + payload
    return MAGIC + key.public + key.sign(MAGIC + body) + body


def open_frame(data: bytes, book: PeerBook, me: str) -> Frame:
    """A message of a known peer to this one, or DroppedError."""
    if len(data) > MOST_FRAME:
        raise DroppedError(DropCause.OVERSIZE)
    if not data.startswith(MAGIC):
        other = data.startswith(_FAMILY)
        raise DroppedError(DropCause.OTHER_VERSION if other else DropCause.MALFORMED)
    if len(data) <= _HEAD_END:
        raise DroppedError(DropCause.MALFORMED)
    sender = book.by_key(data[len(MAGIC) : _KEY_END])
    if sender is None:
        raise DroppedError(DropCause.STRANGER)
    body = data[_HEAD_END:]
    if not is_signed_by(sender.public, data[_KEY_END:_HEAD_END], MAGIC + body):
        raise DroppedError(DropCause.FORGED)
    head, _, payload = body.partition(b"\n")
    if len(head) > _MOST_HEADER:
        raise DroppedError(DropCause.OVERSIZE)
    try:
        header = _DECODER.decode(head)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise DroppedError(DropCause.MALFORMED) from None
    if header.to != me:
        raise DroppedError(DropCause.WRONG_RECIPIENT)
    return Frame(sender, header, payload)


def open_envelope(registry: Registry, frame: Frame, sender: Role | None) -> Envelope:
    """The envelope inside, said by this role, if one is named, in the header's request."""
    try:
        envelope = registry.open(frame.payload)
    except EnvelopeError:
        raise DroppedError(DropCause.MALFORMED) from None
    if sender is not None and envelope.sender != sender:
        raise DroppedError(DropCause.WRONG_ROLE)
    if envelope.request_id != frame.header.request:
        raise DroppedError(DropCause.WRONG_REQUEST)
    return envelope
