"""What peers tell of themselves as they meet, and how each is seen."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agents.mesh.frame import DropCause, DroppedError
from chain.base.clean_text import clean_text

if TYPE_CHECKING:
    from agents.mesh.peers import Peer

_MOST_BYTES = 1_024


class Introduction(Struct, frozen=True):
    """What a process tells of itself."""

    versions: dict[str, str] = {}
    asks: str = ""
    """The model it asks; empty where it asks none."""


_INTRODUCTION = msgspec.json.Decoder(Introduction)


class PeerSight(Struct, frozen=True):
    """How a peer is seen from here."""

    peer: Peer
    introduction: Introduction
    """Empty where it has not answered."""
    round_trip: float | None
    """The median in seconds."""
    age: float | None
    """Seconds since it was heard of."""
    lost: float
    """Of the greetings sent, the share that was not answered, or not yet."""
    resent: int
    """Messages that were sent more than once."""
    missing: int
    """Of what it sent, what has not come, or not yet."""

    @property
    def visible(self) -> bool:
        return self.age is not None


def new_boot() -> str:
    """Greater than that of any process that was started earlier."""
    return f"{time.time_ns():020d}-{secrets.token_hex(8)}"


def read_introduction(payload: bytes) -> Introduction:
    if len(payload) > _MOST_BYTES:
        raise DroppedError(DropCause.OVERSIZE)
    try:
        told = _INTRODUCTION.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise DroppedError(DropCause.MALFORMED) from None
    versions = {
        clean_text(name, limit=40): clean_text(value, limit=40)
        for name, value in told.versions.items()
    }
    return Introduction(versions, clean_text(told.asks, limit=80))
