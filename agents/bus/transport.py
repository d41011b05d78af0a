"""How a message travels. Senders and handlers never learn which way it went."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agents.bus.envelope import Envelope, Role

QUEUE_CAPACITY = 64


class TransportError(Exception):
    """A message cannot be handed over, and trying again will not help."""


class EnvelopeTransport(Protocol):
    """A way for envelopes to travel; it may lose, repeat and reorder them, never alter them.

    Between processes the desk hears everything: whatever an agent elsewhere sends is received as
    `cli`, whoever it is for, after all that it answers; the bus there records it and sends it on,
    unless it went to its recipient by itself.
    """

    async def send(self, envelope: Envelope, *, droppable: bool) -> bool:
        """Hand over one envelope, waiting while the way is full.

        A droppable one does not wait: False says that it was left behind.
        """
        ...

    async def receive(self, role: Role) -> Envelope:
        """The next envelope for this role, waiting for it."""
        ...


class QueueTransport:
    """Everyone in one process: a bounded queue for each role, in order and without loss."""

    def __init__(self, roles: Iterable[Role], *, capacity: int = QUEUE_CAPACITY) -> None:
        self._queues: dict[Role, asyncio.Queue[Envelope]] = {
            role: asyncio.Queue(capacity) for role in roles
        }

    async def send(self, envelope: Envelope, *, droppable: bool) -> bool:
        queue = self._queues.get(envelope.recipient)
        if queue is None:
            raise TransportError(f"Nobody here listens as {envelope.recipient}.")
        if not droppable:
            await self.put(envelope.recipient, envelope)
            return True
        try:
            queue.put_nowait(envelope)
        except asyncio.QueueFull:
            return False
        return True

    async def put(self, role: Role, envelope: Envelope) -> None:
        """Hand an envelope to this role, whoever it is for."""
        await self._queues[role].put(envelope)

    async def receive(self, role: Role) -> Envelope:
        return await self._queues[role].get()

    def waiting(self) -> int:
        """How many envelopes are under way."""
        return sum(queue.qsize() for queue in self._queues.values())
