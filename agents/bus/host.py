"""One role outside the desk's process, over any transport that lets the desk hear all it says."""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Generic

from msgspec import Struct, field

from agents.bus.bus import FlowSpec
from agents.bus.envelope import (
    CLI,
    AgentProse,
    AgentWorking,
    Envelope,
    FailureCause,
    FlowFailed,
    FlowOver,
    FlowTerms,
    Kind,
    Role,
)
from agents.bus.worker import (
    Ambient,
    Board,
    BusLimits,
    Counters,
    EnvelopeTransport,
    FlowOverError,
    HandlerContext,
    Outgoing,
    Services,
    StageFailedError,
    TransportError,
    Worker,
)
from chain.base.errors import error_kind

_BEATS_PER_QUIET = 6
"""Five signs of life may be lost before an agent is taken for lost."""
_PROSE_SECONDS = 0.1
_REMEMBERED = 1024
"""Requests that are over, so that a late message does not open one again."""


class _HostedFlow(Struct, Generic[Services]):
    context: HandlerContext[Services]
    terms: FlowTerms
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    unanswered: int = 0
    """Messages taken and not finished."""
    beating: bool = False
    prose: str = ""


class AgentHost(Generic[Services]):
    """Plays one role of a flow; `run` it until it is cancelled."""

    def __init__(
        self,
        spec: FlowSpec[Services],
        role: Role,
        transport: EnvelopeTransport,
        services: Callable[[str, FlowTerms], Services],
        *,
        ambient: Ambient,
        limits: BusLimits | None = None,
        on_crash: Callable[[Role, Exception], None] | None = None,
    ) -> None:
        """`services` makes what a request is worked on with, from its id and its terms."""
        self.counters = Counters()
        self._spec = spec
        self._role = role
        self._transport = transport
        self._services = services
        self._ambient = ambient
        self._limits = limits or BusLimits()
        self._on_crash = on_crash
        self._flows: dict[str, _HostedFlow[Services]] = {}
        self._over: deque[str] = deque(maxlen=_REMEMBERED)
        self._last_ts = -1
        self._tasks: set[asyncio.Task[None]] = set()
        self._worker = Worker(
            role,
            spec.handlers[role],
            host=self,
            transport=transport,
            registry=spec.registry,
            counters=self.counters,
            side_by_side=self._limits.side_by_side,
            mailbox=self._limits.mailbox,
        )

    async def run(self) -> None:
        try:
            while True:
                self._take(await self._transport.receive(self._role))
        finally:
            for request_id in tuple(self._flows):
                self._close(request_id)
            for task in tuple(self._tasks):
                task.cancel()

    def context(self, request_id: str, role: Role) -> HandlerContext[Services] | None:
        """Made when a request is first heard of: there is nobody here to announce one."""
        if role != self._role or request_id in self._over:
            return None
        flow = self._flows.get(request_id) or self._open(request_id, self._default_terms())
        return None if flow is None else flow.context

    def on_taken(self, envelope: Envelope) -> None:
        flow = self._flows.get(envelope.request_id)
        if flow is None:
            return
        flow.unanswered += 1
        if not flow.beating:
            flow.beating = True
            self._during(flow, self._signs_of_life(envelope.request_id, flow))

    def on_handled(self, envelope: Envelope) -> None:
        flow = self._flows.get(envelope.request_id)
        if flow is not None:
            flow.unanswered -= 1

    async def post(self, request_id: str, sender: Role, outgoing: Outgoing) -> None:
        flow = self._flows.get(request_id)
        if flow is None or sender != self._role:
            raise FlowOverError
        # The whole of it is told now.
        flow.prose = ""
        await self._send(request_id, outgoing)

    def fail(self, request_id: str, stage: Role, cause: FailureCause, reason: str) -> None:
        """Tell the desk that the request cannot go on, and stop working on it."""
        if request_id in self._over:
            return
        self._close(request_id)
        payload = FlowFailed(stage=stage, cause=cause, reason=reason)
        self._start(self._send(request_id, Outgoing(Kind.FLOW_FAILED, CLI, payload)))

    def on_crash(self, role: Role, error: Exception) -> None:
        if self._on_crash is not None:
            self._on_crash(role, error)

    def _take(self, envelope: Envelope) -> None:
        match envelope.payload:
            case FlowTerms() as terms:
                if envelope.request_id not in self._flows:
                    self._open(envelope.request_id, terms)
            case FlowOver():
                self._close(envelope.request_id)
            case _:
                self._worker.take(envelope)

    def _open(self, request_id: str, terms: FlowTerms) -> _HostedFlow[Services] | None:
        if request_id in self._over:
            self.counters.late += 1
            return None
        if terms.flow != self._spec.name:
            reason = f"{self._role} plays in the flow {self._spec.name} here, and in no other."
            self.fail(request_id, self._role, FailureCause.REFUSED, reason)
            return None
        if len(self._flows) >= self._limits.flows:
            reason = f"{self._role} works on {len(self._flows)} requests already."
            self.fail(request_id, self._role, FailureCause.OVERLOADED, reason)
            return None
        try:
            services = self._services(request_id, terms)
        except StageFailedError as error:
            self.fail(request_id, self._role, error.cause, str(error))
            return None
        except Exception as error:  # a factory reads settings and connects: anything can happen
            self.on_crash(self._role, error)
            reason = f"{self._role} could not begin: {error_kind(error)}."
            self.fail(request_id, self._role, FailureCause.CRASHED, reason)
            return None
        clock = asyncio.get_running_loop().time
        ends = clock() + terms.seconds - self._limits.finishing_seconds
        context = HandlerContext(
            request_id,
            self._role,
            services,
            say=lambda outgoing: self.post(request_id, self._role, outgoing),
            prose=lambda text: self._spoken(request_id, text),
            board=Board(self._spec.registry.roles),
            questions=itertools.count(),
            seconds_left=lambda: ends - clock(),
        )
        flow = self._flows[request_id] = _HostedFlow(context, terms)
        self._during(flow, self._deadline(request_id, terms.seconds))
        return flow

    def _close(self, request_id: str) -> None:
        flow = self._flows.pop(request_id, None)
        self._over.append(request_id)
        self._worker.close(request_id)
        for task in () if flow is None else flow.tasks:
            if task is not asyncio.current_task():
                task.cancel()

    async def _deadline(self, request_id: str, seconds: float) -> None:
        await self._ambient.sleep(seconds)
        self._close(request_id)

    async def _signs_of_life(self, request_id: str, flow: _HostedFlow[Services]) -> None:
        while flow.unanswered > 0:
            await self._send(request_id, Outgoing(Kind.AGENT_WORKING, CLI, AgentWorking()))
            await self._ambient.sleep(flow.terms.quiet_seconds / _BEATS_PER_QUIET)
        flow.beating = False

    def _spoken(self, request_id: str, text: str) -> None:
        flow = self._flows.get(request_id)
        if flow is None:
            return
        if not flow.prose:
            self._during(flow, self._pass_prose(request_id, flow))
        flow.prose += text

    async def _pass_prose(self, request_id: str, flow: _HostedFlow[Services]) -> None:
        """Words are gathered for a moment: a message for each would be a thousand."""
        await self._ambient.sleep(_PROSE_SECONDS)
        text, flow.prose = flow.prose, ""
        if text:
            await self._send(request_id, Outgoing(Kind.AGENT_PROSE, CLI, AgentProse(text=text)))

    async def _send(self, request_id: str, outgoing: Outgoing) -> None:
        # Never the same time twice: two equal messages would be taken for one that came twice.
        self._last_ts = max(round(self._ambient.clock() * 1000), self._last_ts + 1)
        envelope = self._spec.registry.seal(
            request_id,
            sender=self._role,
            recipient=outgoing.to,
            kind=outgoing.kind,
            payload=outgoing.payload,
            ts=self._last_ts,
        )
        droppable = self._spec.registry.is_droppable(envelope.kind)
        if not await self._transport.send(envelope, droppable=droppable):
            self.counters.dropped += 1

    def _default_terms(self) -> FlowTerms:
        return FlowTerms(
            flow=self._spec.name,
            seconds=self._limits.deadline_seconds,
            quiet_seconds=self._limits.quiet_seconds,
            tokens=None,
        )

    def _during(self, flow: _HostedFlow[Services], work: Coroutine[None, None, None]) -> None:
        flow.tasks = [task for task in flow.tasks if not task.done()]
        flow.tasks.append(self._start(work))

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._guarded(work), name=f"{self._role} host")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        # A desk that is gone hears nothing; it ends the flow by itself, and so does the deadline.
        with suppress(TransportError):
            await work
