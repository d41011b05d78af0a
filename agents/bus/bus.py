"""The bus: starts flows, carries what agents say, and ends each flow exactly once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic

from msgspec import Struct

from agents.bus.envelope import FailureCause, FlowFailed, Kind, Role
from agents.bus.flow import Flow
from agents.bus.worker import Counters, FlowOverError, HandlerContext, Outgoing, Services, Worker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from types import TracebackType

    from agents.bus.envelope import Envelope, Payload, Registry
    from agents.bus.flow import Observer, ProseListener
    from agents.bus.transport import EnvelopeTransport
    from agents.bus.worker import Handler


class BusLimits(Struct, frozen=True):
    deadline_seconds: float = 90.0
    quiet_seconds: float = 5.0
    """A flow in which nobody works and nothing arrives for this long has lost a message."""
    flows: int = 256
    side_by_side: int = 8
    """Requests one agent works on at once."""
    mailbox: int = 64
    inbox: int = 512
    """Thoughts kept for a reader who is slow; later ones are dropped, the end never is."""
    farewell_seconds: float = 2.0
    """How long to wait for the handlers of an ended flow to stop; they are not heard either way."""


class BusFullError(Exception):
    """Too many flows at once; wait for one to end, or cancel one."""


class Ambient(Struct, frozen=True):
    """What a bus takes from the world around it; a test or a replay gives its own."""

    clock: Callable[[], float]
    """Seconds since 1970; asked once for every envelope."""
    new_id: Callable[[], str]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Bus(Generic[Services]):
    """Use as `async with`: the agents listen inside, and leaving ends what still runs."""

    def __init__(
        self,
        registry: Registry,
        transport: EnvelopeTransport,
        handlers: Mapping[Role, Handler[Services]],
        *,
        ambient: Ambient,
        limits: BusLimits | None = None,
        on_crash: Callable[[Role, Exception], None] | None = None,
    ) -> None:
        self.counters = Counters()
        self._registry = registry
        self._transport = transport
        self._ambient = ambient
        self._limits = limits or BusLimits()
        self._on_crash = on_crash
        self._flows: dict[str, Flow[Services]] = {}
        self._listening: list[asyncio.Task[None]] = []
        self._ending: set[asyncio.Task[None]] = set()
        self._workers = [
            Worker(
                role,
                handler,
                host=self,
                transport=transport,
                registry=registry,
                counters=self.counters,
                side_by_side=self._limits.side_by_side,
                mailbox=self._limits.mailbox,
            )
            for role, handler in handlers.items()
        ]

    async def __aenter__(self) -> Bus[Services]:
        self._listen(self._deliver_all, Role.CLI)
        for worker in self._workers:
            self._listen(worker.run, worker.role)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for request_id in tuple(self._flows):
            self.fail(request_id, Role.CLI, FailureCause.CANCELLED, "The desk was closed.")
        for task in self._listening:
            task.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)
        self._listening.clear()
        await self.settled()

    @property
    def active(self) -> frozenset[str]:
        return frozenset(self._flows)

    @property
    def lanes(self) -> int:
        """Requests that agents hold state for, summed over the agents."""
        return sum(worker.lanes for worker in self._workers)

    def new_id(self) -> str:
        return self._ambient.new_id()

    async def start(
        self,
        kind: str,
        payload: Payload,
        *,
        services: Services,
        to: Role = Role.SCOUT,
        request_id: str | None = None,
        deadline_seconds: float | None = None,
        observers: Iterable[Observer] = (),
        on_prose: ProseListener | None = None,
    ) -> Flow[Services]:
        """Begin a flow by its first message; what follows is read from the Flow."""
        if len(self._flows) >= self._limits.flows:
            raise BusFullError(
                f"{len(self._flows)} requests are under way. Wait for one to end, or cancel one."
            )
        chosen = request_id or self._ambient.new_id()
        if chosen in self._flows:
            raise ValueError(f"The request {chosen} is under way already.")
        flow = Flow(chosen, services, tuple(observers), on_prose, inbox=self._limits.inbox)
        self._flows[chosen] = flow
        seconds = deadline_seconds or self._limits.deadline_seconds
        flow.watch = asyncio.create_task(self._watch(flow, seconds), name=f"watch {chosen}")
        try:
            await self.post(chosen, Role.CLI, Outgoing(kind, to, payload))
        except FlowOverError:
            pass  # it ended before it began; the flow says how
        except BaseException:
            self._forget(flow)
            raise
        return flow

    async def cancel(self, request_id: str, reason: str = "It was cancelled.") -> bool:
        """End a flow now; nothing of it is seen afterwards. False when it was over already."""
        if request_id not in self._flows:
            return False
        self.fail(request_id, Role.CLI, FailureCause.CANCELLED, reason)
        await self.settled()
        return True

    async def settled(self) -> None:
        """Wait until the tasks of ended flows are gone, or will not go."""
        if self._ending:
            await asyncio.wait(self._ending, timeout=self._limits.farewell_seconds)

    def context(self, request_id: str, role: Role) -> HandlerContext[Services] | None:
        flow = self._flows.get(request_id)
        if flow is None:
            return None

        def prose(text: str) -> None:
            try:
                flow.spoken(role, text)
            except Exception as error:  # a listener's fault may not stop a debate
                self.crashed(role, error)

        return HandlerContext(request_id, role, flow.services, prose)

    def taken(self, envelope: Envelope) -> None:
        flow = self._flows.get(envelope.request_id)
        if flow is not None:
            flow.activity += 1
            flow.working += 1

    def handled(self, envelope: Envelope) -> None:
        flow = self._flows.get(envelope.request_id)
        if flow is None:
            return
        flow.activity += 1
        flow.working -= 1
        self._arrived(flow, envelope)

    async def post(self, request_id: str, sender: Role, outgoing: Outgoing) -> None:
        flow = self._flows.get(request_id)
        if flow is None:
            raise FlowOverError
        envelope = self._sealed(request_id, sender, outgoing)
        try:
            flow.observe(envelope)
        except Exception as error:  # an observer writes to disk: anything can happen
            self.crashed(Role.CLI, error)
            reason = f"The record could not be written ({type(error).__name__})."
            self.fail(request_id, Role.CLI, FailureCause.UNRECORDED, reason)
        if flow.over:
            raise FlowOverError
        flow.activity += 1
        droppable = self._registry.is_droppable(envelope.kind)
        if not droppable:
            flow.sent(envelope)
        if not await self._transport.send(envelope, droppable=droppable):
            self.counters.dropped += 1

    def fail(self, request_id: str, stage: Role, cause: FailureCause, reason: str) -> None:
        """End a flow here and now, whatever the transport is doing."""
        flow = self._flows.get(request_id)
        if flow is None:
            return
        payload = FlowFailed(stage=stage, cause=cause, reason=reason)
        envelope = self._sealed(request_id, stage, Outgoing(Kind.FLOW_FAILED, Role.CLI, payload))
        try:
            flow.observe(envelope)
        except Exception as error:  # the flow ends even if nobody can write it down
            self.crashed(Role.CLI, error)
        self._finish(flow, envelope)

    def crashed(self, role: Role, error: Exception) -> None:
        if self._on_crash is not None:
            self._on_crash(role, error)

    def _sealed(self, request_id: str, sender: Role, outgoing: Outgoing) -> Envelope:
        return self._registry.seal(
            request_id,
            sender=sender,
            recipient=outgoing.to,
            kind=outgoing.kind,
            payload=outgoing.payload,
            ts=round(self._ambient.clock() * 1000),
        )

    async def _deliver_all(self) -> None:
        while True:
            self._deliver(await self._transport.receive(Role.CLI))

    def _deliver(self, envelope: Envelope) -> None:
        flow = self._flows.get(envelope.request_id)
        if flow is None:
            self.counters.late += 1
            return
        if not flow.is_new(envelope):
            self.counters.duplicates += 1
            return
        flow.activity += 1
        if self._registry.is_final(envelope.kind):
            self._finish(flow, envelope)
            return
        droppable = self._registry.is_droppable(envelope.kind)
        if not flow.deliver(envelope, droppable=droppable):
            self.counters.dropped += 1
        self._arrived(flow, envelope)

    def _arrived(self, flow: Flow[Services], envelope: Envelope) -> None:
        if self._registry.is_droppable(envelope.kind):
            return
        flow.under_way -= 1
        if flow.under_way == 0 and flow.working == 0:
            reason = f"{envelope.recipient} had nothing to say to {envelope.kind}."
            self.fail(flow.request_id, envelope.recipient, FailureCause.SILENT, reason)

    async def _watch(self, flow: Flow[Services], seconds: float) -> None:
        """End the flow at its deadline, or sooner when a message must have been lost."""
        remaining = seconds
        while remaining > 0:
            step = min(self._limits.quiet_seconds, remaining)
            before = flow.activity
            await self._ambient.sleep(step)
            remaining -= step
            if flow.activity == before and flow.working == 0 and remaining > 0:
                reason = f"{flow.stage} did not receive {flow.last_kind} or did not answer it."
                self.fail(flow.request_id, flow.stage, FailureCause.LOST, reason)
                return
        reason = f"There was no plan within {seconds:g} seconds."
        self.fail(flow.request_id, flow.stage, FailureCause.DEADLINE, reason)

    def _finish(self, flow: Flow[Services], envelope: Envelope) -> None:
        self._forget(flow)
        flow.finish(envelope)

    def _forget(self, flow: Flow[Services]) -> None:
        self._flows.pop(flow.request_id, None)
        flow.over = True
        ending = [worker.close(flow.request_id) for worker in self._workers]
        if flow.watch is not None and flow.watch is not asyncio.current_task():
            flow.watch.cancel()
            ending.append(flow.watch)
        for task in ending:
            if task is not None and not task.done():
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)

    def _listen(self, work: Callable[[], Awaitable[None]], role: Role) -> None:
        self._listening.append(asyncio.create_task(self._guarded(work), name=f"listen {role}"))

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:  # a broken transport ends every flow in words
            self.crashed(Role.CLI, error)
            reason = f"The transport stopped with {type(error).__name__}."
            for request_id in tuple(self._flows):
                self.fail(request_id, Role.CLI, FailureCause.LOST, reason)
