"""One flow from its first message to its end, on the record all the way, and the same again."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from msgspec import Struct, field

from agents.bus.bus import Bus, FlowSpec
from agents.bus.envelope import Envelope, FlowFailed, Payload, Role, Thought
from agents.bus.record import RecordWriter
from agents.bus.replay import Record, RecordBrokenError, ReplayReport, replay
from agents.bus.worker import Ambient, BusLimits, EnvelopeTransport, QueueTransport, Services

PlanT = TypeVar("PlanT", bound=Payload)


class SpokenTurn(Struct, frozen=True):
    """One thing an agent said aloud."""

    role: Role
    thought: Thought


class FlowOutcome(Struct, frozen=True):
    """How a flow ended: in a payload of its own, or in a failure that says where and why."""

    request_id: str
    result: Payload | None
    failure: FlowFailed | None
    transcript: tuple[SpokenTurn, ...]


class ArgumentEnd(Struct, Generic[PlanT], frozen=True):
    """How a flow that argues for a plan ended: in one, or in a failure that says where and why."""

    request_id: str
    plan: PlanT | None
    failure: FlowFailed | None
    transcript: tuple[SpokenTurn, ...]


def argument_end(outcome: FlowOutcome, plan: PlanT | None) -> ArgumentEnd[PlanT]:
    return ArgumentEnd(outcome.request_id, plan, outcome.failure, outcome.transcript)


class Listener(Struct):
    """Who wants to hear a flow while it runs."""

    on_turn: Callable[[SpokenTurn], None] = lambda _: None
    on_prose: Callable[[Role, str], None] = lambda _role, _text: None
    on_thinking: Callable[[Role, float], None] = lambda _role, _seconds: None
    """How long a model has been thinking, told now and then while it does."""
    on_message: Callable[[Payload], None] = lambda _: None
    """Whatever else one agent sends another."""
    turns: list[SpokenTurn] = field(default_factory=list)

    def hear(self, envelope: Envelope) -> None:
        if isinstance(envelope.payload, Thought):
            turn = SpokenTurn(envelope.sender, envelope.payload)
            self.turns.append(turn)
            self.on_turn(turn)
        else:
            self.on_message(envelope.payload)


class RemoteAgents(Struct, frozen=True):
    """Roles that are played outside this process, and the way to them."""

    roles: tuple[Role, ...]
    transport: EnvelopeTransport
    about: str = ""
    """What their services are made for, as the network of a debate."""
    asking: tuple[Role, ...] | None = None
    """Those of them who ask a model; None where they do as those here do."""


async def run_flow(
    spec: FlowSpec[Services],
    start: Payload,
    services: Services,
    record: RecordWriter,
    *,
    ambient: Ambient,
    request_id: str,
    inputs: Mapping[str, object] | None = None,
    limits: BusLimits | None = None,
    tokens: int | None = None,
    remote: RemoteAgents | None = None,
    listener: Listener | None = None,
    on_crash: Callable[[Role, Exception], None] | None = None,
) -> FlowOutcome:
    """Run until it ends; everything said and found out goes into the record."""
    heard = listener or Listener()
    for name, value in (inputs or {}).items():
        record.input(name, value)
    bus = Bus(
        spec,
        QueueTransport(spec.registry.roles) if remote is None else remote.transport,
        ambient=ambient,
        remote=() if remote is None else remote.roles,
        about="" if remote is None else remote.about,
        limits=limits,
        on_crash=on_crash,
    )
    async with bus:
        flow = await bus.start(
            start,
            services=services,
            request_id=request_id,
            tokens=tokens,
            observers=(record.envelope, heard.hear),
            on_prose=heard.on_prose,
        )
        try:
            last = await flow.outcome()
        except asyncio.CancelledError:
            await bus.cancel(request_id)
            raise
    failure = last.payload if isinstance(last.payload, FlowFailed) else None
    result = last.payload if failure is None else None
    return FlowOutcome(request_id, result, failure, tuple(heard.turns))


async def replay_flow(spec: FlowSpec[Services], record: Record) -> tuple[ReplayReport, FlowOutcome]:
    """A flow again from its record, with no model and no chain, and whether it is the same.

    A record of an older format is run too, and differs from its first line on.
    """
    if record.flow not in (None, spec.name):
        raise RecordBrokenError(f"The record is of the flow {record.flow!r}, not {spec.name!r}.")
    ended: list[FlowOutcome] = []

    async def again(writer: RecordWriter, ambient: Ambient) -> None:
        ended.append(
            await run_flow(
                spec,
                recorded_start(spec, record),
                spec.recorded_services(record),
                writer,
                ambient=ambient,
                request_id=record.request_id,
                inputs=record.inputs(),
            )
        )

    return await replay(record, again), ended[0]


def recorded_start(spec: FlowSpec[Services], record: Record) -> Payload:
    """What the flow began with."""
    wires = record.envelopes()
    if not wires:
        raise RecordBrokenError("The record ends before its flow began.")
    return spec.registry.open(wires[0]).payload
