"""What carries bytes between peers; it is trusted with nothing but trying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from chain.base.errors import Failure, ZunoError

if TYPE_CHECKING:
    from agents.mesh.peers import Peer


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
