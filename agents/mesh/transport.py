"""Both ends of the mesh, the desk's and an agent's, and the order in which a desk records."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

import msgspec
from msgspec import Struct, field

from agents.bus.envelope import (
    CLI,
    Envelope,
    FailureCause,
    FlowFailed,
    FlowTerms,
    Kind,
    Registry,
    Role,
)
from agents.bus.worker import QueueTransport, TransportError
from agents.mesh.endpoint import STRUCTURAL_ATTEMPTS, THOUGHT_ATTEMPTS, MeshEndpoint
from agents.mesh.frame import (
    LARGEST_PAYLOAD,
    DropCause,
    DroppedError,
    FlowStamp,
    Frame,
    FrameKind,
    header_without_number,
    open_envelope,
)
from agents.mesh.peers import Peer


# Agents send to each other, and a copy to the desk. Copies come in any order; a message is let
# through when its sender's earlier ones are, when all that it builds on is, and, where it is for
# another agent elsewhere, in the order in which that agent took it.
class Copy(Struct, frozen=True):
    """What an agent elsewhere said, with its place in the request."""

    envelope: Envelope
    stamp: FlowStamp
    structural: bool
    """Whether it may not be lost."""


class TakenMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """An agent took a message of another as so-many-th."""

    place: int
    sender: str
    number: int


class _Voice(Struct):
    """One agent elsewhere."""

    copies: dict[int, Copy] = field(default_factory=dict)
    next_number: int = 0
    structural: int = 0
    """Of those let through, how many may not be lost."""
    taken: dict[int, TakenMessage] = field(default_factory=dict)
    next_taken: int = 0


class RequestOrder:
    """What has come of one request, and what of it may be recorded by now."""

    def __init__(self, elsewhere: Iterable[Role]) -> None:
        self._voices: dict[str, _Voice] = {role: _Voice() for role in elsewhere}

    def add(self, copy: Copy) -> bool:
        """False where it has come before."""
        voice = self._voices[copy.envelope.sender]
        number = copy.stamp.number
        if number < voice.next_number or number in voice.copies:
            return False
        voice.copies[number] = copy
        return True

    def record_taken(self, role: Role, taken: TakenMessage) -> None:
        self._voices[role].taken.setdefault(taken.place, taken)

    def has_spoken(self, role: Role) -> bool:
        """Whether this agent has said or taken anything."""
        voice = self._voices[role]
        return bool(voice.copies or voice.taken or voice.next_number)

    @property
    def pending_count(self) -> int:
        return sum(len(voice.copies) for voice in self._voices.values())

    def ready(self, *, without_lost_thoughts: bool = False) -> list[Envelope]:
        """All that may be recorded now, in its order."""
        found: list[Envelope] = []
        moved = True
        while moved:
            moved = False
            for voice in self._voices.values():
                copy = self._next(voice, skipping=without_lost_thoughts)
                while copy is not None and self._may_follow(copy):
                    self._let_through(voice, copy)
                    found.append(copy.envelope)
                    moved = True
                    copy = self._next(voice, skipping=without_lost_thoughts)
        return found

    def _next(self, voice: _Voice, *, skipping: bool) -> Copy | None:
        copy = voice.copies.get(voice.next_number)
        if copy is not None or not skipping or not voice.copies:
            return copy
        first = voice.copies[min(voice.copies)]
        # What is missing before it are thoughts alone where no structural one is unheard of.
        return first if first.stamp.structural - int(first.structural) == voice.structural else None

    def _may_follow(self, copy: Copy) -> bool:
        for role, count in copy.stamp.after.items():
            cause = self._voices.get(role)
            if cause is not None and cause.next_number < count:
                return False
        recipient = self._voices.get(copy.envelope.recipient)
        if recipient is None:
            return True
        taken = recipient.taken.get(recipient.next_taken)
        return taken is not None and (taken.sender, taken.number) == (
            copy.envelope.sender,
            copy.stamp.number,
        )

    def _let_through(self, voice: _Voice, copy: Copy) -> None:
        del voice.copies[copy.stamp.number]
        voice.next_number = copy.stamp.number + 1
        voice.structural = copy.stamp.structural
        recipient = self._voices.get(copy.envelope.recipient)
        if recipient is not None:
            recipient.next_taken += 1


THOUGHT_PATIENCE = 4.0
"""Seconds after which a thought that has not come is no longer waited for: without it the record
cannot be replayed, so a slow machine gets its time."""
_TAKEN = msgspec.json.Decoder(TakenMessage)
_MOST_HEARD = 16_384
"""Messages of one debate that wait for the desk to record them."""


class _OpenRequest(Struct):
    order: RequestOrder
    terms: Envelope
    stuck: asyncio.TimerHandle | None = None


class DeskTransport:
    """An `EnvelopeTransport`: roles in `routes` are played elsewhere, the others here."""

    def __init__(
        self,
        endpoint: MeshEndpoint,
        registry: Registry,
        routes: Mapping[Role, Peer],
        *,
        clock: Callable[[], float],
        thought_patience: float = THOUGHT_PATIENCE,
    ) -> None:
        self._endpoint = endpoint
        self._registry = registry
        self._routes = dict(routes)
        self._clock = clock
        self._patience = thought_patience
        self._here = QueueTransport([role for role in registry.roles if role not in routes])
        self._heard: asyncio.Queue[Envelope] = asyncio.Queue(_MOST_HEARD)
        self._requests: dict[str, _OpenRequest] = {}
        endpoint.on_frame = self._take
        endpoint.on_boot = self._restarted

    async def send(self, envelope: Envelope, *, droppable: bool) -> bool:
        peer = self._routes.get(envelope.recipient)
        if peer is None:
            return await self._send_here(envelope, droppable=droppable)
        if envelope.sender in self._routes:
            return True  # it went to its recipient by itself; what came here is a copy
        if len(envelope.wire) > LARGEST_PAYLOAD:
            raise TransportError(f"{envelope.kind} is too long for the mesh.")
        if envelope.kind == Kind.FLOW_TERMS:
            return await self._send_terms(peer, envelope)
        if envelope.kind == Kind.FLOW_OVER:
            self._close(envelope.request_id)
        header = header_without_number(FrameKind.DATA, peer, envelope.request_id)
        attempts = THOUGHT_ATTEMPTS if droppable else STRUCTURAL_ATTEMPTS
        return await self._endpoint.send(
            peer, header, envelope.wire, attempts=attempts, droppable=droppable
        )

    async def receive(self, role: Role) -> Envelope:
        return await (self._heard.get() if role == CLI else self._here.receive(role))

    async def _send_here(self, envelope: Envelope, *, droppable: bool) -> bool:
        if envelope.recipient != CLI:
            return await self._here.send(envelope, droppable=droppable)
        if not droppable:
            await self._heard.put(envelope)
            return True
        try:
            self._heard.put_nowait(envelope)
        except asyncio.QueueFull:
            return False
        return True

    async def _send_terms(self, peer: Peer, envelope: Envelope) -> bool:
        if envelope.request_id not in self._requests:
            order = RequestOrder(self._routes)
            self._requests[envelope.request_id] = _OpenRequest(order, envelope)
        header = header_without_number(
            FrameKind.DATA, peer, envelope.request_id, self._all_routes()
        )
        return await self._endpoint.send(
            peer, header, envelope.wire, attempts=STRUCTURAL_ATTEMPTS, droppable=False
        )

    def _all_routes(self) -> dict[str, str]:
        """By role whom to send to: what is played here is sent to the desk."""
        return {
            str(role): self._routes[role].key if role in self._routes else self._endpoint.me
            for role in self._registry.roles
            if role != CLI
        }

    def _take(self, frame: Frame) -> None:
        """What a peer sent; whatever it has no right to say here is dropped."""
        role = frame.sender.as_role
        if self._routes.get(role) != frame.sender:
            raise DroppedError(DropCause.WRONG_ROLE)
        request = self._requests.get(frame.header.request)
        if request is None:
            raise DroppedError(DropCause.LATE)
        if frame.header.kind is FrameKind.TOOK:
            request.order.record_taken(role, _read_taken(frame.payload))
        else:
            self._take_envelope(request, role, frame)
        self._release(frame.header.request, request)

    def _take_envelope(self, request: _OpenRequest, role: Role, frame: Frame) -> None:
        envelope = open_envelope(self._registry, frame, role)
        stamp = frame.header.stamp
        if not self._registry.is_recorded(envelope.kind):
            if envelope.recipient != CLI or self._heard.full():
                raise DroppedError(DropCause.WRONG_ROLE)
            self._heard.put_nowait(envelope)
            return
        if stamp is None or min(stamp.number, stamp.structural) < 0:
            raise DroppedError(DropCause.MALFORMED)
        structural = not self._registry.is_droppable(envelope.kind)
        if not request.order.add(Copy(envelope, stamp, structural)):
            raise DroppedError(DropCause.REPLAYED)

    def _release(self, request_id: str, request: _OpenRequest, *, skipping: bool = False) -> None:
        for envelope in request.order.ready(without_lost_thoughts=skipping):
            if self._heard.full():
                break
            self._heard.put_nowait(envelope)
        if request.stuck is not None:
            request.stuck.cancel()
        if request.order.pending_count:
            loop = asyncio.get_running_loop()
            request.stuck = loop.call_later(
                self._patience, lambda: self._release(request_id, request, skipping=True)
            )

    def _restarted(self, peer: Peer, first: bool) -> None:
        """A process of a peer that was not there when the request began."""
        role = peer.as_role
        if first or self._routes.get(role) != peer:
            return
        for request_id, request in self._requests.items():
            if request.order.has_spoken(role):
                self._fail(request_id, role, f"{role} restarted in the middle.")
            else:
                # It has not been asked yet: told the terms again, it takes its part.
                self._tell_again(peer, request)

    def _tell_again(self, peer: Peer, request: _OpenRequest) -> None:
        terms = request.terms
        again = self._registry.seal(
            terms.request_id,
            sender=CLI,
            recipient=peer.as_role,
            kind=Kind.FLOW_TERMS,
            payload=terms.payload,
            ts=terms.ts,
        )
        asyncio.get_running_loop().create_task(self._send_terms(peer, again), name="mesh terms")

    def _fail(self, request_id: str, role: Role, reason: str) -> None:
        payload = FlowFailed(stage=role, cause=FailureCause.CRASHED, reason=reason)
        envelope = self._registry.seal(
            request_id,
            sender=role,
            recipient=CLI,
            kind=Kind.FLOW_FAILED,
            payload=payload,
            ts=round(self._clock() * 1000),
        )
        if not self._heard.full():
            self._heard.put_nowait(envelope)

    def _close(self, request_id: str) -> None:
        request = self._requests.pop(request_id, None)
        if request is None:
            return
        if request.stuck is not None:
            request.stuck.cancel()
        self._endpoint.forget(request_id)


def _read_taken(payload: bytes) -> TakenMessage:
    try:
        return _TAKEN.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise DroppedError(DropCause.MALFORMED) from None


_REQUESTS_KEPT = 1_024
_MOST_ARRIVED = 4_096


class _Arrived(Struct, frozen=True):
    envelope: Envelope
    stamp: FlowStamp | None
    """None where the desk sent it."""


class _KnownRequest(Struct):
    desk: Peer
    routes: Mapping[Role, Peer]
    over: bool = False
    said: int = 0
    structural: int = 0
    taken: int = 0
    after: dict[str, int] = field(default_factory=dict)


class AgentTransport:
    """An `EnvelopeTransport` of one role, for every desk that asks it."""

    def __init__(
        self,
        endpoint: MeshEndpoint,
        registry: Registry,
        role: Role,
        *,
        clock: Callable[[], float],
        log: Callable[[str, Envelope, Peer], None] = lambda _way, _envelope, _peer: None,
    ) -> None:
        self._endpoint = endpoint
        self._registry = registry
        self._role = role
        self._clock = clock
        self._log = log
        self._arrived: asyncio.Queue[_Arrived] = asyncio.Queue(_MOST_ARRIVED)
        self._requests: OrderedDict[str, _KnownRequest] = OrderedDict()
        self._tasks: set[asyncio.Task[bool]] = set()
        endpoint.on_frame = self._take

    async def send(self, envelope: Envelope, *, droppable: bool) -> bool:
        request = self._requests.get(envelope.request_id)
        if request is None or request.over:
            return False
        if len(envelope.wire) > LARGEST_PAYLOAD:
            raise TransportError(f"{envelope.kind} is too long for the mesh.")
        header = header_without_number(FrameKind.DATA, request.desk, envelope.request_id)
        if not self._registry.is_recorded(envelope.kind):
            return self._endpoint.send_once(request.desk, header, envelope.wire)
        stamp = FlowStamp(request.said, request.structural + (not droppable), dict(request.after))
        request.said += 1
        request.structural = stamp.structural
        for peer in self._recipients(request, envelope):
            self._log("sent", envelope, peer)
            stamped = msgspec.structs.replace(header, to=peer.key, stamp=stamp)
            attempts = THOUGHT_ATTEMPTS if droppable else STRUCTURAL_ATTEMPTS
            if not await self._endpoint.send(
                peer, stamped, envelope.wire, attempts=attempts, droppable=droppable
            ):
                return False
        return True

    async def receive(self, role: Role) -> Envelope:  # noqa: ARG002 - it plays one role
        while True:
            arrived = await self._arrived.get()
            envelope = arrived.envelope
            request = self._requests.get(envelope.request_id)
            if request is None or request.over:
                continue
            if envelope.kind == Kind.FLOW_OVER:
                request.over = True
                self._endpoint.forget(envelope.request_id)
            elif arrived.stamp is not None:
                await self._tell_taken(request, envelope, arrived.stamp)
            return envelope

    def _recipients(self, request: _KnownRequest, envelope: Envelope) -> tuple[Peer, ...]:
        if envelope.recipient == CLI:
            return (request.desk,)
        return tuple(dict.fromkeys((request.routes[envelope.recipient], request.desk)))

    async def _tell_taken(
        self, request: _KnownRequest, envelope: Envelope, stamp: FlowStamp
    ) -> None:
        for role, count in (*stamp.after.items(), (envelope.sender, stamp.number + 1)):
            request.after[role] = max(count, request.after.get(role, count))
        taken = TakenMessage(request.taken, envelope.sender, stamp.number)
        request.taken += 1
        header = header_without_number(FrameKind.TOOK, request.desk, envelope.request_id)
        await self._endpoint.send(
            request.desk,
            header,
            msgspec.json.encode(taken),
            attempts=STRUCTURAL_ATTEMPTS,
            droppable=False,
        )

    def _take(self, frame: Frame) -> None:
        if frame.header.kind is not FrameKind.DATA or self._arrived.full():
            raise DroppedError(DropCause.EARLY)
        if frame.header.routes is not None:
            self._take_terms(frame)
            return
        request = self._requests.get(frame.header.request)
        if request is None:
            raise DroppedError(DropCause.EARLY)
        if request.over:
            return
        envelope = self._opened(request, frame)
        stamp = frame.header.stamp
        if frame.sender != request.desk and (stamp is None or stamp.number < 0):
            raise DroppedError(DropCause.MALFORMED)
        if stamp is not None and stamp.after.get(self._role, 0) > request.said:
            # Others build on what an earlier process of this role said.
            self._refuse(frame.header.request, "It restarted in the middle.")
            return
        self._put(envelope, None if frame.sender == request.desk else stamp, frame.sender)

    def _opened(self, request: _KnownRequest, frame: Frame) -> Envelope:
        from_desk = frame.sender == request.desk
        if not from_desk and request.routes.get(frame.sender.as_role) != frame.sender:
            raise DroppedError(DropCause.WRONG_REQUEST)
        envelope = open_envelope(self._registry, frame, None if from_desk else frame.sender.as_role)
        if envelope.recipient != self._role:
            raise DroppedError(DropCause.WRONG_RECIPIENT)
        # The desk speaks for itself and for the roles it plays.
        if from_desk and request.routes.get(envelope.sender, request.desk) != request.desk:
            raise DroppedError(DropCause.WRONG_ROLE)
        if not self._registry.is_recorded(envelope.kind) and envelope.kind != Kind.FLOW_OVER:
            raise DroppedError(DropCause.WRONG_ROLE)
        return envelope

    def _take_terms(self, frame: Frame) -> None:
        """A desk begins a request: who plays in it, and what it may take."""
        if frame.sender.role != CLI:
            raise DroppedError(DropCause.WRONG_ROLE)
        envelope = open_envelope(self._registry, frame, CLI)
        if not isinstance(envelope.payload, FlowTerms) or envelope.recipient != self._role:
            raise DroppedError(DropCause.WRONG_RECIPIENT)
        known = self._requests.get(envelope.request_id)
        if known is not None:
            if known.desk != frame.sender:
                raise DroppedError(DropCause.WRONG_REQUEST)
            return
        routes = self._routes(frame)
        request = _KnownRequest(frame.sender, routes)
        self._requests[envelope.request_id] = request
        while len(self._requests) > _REQUESTS_KEPT:
            self._requests.popitem(last=False)
        theirs = self._endpoint.versions_of(frame.sender)
        if theirs and theirs != self._endpoint.versions:
            self._refuse(envelope.request_id, "It runs another version than the desk.")
            return
        self._put(envelope, None, frame.sender)

    def _routes(self, frame: Frame) -> dict[Role, Peer]:
        """By role the peer who plays it, each bound to that role by our own book too."""
        routes: dict[Role, Peer] = {}
        for role in self._registry.roles:
            if role == CLI:
                continue
            key = (frame.header.routes or {}).get(role)
            peers = (*self._endpoint.book.of_role(role), frame.sender)
            peer = next((peer for peer in peers if peer.key == key), None)
            if peer is None:
                raise DroppedError(DropCause.WRONG_ROLE)
            routes[role] = peer
        if routes[self._role].key != self._endpoint.me:
            raise DroppedError(DropCause.WRONG_RECIPIENT)
        return routes

    def _put(self, envelope: Envelope, stamp: FlowStamp | None, sender: Peer) -> None:
        self._log("heard", envelope, sender)
        self._arrived.put_nowait(_Arrived(envelope, stamp))

    def _refuse(self, request_id: str, reason: str) -> None:
        payload = FlowFailed(stage=self._role, cause=FailureCause.REFUSED, reason=reason)
        envelope = self._registry.seal(
            request_id,
            sender=self._role,
            recipient=CLI,
            kind=Kind.FLOW_FAILED,
            payload=payload,
            ts=round(self._clock() * 1000),
        )
        task = asyncio.get_running_loop().create_task(self.send(envelope, droppable=False))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
