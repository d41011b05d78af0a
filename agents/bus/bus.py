"""The bus: starts flows, carries what agents say, and ends each flow exactly once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Generic, Protocol

from msgspec import Struct

from agents.bus.envelope import (
    CLI,
    AgentProse,
    Envelope,
    FailureCause,
    FlowFailed,
    FlowOver,
    FlowTerms,
    Kind,
    Payload,
    Registry,
    Role,
)
from agents.bus.replay import Record
from agents.bus.worker import (
    Ambient,
    Board,
    BusLimits,
    Counters,
    EnvelopeTransport,
    FlowOverError,
    Handler,
    HandlerContext,
    Outgoing,
    Services,
    TransportError,
    Worker,
)
from chain.base.errors import error_kind

Fail = Callable[[str, Role, FailureCause, str], None]
Sleep = Callable[[float], Awaitable[None]]


class Observer(Protocol):
    """Sees every envelope of a flow before it is handled, in order; one that raises ends it."""

    def __call__(self, envelope: Envelope, /) -> None: ...


class ProseListener(Protocol):
    """Hears a model's words as they are written."""

    def __call__(self, role: Role, text: str, /) -> None: ...


class Flow(Generic[Services]):
    """Iterate over it for what reaches the desk; the last envelope is a plan or a failure."""

    def __init__(
        self,
        request_id: str,
        services: Services,
        observers: tuple[Observer, ...],
        on_prose: ProseListener | None,
        *,
        inbox: int,
        seconds: float,
    ) -> None:
        self.request_id = request_id
        self.services = services
        self.seconds = seconds
        """How long it may take once it has begun."""
        self.over = False
        self.concluded = False
        """Its last message is recorded and on its way: whatever is said now comes too late."""
        self.began_at: float | None = None
        """When an agent first found something out or passed something on, by the loop's clock."""
        self.stage = CLI
        """Whose turn it is: the last one somebody wrote to."""
        self.last_kind = ""
        self.activity = 0
        self.working = 0
        """Messages that agents took and have not finished."""
        self.under_way = 0
        """Structural messages sent and not yet handled."""
        self.remote_messages = 0
        """Messages to be recorded that came from agents outside this process."""
        self.posted: set[str] = set()
        """Content ids of what was said in this process to the one who asked."""
        self.speaking = asyncio.Lock()
        """Held while a message is recorded and handed over, so that both happen in one order."""
        self.remote_queue: asyncio.Queue[Envelope] = asyncio.Queue()
        self.tasks: list[asyncio.Task[None]] = []
        """What runs for as long as the flow does."""
        self._observers = observers
        self._on_prose = on_prose
        self._inbox: asyncio.Queue[Envelope] = asyncio.Queue()
        self._most = inbox
        self._seen: set[str] = set()
        self._outcome: asyncio.Future[Envelope] = asyncio.get_running_loop().create_future()

    async def outcome(self) -> Envelope:
        """The envelope that ended it."""
        return await asyncio.shield(self._outcome)

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        while not (self._outcome.done() and self._inbox.empty()):
            yield await self._inbox.get()

    def observe(self, envelope: Envelope) -> None:
        for observer in self._observers:
            observer(envelope)

    def on_sent(self, envelope: Envelope, *, final: bool) -> None:
        """A structural message is on its way: it is its recipient's turn."""
        self.under_way += 1
        self.concluded = final
        if self.began_at is None and envelope.sender != CLI:
            self.began_at = asyncio.get_running_loop().time()
        # What an agent tells the desk on the way leaves the turn with it.
        if final or envelope.recipient != CLI:
            self.stage = envelope.recipient
            self.last_kind = envelope.kind

    def seconds_left(self) -> float:
        """Of the time it has once it has begun."""
        if self.began_at is None:
            return self.seconds
        return self.seconds - (asyncio.get_running_loop().time() - self.began_at)

    def is_new(self, envelope: Envelope) -> bool:
        known = len(self._seen)
        self._seen.add(envelope.content_id)
        return len(self._seen) > known

    def deliver(self, envelope: Envelope, *, droppable: bool) -> bool:
        if droppable and self._inbox.qsize() >= self._most:
            return False
        self._inbox.put_nowait(envelope)
        return True

    def on_prose(self, role: Role, text: str) -> None:
        if self._on_prose is not None and not self.over:
            self._on_prose(role, text)

    def finish(self, envelope: Envelope) -> None:
        self._outcome.set_result(envelope)
        self._inbox.put_nowait(envelope)


_LATE = 0.1
"""Of a quiet time, by how much longer it may have taken and still count."""


async def watch_flow(flow: Flow[Services], limits: BusLimits, sleep: Sleep, fail: Fail) -> None:
    """Let it fail at its deadline, or sooner when nobody works and nothing arrives."""
    reading = limits.reading_seconds
    if reading and not await _passed(flow, reading, limits, sleep, fail, until_begun=True):
        reason = f"{flow.stage} had no result after {reading:g} seconds."
        reason = f"{reason} {limits.reading_advice}".rstrip()
    elif await _passed(flow, flow.seconds, limits, sleep, fail):
        return
    else:
        reason = f"It did not end within {flow.seconds:g} seconds."
    fail(flow.request_id, flow.stage, FailureCause.DEADLINE, reason)


async def _passed(
    flow: Flow[Services],
    seconds: float,
    limits: BusLimits,
    sleep: Sleep,
    fail: Fail,
    *,
    until_begun: bool = False,
) -> bool:
    """Whether, before so long has passed, it began, where that is waited for, or was lost."""
    clock = asyncio.get_running_loop().time
    remaining = seconds
    while remaining > 0:
        if flow.over or (until_begun and flow.began_at is not None):
            return True
        step = min(limits.quiet_seconds, remaining)
        before, due = flow.activity, clock() + step
        await sleep(step)
        remaining -= step
        # Who woke up late was busy, and cannot say that the others were silent.
        woke_late = clock() - due > step * _LATE
        if flow.activity == before and flow.working == 0 and remaining > 0 and not woke_late:
            reason = f"{flow.stage} did not receive {flow.last_kind} or did not answer it."
            fail(flow.request_id, flow.stage, FailureCause.LOST, reason)
    return flow.over


class FlowSpec(Struct, Generic[Services], frozen=True):
    name: str
    """As its records and its plans name it."""
    package: str
    """Where its code and its prompts are: its records name a hash over them."""
    registry: Registry
    """Its roles and kinds, which of them end it and which may be lost."""
    handlers: Mapping[Role, Handler[Services]]
    first: Role
    """Who is given the start."""
    starts: tuple[str, ...]
    """The kinds it may begin with."""
    recorded_services: Callable[[Record], Services]
    """What its handlers work with when a record is run again: no model, no chain."""
    services_of: Callable[[Services, Role], Services] = lambda services, _: services
    """What of them one role works with, where not all have the same."""


class BusFullError(Exception):
    """Too many flows at once; wait for one to end, or cancel one."""


class Bus(Generic[Services]):
    """Use as `async with`: the agents listen inside, and leaving ends what still runs."""

    def __init__(
        self,
        spec: FlowSpec[Services],
        transport: EnvelopeTransport,
        *,
        ambient: Ambient,
        remote: Iterable[Role] = (),
        about: str = "",
        limits: BusLimits | None = None,
        on_crash: Callable[[Role, Exception], None] | None = None,
    ) -> None:
        """Roles that are `remote` are played by an `AgentHost` elsewhere, the others here."""
        self.counters = Counters()
        self._spec = spec
        self._registry = spec.registry
        self._transport = transport
        self._ambient = ambient
        self._remote = tuple(remote)
        self._about = about
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
                registry=spec.registry,
                counters=self.counters,
                side_by_side=self._limits.side_by_side,
                mailbox=self._limits.mailbox,
            )
            for role, handler in spec.handlers.items()
            if role not in self._remote
        ]

    async def __aenter__(self) -> Bus[Services]:
        self._listen(self._deliver_all, CLI)
        for worker in self._workers:
            self._listen(worker.run, worker.role)
        return self

    async def __aexit__(self, *_: object) -> None:
        for request_id in tuple(self._flows):
            self.fail(request_id, CLI, FailureCause.CANCELLED, "The desk was closed.")
        for task in self._listening:
            task.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)
        self._listening.clear()
        await self.wait_settled()

    @property
    def active(self) -> frozenset[str]:
        return frozenset(self._flows)

    @property
    def lanes(self) -> int:
        """Requests that agents hold state for, summed over the agents."""
        return sum(worker.lanes for worker in self._workers)

    async def start(
        self,
        payload: Payload,
        *,
        services: Services,
        request_id: str | None = None,
        deadline_seconds: float | None = None,
        tokens: int | None = None,
        observers: Iterable[Observer] = (),
        on_prose: ProseListener | None = None,
    ) -> Flow[Services]:
        """Begin a flow by its first message; what follows is read from the Flow."""
        kind = self._registry.kind_of(payload, self._spec.starts)
        if len(self._flows) >= self._limits.flows:
            raise BusFullError(
                f"{len(self._flows)} requests are under way. Wait for one to end, or cancel one."
            )
        chosen = request_id or self._ambient.new_id()
        if chosen in self._flows:
            raise ValueError(f"The request {chosen} is under way already.")
        seconds = deadline_seconds or self._limits.deadline_seconds
        flow = Flow(
            chosen, services, tuple(observers), on_prose, inbox=self._limits.inbox, seconds=seconds
        )
        self._flows[chosen] = flow
        watching = watch_flow(flow, self._limits, self._ambient.sleep, self.fail)
        flow.tasks = [asyncio.create_task(watching, name=f"watch {chosen}")]
        if self._remote:
            flow.tasks.append(
                asyncio.create_task(self._record_remote(flow), name=f"remote {chosen}")
            )
        terms = FlowTerms(
            flow=self._spec.name,
            seconds=seconds + self._limits.reading_seconds,
            quiet_seconds=self._limits.quiet_seconds,
            tokens=tokens,
            about=self._about,
        )
        try:
            for role in self._remote:
                await self._send(self._sealed(chosen, CLI, Outgoing(Kind.FLOW_TERMS, role, terms)))
            await self.post(chosen, CLI, Outgoing(kind, self._spec.first, payload))
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
        self.fail(request_id, CLI, FailureCause.CANCELLED, reason)
        await self.wait_settled()
        return True

    async def wait_settled(self) -> None:
        """Wait until the tasks of ended flows are gone, or will not go."""
        if self._ending:
            await asyncio.wait(self._ending, timeout=self._limits.farewell_seconds)

    def context(self, request_id: str, role: Role) -> HandlerContext[Services] | None:
        flow = self._flows.get(request_id)
        if flow is None:
            return None

        return HandlerContext(
            request_id,
            role,
            self._spec.services_of(flow.services, role),
            say=lambda outgoing: self.post(request_id, role, outgoing),
            prose=lambda text: self._spoken(flow, role, text),
            board=Board(self._registry.roles),
            questions=itertools.count(),
            seconds_left=lambda: flow.seconds_left() - self._limits.finishing_seconds,
        )

    def on_taken(self, envelope: Envelope) -> None:
        flow = self._flows.get(envelope.request_id)
        if flow is not None:
            flow.activity += 1
            flow.working += 1

    def on_handled(self, envelope: Envelope) -> None:
        flow = self._flows.get(envelope.request_id)
        if flow is None:
            return
        flow.activity += 1
        flow.working -= 1
        self._count_handled(flow, envelope)

    async def post(self, request_id: str, sender: Role, outgoing: Outgoing) -> None:
        flow = self._flows.get(request_id)
        if flow is None:
            raise FlowOverError
        await self._ambient.turn(sender)
        async with flow.speaking:
            if flow.over or flow.concluded:
                raise FlowOverError
            envelope = self._sealed(request_id, sender, outgoing)
            self._observe(flow, envelope)
            if flow.over:
                raise FlowOverError
            flow.activity += 1
            if envelope.recipient == CLI:
                flow.posted.add(envelope.content_id)
            self._sent(flow, envelope)
            await self._send(envelope)

    def fail(self, request_id: str, stage: Role, cause: FailureCause, reason: str) -> None:
        """End a flow here and now, whatever the transport is doing."""
        flow = self._flows.get(request_id)
        if flow is None:
            return
        payload = FlowFailed(stage=stage, cause=cause, reason=reason)
        envelope = self._sealed(request_id, stage, Outgoing(Kind.FLOW_FAILED, CLI, payload))
        try:
            flow.observe(envelope)
        except Exception as error:  # the flow ends even if nobody can write it down
            self.on_crash(CLI, error)
        self._finish(flow, envelope)

    def on_crash(self, role: Role, error: Exception) -> None:
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

    async def _send(self, envelope: Envelope) -> None:
        droppable = self._registry.is_droppable(envelope.kind)
        if not await self._transport.send(envelope, droppable=droppable):
            self.counters.dropped += 1

    def _sent(self, flow: Flow[Services], envelope: Envelope) -> None:
        if not self._registry.is_droppable(envelope.kind):
            flow.on_sent(envelope, final=self._registry.is_final(envelope.kind))

    def _observe(self, flow: Flow[Services], envelope: Envelope) -> None:
        try:
            flow.observe(envelope)
        except Exception as error:  # an observer writes to disk: anything can happen
            self.on_crash(CLI, error)
            reason = f"The record could not be written ({error_kind(error)})."
            self.fail(flow.request_id, CLI, FailureCause.UNRECORDED, reason)

    def _spoken(self, flow: Flow[Services], role: Role, text: str) -> None:
        try:
            flow.on_prose(role, text)
        except Exception as error:  # a listener's fault may not stop a debate
            self.on_crash(role, error)

    async def _deliver_all(self) -> None:
        while True:
            self._deliver(await self._transport.receive(CLI))

    def _deliver(self, envelope: Envelope) -> None:
        flow = self._flows.get(envelope.request_id)
        if flow is None:
            self.counters.late += 1
            return
        if not flow.is_new(envelope):
            self.counters.duplicates += 1
            return
        if envelope.content_id in flow.posted:
            flow.activity += 1
            self._hand_to_asker(flow, envelope)
        elif envelope.sender in self._remote:
            flow.activity += 1
            self._take_remote(flow, envelope)
        else:
            # Whoever works here has not said it: somebody elsewhere speaks in another's name.
            self.counters.forged += 1

    def _take_remote(self, flow: Flow[Services], envelope: Envelope) -> None:
        """Take what an agent outside this process says: to whom it speaks is seen after."""
        if isinstance(envelope.payload, AgentProse):
            self._spoken(flow, envelope.sender, envelope.payload.text)
        if not self._registry.is_recorded(envelope.kind):
            return
        flow.remote_messages += 1
        if flow.remote_messages > self._limits.remote_messages:
            reason = f"{envelope.sender} said more than {self._limits.remote_messages} things."
            self.fail(flow.request_id, envelope.sender, FailureCause.OVERLOADED, reason)
            return
        flow.remote_queue.put_nowait(envelope)

    async def _record_remote(self, flow: Flow[Services]) -> None:
        """Record what arrives as what is said here is recorded, and pass it on, in one order."""
        # What comes after the end was said too late, even if it is here already.
        while flow.request_id in self._flows:
            envelope = await flow.remote_queue.get()
            async with flow.speaking:
                if flow.concluded:
                    return
                self._observe(flow, envelope)
                if flow.over:
                    return
                self._sent(flow, envelope)
                if envelope.recipient != CLI:
                    try:
                        await self._send(envelope)
                    except TransportError as error:
                        sender = envelope.sender
                        self.fail(flow.request_id, sender, FailureCause.LOST, str(error))
                        return
            if envelope.recipient == CLI:
                self._hand_to_asker(flow, envelope)

    def _hand_to_asker(self, flow: Flow[Services], envelope: Envelope) -> None:
        """A recorded message has come to the one who asked."""
        if self._registry.is_final(envelope.kind):
            self._finish(flow, envelope)
            return
        droppable = self._registry.is_droppable(envelope.kind)
        if not flow.deliver(envelope, droppable=droppable):
            self.counters.dropped += 1
        self._count_handled(flow, envelope)

    def _count_handled(self, flow: Flow[Services], envelope: Envelope) -> None:
        if self._registry.is_droppable(envelope.kind):
            return
        flow.under_way -= 1
        if flow.under_way == 0 and flow.working == 0:
            told = envelope.recipient, envelope.kind
            stage, kind = (flow.stage, flow.last_kind) if envelope.recipient == CLI else told
            reason = f"{stage} had nothing to say to {kind}."
            self.fail(flow.request_id, stage, FailureCause.SILENT, reason)

    def _finish(self, flow: Flow[Services], envelope: Envelope) -> None:
        self._forget(flow)
        flow.finish(envelope)

    def _forget(self, flow: Flow[Services]) -> None:
        self._flows.pop(flow.request_id, None)
        flow.over = True
        ending = [task for task in flow.tasks if task is not asyncio.current_task()]
        for task in ending:
            task.cancel()
        stopped = (worker.close(flow.request_id) for worker in self._workers)
        ending += [task for task in stopped if task is not None]
        if self._remote:
            farewell = self._say_over(flow.request_id)
            ending.append(asyncio.create_task(farewell, name=f"end {flow.request_id}"))
        for task in ending:
            if not task.done():
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)

    async def _say_over(self, request_id: str) -> None:
        # A lost farewell costs no more than the deadline: the agents elsewhere know it too.
        with suppress(TransportError):
            for role in self._remote:
                outgoing = Outgoing(Kind.FLOW_OVER, role, FlowOver())
                await self._send(self._sealed(request_id, CLI, outgoing))

    def _listen(self, work: Callable[[], Awaitable[None]], role: Role) -> None:
        self._listening.append(asyncio.create_task(self._guarded(work), name=f"listen {role}"))

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:  # a broken transport ends every flow in words
            self.on_crash(CLI, error)
            reason = f"The transport stopped with {error_kind(error)}."
            for request_id in tuple(self._flows):
                self.fail(request_id, CLI, FailureCause.LOST, reason)
