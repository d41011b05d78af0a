"""Four tiny agents with the debate's message pattern, and a script that lets a test interfere."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from enum import StrEnum

from agents.bus.bus import Bus, FlowSpec
from agents.bus.envelope import CLI, Envelope, Kind, Payload, Registry, Role, Thought
from agents.bus.replay import Record
from agents.bus.worker import (
    Ambient,
    BusLimits,
    EnvelopeTransport,
    Handler,
    HandlerContext,
    Outgoing,
    QueueTransport,
    Services,
)

SCOUT = Role("scout")
STRATEGIST = Role("strategist")
CRITIC = Role("critic")
ARBITER = Role("arbiter")


class SmallKind(StrEnum):
    FLOW_START = "flow_start"
    CONTEXT_OBSERVED = "context_observed"
    PROPOSAL = "proposal"
    REVISION = "revision"
    CRITIQUE = "critique"
    DEADLOCK = "deadlock"
    PLAN_READY = "plan_ready"


class Start(Payload):
    position: int
    rounds: int


class Turn(Payload):
    position: int
    rounds: int
    round: int


class Plan(Payload):
    position: int
    rounds: int


REGISTRY = Registry(
    (SCOUT, STRATEGIST, CRITIC, ARBITER),
    {
        SmallKind.FLOW_START: Start,
        SmallKind.CONTEXT_OBSERVED: Turn,
        SmallKind.PROPOSAL: Turn,
        SmallKind.REVISION: Turn,
        SmallKind.CRITIQUE: Turn,
        SmallKind.DEADLOCK: Turn,
        SmallKind.PLAN_READY: Plan,
    },
    final=[SmallKind.PLAN_READY],
)


async def _nothing(envelope: Envelope, context: HandlerContext[Script]) -> None:
    return None


class Script:
    """The services of one small debate: `interfere` is awaited in the middle of every turn."""

    def __init__(
        self,
        interfere: Callable[[Envelope, HandlerContext[Script]], Awaitable[None]] = _nothing,
    ) -> None:
        self.interfere = interfere
        self.turns: list[tuple[Role, str]] = []


async def scout(
    envelope: Envelope, context: HandlerContext[Script]
) -> AsyncGenerator[Outgoing, None]:
    start = envelope.payload
    assert isinstance(start, Start)
    async for outgoing in _turn(envelope, context):
        yield outgoing
    turn = Turn(position=start.position, rounds=start.rounds, round=0)
    yield Outgoing(SmallKind.CONTEXT_OBSERVED, STRATEGIST, turn)


async def strategist(
    envelope: Envelope, context: HandlerContext[Script]
) -> AsyncGenerator[Outgoing, None]:
    turn = envelope.payload
    assert isinstance(turn, Turn)
    async for outgoing in _turn(envelope, context):
        yield outgoing
    kind = SmallKind.PROPOSAL if envelope.kind == SmallKind.CONTEXT_OBSERVED else SmallKind.REVISION
    yield Outgoing(kind, CRITIC, turn.model_copy(update={"round": turn.round + 1}))


async def critic(
    envelope: Envelope, context: HandlerContext[Script]
) -> AsyncGenerator[Outgoing, None]:
    turn = envelope.payload
    assert isinstance(turn, Turn)
    async for outgoing in _turn(envelope, context):
        yield outgoing
    if turn.round < turn.rounds:
        yield Outgoing(SmallKind.CRITIQUE, STRATEGIST, turn)
    else:
        plan = Plan(position=turn.position, rounds=turn.round)
        yield Outgoing(SmallKind.PLAN_READY, CLI, plan)


async def _turn(
    envelope: Envelope, context: HandlerContext[Script]
) -> AsyncGenerator[Outgoing, None]:
    context.services.turns.append((context.role, envelope.kind))
    yield thought(f"{context.role} reads {envelope.kind}")
    await context.services.interfere(envelope, context)
    yield thought(f"{context.role} has read {envelope.kind}")


def thought(text: str) -> Outgoing:
    return Outgoing(Kind.AGENT_THOUGHT, CLI, Thought(round=0, tag="", text=text))


AGENTS: Mapping[Role, Handler[Script]] = {
    SCOUT: scout,
    STRATEGIST: strategist,
    CRITIC: critic,
}


class Ids:
    def __init__(self) -> None:
        self._last = 0

    def __call__(self) -> str:
        self._last += 1
        return f"req_{self._last}"


def spec_of(
    handlers: Mapping[Role, Handler[Services]],
    recorded_services: Callable[[Record], Services],
    registry: Registry = REGISTRY,
) -> FlowSpec[Services]:
    """A small debate with these handlers."""
    return FlowSpec(
        name="small",
        package="tests.fakes",
        registry=registry,
        handlers=handlers,
        first=SCOUT,
        starts=(SmallKind.FLOW_START,),
        recorded_services=recorded_services,
    )


def small_bus(
    *,
    transport: EnvelopeTransport | None = None,
    handlers: Mapping[Role, Handler[Script]] = AGENTS,
    limits: BusLimits | None = None,
    ambient: Ambient | None = None,
    on_crash: Callable[[Role, Exception], None] | None = None,
) -> Bus[Script]:
    return Bus(
        spec_of(handlers, lambda _: Script()),
        transport or QueueTransport(REGISTRY.roles),
        ambient=ambient or Ambient(clock=lambda: 1000.0, new_id=Ids()),
        limits=limits or BusLimits(quiet_seconds=0.2, deadline_seconds=10),
        on_crash=on_crash,
    )
