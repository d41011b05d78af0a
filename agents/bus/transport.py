"""How a message travels, and what a bus takes from outside: limits, time, ids, whose turn it is."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from msgspec import Struct

from agents.bus.envelope import Envelope, Role


class BusLimits(Struct, frozen=True):
    deadline_seconds: float = 90.0
    """From the first thing an agent found out or passed on, until the flow ends."""
    reading_seconds: float = 0.0
    """Until that first thing is said, before the deadline's clock starts."""
    reading_advice: str = ""
    """What a person may do where it is not said in time."""
    finishing_seconds: float = 15.0
    """Of the deadline, what is kept for code to finish when models are no longer waited for."""
    quiet_seconds: float = 5.0
    """A flow in which nobody works and nothing arrives for this long has lost a message."""
    flows: int = 256
    side_by_side: int = 8
    """Requests one agent works on at once."""
    mailbox: int = 64
    remote_messages: int = 4096
    """Messages that one flow takes from agents outside this process."""
    inbox: int = 512
    """Thoughts kept for a reader who is slow; later ones are dropped, the end never is."""
    farewell_seconds: float = 2.0
    """How long to wait for the handlers of an ended flow to stop; they are not heard either way."""


async def _at_once(_: Role) -> None:
    return None


class Ambient(Struct, frozen=True):
    """What a bus takes from the world around it; a test or a replay gives its own."""

    clock: Callable[[], float]
    """Seconds since 1970; asked once for every envelope."""
    new_id: Callable[[], str]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    turn: Callable[[Role], Awaitable[None]] = _at_once
    """Awaited before a role speaks: a replay lets all speak in the order of their record."""


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
