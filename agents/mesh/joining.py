"""A member's folder as a peer that can speak: its key, the peer file and the engine it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.mesh.axl import AxlEngine
from agents.mesh.endpoint import MeshEndpoint
from agents.mesh.nats_engine import OPENING_SECONDS, NatsEngine
from agents.mesh.peers import (
    KEY_FILE,
    PEER_FILE,
    Engine,
    MeshFileError,
    read_book,
    read_member,
)
from agents.mesh.signing import read_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agents.mesh.peers import Member, Peer


def joined(
    folder: Path,
    versions: Mapping[str, str],
    *,
    asks: str = "",
    patience: float = OPENING_SECONDS,
) -> tuple[MeshEndpoint, Peer, Member]:
    """The endpoint of the member whose folder this is; it is opened as `async with`."""
    member, book = read_member(folder), read_book(folder)
    key = read_key(folder / KEY_FILE)
    me = book.by_key(key.public)
    if me is None:
        raise MeshFileError(
            f"{folder / PEER_FILE} does not name the key in {folder / KEY_FILE}. "
            "Copy the peer file of the mesh here."
        )
    engine = (
        AxlEngine(member.url)
        if member.engine is Engine.AXL
        else NatsEngine(member, book, me, patience=patience)
    )
    return MeshEndpoint(key, book, engine, versions=versions, asks=asks), me, member
