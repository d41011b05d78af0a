"""Another person's agent on a mesh: invited by one line, admitted by another.

The invitation holds a secret, and the answer proves it, so a line that was changed or made up is
refused. Both sides see one fingerprint of both keys: whoever compares it knows that nobody stood
between them.
"""

import base64
import binascii
import hashlib
import hmac
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from agents.bus.envelope import CLI
from agents.mesh import layout, peers
from agents.mesh.frame import PeerSigningKey
from chain.base.clean_text import SecretStruct, clean_text
from chain.base.home import write_atomically

_PENDING_FILE = "invitations.json"
_MOST_CODE, _MOST_UNPACKED = 16 << 10, 64 << 10
_MARK = "zm1."
_URL = Annotated[str, Meta(pattern=r"^(nats|tls)://[!-~]+$")]
_SECRET = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$")]
_GROUPS, _GROUP = 4, 4


class Invited(SecretStruct, frozen=True, forbid_unknown_fields=True):
    """Whom this mesh waits for."""

    name: peers.PeerName
    role: peers.PeerRole
    owner: peers.OwnerName
    secret: _SECRET
    until: int
    """By the clock of whoever invited."""
    url: _URL
    """Of the server, as their machine reaches it."""


class Invitation(SecretStruct, frozen=True, forbid_unknown_fields=True):
    """Everything that another machine needs to join."""

    invited: Invited
    book: peers.PeerBook


class JoinAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    name: peers.PeerName
    key: peers.HexKey
    proof: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]


_Document = TypeVar("_Document", Invitation, JoinAnswer)


def invite(folder: Path, invited: Invited) -> str:
    """The line's code; an earlier invitation of the same name is void."""
    book = peers.read_book(folder)
    _checked(invited)
    if book.find(invited.name) is not None:
        raise peers.MeshFileError(
            f"{invited.name} is on the mesh already. Name this one otherwise: --name NAME"
        )
    invitation = Invitation(invited, book)
    _write_pending(folder, (*_others(invitations(folder), invited.name), invitation))
    return _packed(invitation)


def read_invitation(code: str, *, now: float) -> Invitation:
    invitation = _unpacked(code, Invitation, "invitation")
    if invitation.invited.until < now:
        raise peers.MeshFileError("This invitation has lapsed. Ask for a new one.")
    if len(peers.checked_book(invitation.book).of_role(CLI)) != 1:
        raise peers.MeshFileError("This invitation names no one desk. Ask for a new one.")
    return invitation


def join(folder: Path, invitation: Invitation, key: PeerSigningKey) -> str:
    """Write the new member's folder; the answer's code goes back to whoever invited."""
    invited, book = invitation.invited, invitation.book
    if (folder / peers.KEY_FILE).exists():
        raise peers.MeshFileError(
            f"{folder} holds a key already. Move it away, or name another folder: --dir DIR"
        )
    peer = peers.Peer(invited.name, invited.role, key.name, None, invited.owner)
    layout.write_member(
        folder,
        key,
        peers.Member(invited.name, peers.Engine.NATS, invited.url),
        peers.checked_book(replace(book, peers=(*book.peers, peer))),
    )
    return _packed(JoinAnswer(invited.name, key.name, _proof(invited, key.name)))


def read_answer(folder: Path, code: str, *, now: float) -> tuple[peers.Peer, str]:
    """Who was invited, by the key it made, and the fingerprint; nothing is changed yet."""
    answer = _unpacked(code, JoinAnswer, "answer to an invitation")
    waiting = (each for each in invitations(folder) if each.invited.name == answer.name)
    invitation = next(waiting, None)
    invited = None if invitation is None else invitation.invited
    if (
        invitation is None
        or invited is None
        or not hmac.compare_digest(answer.proof, _proof(invited, answer.key))
    ):
        raise peers.MeshFileError(
            "No invitation of this mesh waits for that answer. See who is on it: zuno mesh"
        )
    if invited.until < now:
        raise peers.MeshFileError(
            f"The invitation lapsed. Make a new one: zuno mesh invite {invited.role}"
        )
    peer = peers.Peer(invited.name, invited.role, answer.key, None, invited.owner)
    return peer, fingerprint(invitation, answer.key)


def admit(folder: Path, members: Iterable[Path], peer: peers.Peer) -> None:
    """From here on every member whose folder is here hears it; the invitation is used up."""
    book = peers.read_book(folder)
    _write_books(folder, members, replace(book, peers=(*book.peers, peer)))
    _write_pending(folder, _others(invitations(folder), peer.name))


def revoke(folder: Path, members: Iterable[Path], name: str) -> peers.Peer:
    """Take a peer out of every book here: nothing it signs is heard any more."""
    book = peers.read_book(folder)
    peer = book.find(name)
    if peer is None or peer.name == peers.read_member(folder).name:
        there = ", ".join(each.name for each in book.peers if each.role != CLI)
        raise peers.MeshFileError(f"No agent {name!r} is on the mesh; there are: {there or 'none'}")
    kept = tuple(each for each in book.peers if each != peer)
    _write_books(folder, members, replace(book, peers=kept))
    _write_pending(folder, _others(invitations(folder), name))
    return peer


def fingerprint(invitation: Invitation, key: str) -> str:
    """Of all that the line says and the key that answers it: for two people to compare."""
    letters = hashlib.sha256(msgspec.json.encode((invitation, key))).hexdigest().upper()
    return "-".join(letters[_GROUP * each : _GROUP * (each + 1)] for each in range(_GROUPS))


def invitations(folder: Path) -> tuple[Invitation, ...]:
    path = folder / _PENDING_FILE
    if not path.exists():
        return ()
    try:
        return msgspec.json.decode(path.read_bytes(), type=tuple[Invitation, ...])
    except msgspec.DecodeError:
        raise peers.MeshFileError(
            f"{path} is damaged. Delete it, and invite again: zuno mesh invite ROLE"
        ) from None


def _checked(invited: Invited) -> None:
    """As whoever reads it will check it: nothing is written that nobody can join by."""
    try:
        msgspec.json.decode(msgspec.json.encode(invited), type=Invited)
    except msgspec.ValidationError as error:
        told = clean_text(str(error))
        raise peers.MeshFileError(
            f"That cannot be invited: {told}. A name is small letters, digits and dashes."
        ) from None


def _others(waiting: Iterable[Invitation], name: str) -> tuple[Invitation, ...]:
    return tuple(each for each in waiting if each.invited.name != name)


def _write_pending(folder: Path, waiting: tuple[Invitation, ...]) -> None:
    write_atomically(folder / _PENDING_FILE, msgspec.json.encode(waiting))


def _write_books(folder: Path, members: Iterable[Path], book: peers.PeerBook) -> None:
    peers.checked_book(book)
    # The members first: where this ends half-way, the desk still says who is missing.
    for each in (*members, folder):
        if peers.read_book(each).mesh == book.mesh:
            layout.write_document(each / peers.PEER_FILE, book)


def _proof(invited: Invited, key: str) -> str:
    words = "\n".join((invited.name, invited.role, invited.owner, key)).encode()
    return hmac.new(bytes.fromhex(invited.secret), words, hashlib.sha256).hexdigest()


def _packed(document: Invitation | JoinAnswer) -> str:
    packed = zlib.compress(msgspec.json.encode(document), 9)
    return _MARK + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _unpacked(code: str, kind: type[_Document], what: str) -> _Document:
    letters = "".join(code.split())
    try:
        if not letters.startswith(_MARK) or len(letters) > _MOST_CODE:
            raise ValueError
        text = letters.removeprefix(_MARK)
        packed = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        inflating = zlib.decompressobj()
        data = inflating.decompress(packed, _MOST_UNPACKED)
        if not inflating.eof:
            raise ValueError
        return msgspec.json.decode(data, type=kind)
    except (ValueError, zlib.error, binascii.Error, msgspec.DecodeError):
        raise peers.MeshFileError(
            f"This is no {what}, or a part of it is missing. Copy the whole line."
        ) from None
