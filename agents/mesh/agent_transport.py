"""An agent's end of the mesh: it sends to the next agent by itself, and a copy to the desk."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from agents.bus.envelope import CLI, Envelope, Kind, Registry, Role
from agents.bus.payload import FailureCause, FlowFailed, FlowTerms
from agents.bus.transport import TransportError
from agents.mesh.endpoint import STRUCTURAL_ATTEMPTS, THOUGHT_ATTEMPTS, MeshEndpoint
from agents.mesh.frame import (
    LARGEST_PAYLOAD,
    DropCause,
    DroppedError,
    FlowStamp,
    Frame,
    FrameHeader,
    FrameKind,
)
from agents.mesh.opening import opened
from agents.mesh.ordering import Taken

if TYPE_CHECKING:
    from agents.mesh.peers import Peer

_REQUESTS_KEPT = 1_024
_MOST_NOT_TAKEN = 4_096


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
        self._arrived: asyncio.Queue[_Arrived] = asyncio.Queue(_MOST_NOT_TAKEN)
        self._requests: OrderedDict[str, _KnownRequest] = OrderedDict()
        self._tasks: set[asyncio.Task[bool]] = set()
        endpoint.on_frame = self._take

    async def send(self, envelope: Envelope, *, droppable: bool) -> bool:
        request = self._requests.get(envelope.request_id)
        if request is None or request.over:
            return False
        if len(envelope.wire) > LARGEST_PAYLOAD:
            raise TransportError(f"{envelope.kind} is too long for the mesh.")
        header = FrameHeader(FrameKind.DATA, request.desk.key, "", 0, request=envelope.request_id)
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
            request.after[role] = max(count, request.after.get(role, 0))
        taken = Taken(request.taken, envelope.sender, stamp.number)
        request.taken += 1
        header = FrameHeader(FrameKind.TOOK, request.desk.key, "", 0, request=envelope.request_id)
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
            self._refuse(frame.header.request, "It was started anew in the middle.")
            return
        self._put(envelope, None if frame.sender == request.desk else stamp, frame.sender)

    def _opened(self, request: _KnownRequest, frame: Frame) -> Envelope:
        from_desk = frame.sender == request.desk
        if not from_desk and request.routes.get(frame.sender.as_role) != frame.sender:
            raise DroppedError(DropCause.WRONG_REQUEST)
        envelope = opened(self._registry, frame, None if from_desk else frame.sender.as_role)
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
        envelope = opened(self._registry, frame, CLI)
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
            peer = next((one for one in peers if one.key == key), None)
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
