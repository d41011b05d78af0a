"""The desk's end of the mesh: agents elsewhere as if they were here, in an order for the record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agents.bus.envelope import CLI, Envelope, Kind, Registry, Role
from agents.bus.payload import FailureCause, FlowFailed
from agents.bus.transport import QueueTransport, TransportError
from agents.mesh.endpoint import STRUCTURAL_ATTEMPTS, THOUGHT_ATTEMPTS, MeshEndpoint
from agents.mesh.frame import (
    LARGEST_PAYLOAD,
    DropCause,
    DroppedError,
    Frame,
    FrameHeader,
    FrameKind,
)
from agents.mesh.opening import opened
from agents.mesh.ordering import Copy, RequestOrder, Taken

if TYPE_CHECKING:
    from agents.mesh.peers import Peer

THOUGHT_PATIENCE = 4.0
"""Seconds after which a thought that has not come is no longer waited for: without it the record
cannot be replayed, so a slow machine gets its time."""
_TAKEN = msgspec.json.Decoder(Taken)
_MOST_NOT_TAKEN = 16_384
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
        self._heard: asyncio.Queue[Envelope] = asyncio.Queue(_MOST_NOT_TAKEN)
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
        header = self._header(peer, envelope)
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
        header = FrameHeader(
            FrameKind.DATA, peer.key, "", 0, request=envelope.request_id, routes=self._all_routes()
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

    def _header(self, peer: Peer, envelope: Envelope) -> FrameHeader:
        return FrameHeader(FrameKind.DATA, peer.key, "", 0, request=envelope.request_id)

    def _take(self, frame: Frame) -> None:
        """What a peer sent; whatever it has no right to say here is dropped."""
        role = frame.sender.as_role
        if self._routes.get(role) != frame.sender:
            raise DroppedError(DropCause.WRONG_ROLE)
        request = self._requests.get(frame.header.request)
        if request is None:
            raise DroppedError(DropCause.LATE)
        if frame.header.kind is FrameKind.TOOK:
            request.order.took(role, _taken(frame.payload))
        else:
            self._take_envelope(request, role, frame)
        self._release(frame.header.request, request)

    def _take_envelope(self, request: _OpenRequest, role: Role, frame: Frame) -> None:
        envelope = opened(self._registry, frame, role)
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
            request.stuck = None
        if request.order.waiting:
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
            if request.order.spoken(role):
                self._fail(request_id, role, f"{role} was started anew in the middle.")
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


def _taken(payload: bytes) -> Taken:
    try:
        return _TAKEN.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise DroppedError(DropCause.MALFORMED) from None
