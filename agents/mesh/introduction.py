"""What peers tell of themselves as they meet, and how each is seen."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agents.mesh.frame import DropCause, DroppedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.mesh.peers import Peer

_VERSIONS = msgspec.json.Decoder(dict[str, str])
_MOST_VERSION_BYTES = 1_024


class PeerSight(Struct, frozen=True):
    """How a peer is seen from here."""

    peer: Peer
    versions: Mapping[str, str]
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


def read_versions(payload: bytes) -> dict[str, str]:
    if len(payload) > _MOST_VERSION_BYTES:
        raise DroppedError(DropCause.OVERSIZE)
    try:
        return _VERSIONS.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise DroppedError(DropCause.MALFORMED) from None
