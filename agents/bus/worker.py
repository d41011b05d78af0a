"""How a message travels, and one agent at work: each request in a lane of its own, in order."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from math import inf
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct, field

from agents.bus.envelope import Envelope, EnvelopeError, FailureCause, Payload, Registry, Role
from chain.base.errors import error_kind


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

    def pending_count(self) -> int:
        """How many envelopes are under way."""
        return sum(queue.qsize() for queue in self._queues.values())


class Board:
    """Filled from envelopes alone, so a replay and an agent that was restarted fill it alike."""

    def __init__(self, roles: Sequence[Role]) -> None:
        self._places = {role: place for place, role in enumerate(roles)}
        self._heard: list[Envelope] = []

    def add(self, envelope: Envelope) -> None:
        self._heard.append(envelope)

    def messages_of(self, *kinds: str) -> tuple[Envelope, ...]:
        """All of these kinds, by sender in the flow's order: who was faster makes no difference."""
        chosen = (envelope for envelope in self._heard if envelope.kind in kinds)
        return tuple(
            sorted(chosen, key=lambda one: (self._places[one.sender], one.ts, one.content_id))
        )


Services = TypeVar("Services")


class Outgoing(NamedTuple):
    """What a handler says; the bus adds who said it, when, and in which request."""

    kind: str
    to: Role
    payload: Payload


class HandlerContext(Struct, Generic[Services], frozen=True):
    """What a handler is given besides the envelope; time is the envelope's own `ts`."""

    request_id: str
    role: Role
    services: Services
    say: Callable[[Outgoing], Awaitable[None]]
    """Sends at once what the handler's own messages rest on: a fact it found, a model's reply."""
    prose: Callable[[str], None]
    """Takes a model's words as they are written; they are shown, never recorded or replayed."""
    board: Board
    questions: Iterator[int]
    """Numbers the questions that this role asks a model in this request."""
    seconds_left: Callable[[], float] = lambda: inf
    """How long a model may still be waited for; what follows is code's, to finish in time."""


class Handler(Protocol[Services]):
    def __call__(
        self, envelope: Envelope, context: HandlerContext[Services], /
    ) -> AsyncGenerator[Outgoing, None]: ...


class StageFailedError(Exception):
    """Raised by a handler that cannot go on; its sentence is shown as it is."""

    cause: ClassVar[FailureCause] = FailureCause.REFUSED


class FlowOverError(Exception):
    """Said to a handler that speaks after its flow ended."""


class Host(Protocol[Services]):
    """What a worker needs of the bus it works on."""

    def context(self, request_id: str, role: Role) -> HandlerContext[Services] | None:
        """None when there is no such flow, or it is over."""
        ...

    def on_taken(self, envelope: Envelope) -> None: ...

    def on_handled(self, envelope: Envelope) -> None: ...

    async def post(self, request_id: str, sender: Role, outgoing: Outgoing) -> None: ...

    def fail(self, request_id: str, stage: Role, cause: FailureCause, reason: str) -> None: ...

    def on_crash(self, role: Role, error: Exception) -> None: ...


class Counters(Struct):
    """What went by without effect."""

    duplicates: int = 0
    late: int = 0
    dropped: int = 0
    forged: int = 0


class _Lane(Struct, Generic[Services]):
    context: HandlerContext[Services]
    mailbox: deque[Envelope] = field(default_factory=deque)
    seen: set[str] = field(default_factory=set)
    task: asyncio.Task[None] | None = None
    closed: bool = False


class Worker(Generic[Services]):
    def __init__(
        self,
        role: Role,
        handler: Handler[Services],
        *,
        host: Host[Services],
        transport: EnvelopeTransport,
        registry: Registry,
        counters: Counters,
        side_by_side: int,
        mailbox: int,
    ) -> None:
        self.role = role
        self._handler = handler
        self._host = host
        self._transport = transport
        self._registry = registry
        self._counters = counters
        self._places = asyncio.Semaphore(side_by_side)
        self._mailbox = mailbox
        self._lanes: dict[str, _Lane[Services]] = {}

    @property
    def lanes(self) -> int:
        return len(self._lanes)

    async def run(self) -> None:
        # Taking never waits for a handler: were it to, two agents whose queues are full of each
        # other's messages would stand still for ever.
        while True:
            self.take(await self._transport.receive(self.role))

    def close(self, request_id: str) -> asyncio.Task[None] | None:
        """Stop working on a request; the task that still has to end, if there is one."""
        lane = self._lanes.pop(request_id, None)
        if lane is None:
            return None
        lane.closed = True
        lane.mailbox.clear()
        if lane.task is None or lane.task is asyncio.current_task():
            return None
        lane.task.cancel()
        return lane.task

    def take(self, envelope: Envelope) -> None:
        lane = self._lanes.get(envelope.request_id)
        if lane is None:
            context = self._host.context(envelope.request_id, self.role)
            if context is None:
                self._counters.late += 1
                return
            lane = self._lanes[envelope.request_id] = _Lane(context)
        content_id = envelope.content_id
        if content_id in lane.seen:
            self._counters.duplicates += 1
            return
        if len(lane.mailbox) >= self._mailbox:
            self._overflow(envelope)
            return
        lane.seen.add(content_id)
        lane.mailbox.append(envelope)
        self._host.on_taken(envelope)
        if lane.task is None:
            name = f"{self.role} {envelope.request_id}"
            lane.task = asyncio.create_task(self._empty(lane), name=name)

    def _overflow(self, envelope: Envelope) -> None:
        if self._registry.is_droppable(envelope.kind):
            self._counters.dropped += 1
            return
        self._host.fail(
            envelope.request_id,
            self.role,
            FailureCause.OVERLOADED,
            f"{self.role} has {self._mailbox} messages of this request waiting already.",
        )

    async def _empty(self, lane: _Lane[Services]) -> None:
        try:
            while lane.mailbox:
                envelope = lane.mailbox.popleft()
                async with self._places:
                    await self._handle(lane, envelope)
                if not lane.closed:
                    self._host.on_handled(envelope)
        except asyncio.CancelledError:
            if lane.closed:
                raise
            # Killed from outside, or by something inside the handler: the flow must hear of it.
            self._fail(lane, FailureCause.CRASHED, f"{self.role} was stopped in the middle.")
        finally:
            lane.task = None

    async def _handle(self, lane: _Lane[Services], envelope: Envelope) -> None:
        lane.context.board.add(envelope)
        try:
            async with aclosing(self._handler(envelope, lane.context)) as said:
                async for outgoing in said:
                    await self._host.post(envelope.request_id, self.role, outgoing)
                    if self._registry.is_final(outgoing.kind):
                        break
        except FlowOverError:
            self._counters.late += 1
        except StageFailedError as error:
            self._fail(lane, error.cause, str(error))
        except EnvelopeError as error:
            self._host.on_crash(self.role, error)
            self._fail(lane, FailureCause.CRASHED, f"{self.role} may not say that: {error}")
        except TransportError as error:
            self._fail(lane, FailureCause.LOST, str(error))
        except Exception as error:  # one bad handler may not stop the other flows
            self._host.on_crash(self.role, error)
            # The error's text may hold a URL or a key: only its kind is said aloud.
            name = error_kind(error)
            self._fail(lane, FailureCause.CRASHED, f"{self.role} stopped with {name}.")

    def _fail(self, lane: _Lane[Services], cause: FailureCause, reason: str) -> None:
        if not lane.closed:
            self._host.fail(lane.context.request_id, self.role, cause, reason)
