"""Who is on the mesh and plays in a flow, each key bound to one role; what carries their bytes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from agents.bus.envelope import Role
from chain.base.clean_text import SecretStruct, clean_text
from chain.base.errors import Failure, ZunoError

PEER_FILE = "peers.json"
MEMBER_FILE = "member.json"
KEY_FILE = "key.pem"
HexKey = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
PeerName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
PeerRole = Annotated[str, Meta(pattern=r"^[a-z][a-z_]{0,19}$")]
OwnerName = Annotated[str, Meta(max_length=32)]
_MOST_BYTES = 1 << 20
MESH_VERSION = 1
"""Of both files. It is not written while it is the first, which every version before reads."""


class Engine(StrEnum):
    AXL = "axl"
    NATS = "nats"


class MeshFileError(ZunoError):
    """A file of the mesh that cannot be used; the message says what to do."""


class Peer(Struct, frozen=True, forbid_unknown_fields=True):
    name: PeerName
    role: PeerRole
    key: HexKey
    """It signs with this key, and may speak as its role alone."""
    node: HexKey | None = None
    """The id of its AXL node: where bytes go, and no proof of who speaks."""
    owner: str = ""
    """Whose machine it is, in a word; two opinions are worth two when it differs."""

    @property
    def as_role(self) -> Role:
        return Role(self.role)

    @property
    def public(self) -> bytes:
        return bytes.fromhex(self.key)


class PeerBook(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Everybody on one mesh."""

    mesh: PeerName
    peers: tuple[Peer, ...]
    version: int = 1

    def by_key(self, public: bytes) -> Peer | None:
        key = public.hex()
        return next((peer for peer in self.peers if peer.key == key), None)

    def of_role(self, role: Role) -> tuple[Peer, ...]:
        return tuple(peer for peer in self.peers if peer.role == role)

    def find(self, name: str) -> Peer | None:
        return next((peer for peer in self.peers if peer.name == name), None)


class Member(SecretStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How one peer reaches the others."""

    name: PeerName
    engine: Engine
    url: Annotated[str, Meta(pattern=r"^(http|https|nats|tls)://\S+$")]
    """Of the local AXL node's API, or of the NATS server; it may hold a password."""
    credentials: str | None = None
    """A NATS credentials file; this and the other files are looked for in the member's folder."""
    nkey: str | None = None
    """Instead: a file with the seed of a NATS user's key."""
    authority: str | None = None
    """A file with the certificates that a NATS server over TLS is trusted by."""
    certificate: str | None = None
    """A file with this member's own, for a server that asks for one."""
    certificate_key: str | None = None
    version: int = 1


def checked_book(book: PeerBook) -> PeerBook:
    """Refuse a book in which a key or a name stands for two."""
    for field in ("key", "name", "node"):
        values = [value for peer in book.peers if (value := getattr(peer, field)) is not None]
        if len(set(values)) < len(values):
            raise MeshFileError(f"Two peers have the same {field}. Every peer has its own.")
    return book


def read_book(folder: Path) -> PeerBook:
    return checked_book(_read(folder / PEER_FILE, PeerBook))


def read_member(folder: Path) -> Member:
    member = _read(folder / MEMBER_FILE, Member)
    files = ("credentials", "nkey", "authority", "certificate", "certificate_key")
    named = {name: value for name in files if (value := getattr(member, name)) is not None}
    return replace(member, **{name: str(folder / value) for name, value in named.items()})


Document = TypeVar("Document", PeerBook, Member)


class _Versioned(Struct, frozen=True):
    version: int = 1


def _read(path: Path, kind: type[Document]) -> Document:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MeshFileError(
            f"{path} cannot be read: {error.strerror}. Make a mesh: zuno mesh init"
        ) from error
    if len(data) > _MOST_BYTES:
        raise MeshFileError(f"{path} has more than {_MOST_BYTES:,} bytes.")
    try:
        if msgspec.json.decode(data, type=_Versioned).version > MESH_VERSION:
            raise MeshFileError(
                f"{path} was written by a newer zuno. Update zuno to use this mesh."
            )
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        told = clean_text(str(error), limit=200)
        raise MeshFileError(f"{path} is not as it should be: {told}") from None


class EngineError(ZunoError):
    """Bytes could not be handed over, or nobody can be reached; the message says what is wrong."""

    failure = Failure.NETWORK


class MessageEngine(Protocol):
    """It may lose, repeat, reorder and alter bytes, and lie about who sent them."""

    async def open(self) -> None:
        """Connect, or EngineError."""
        ...

    async def send(self, peer: Peer, data: bytes, *, keep: bool) -> None:
        """Hand bytes over; those to `keep` should outlast a moment in which nobody listens."""
        ...

    async def receive(self) -> tuple[bytes, ...]:
        """What has come, waiting for it."""
        ...

    async def close(self) -> None: ...
