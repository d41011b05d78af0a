"""Four tiny agents with the debate's message pattern, and a script that lets a test interfere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.bus import Ambient, Bus, BusLimits
from agents.bus.envelope import Kind, Payload, Registry, Role
from agents.bus.transport import QueueTransport
from agents.bus.worker import HandlerContext, Outgoing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from agents.bus.envelope import Envelope
    from agents.bus.transport import EnvelopeTransport
    from agents.bus.worker import Handler


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


class Thought(Payload):
    text: str


REGISTRY = Registry(
    {
        Kind.FLOW_START: Start,
        Kind.CONTEXT_OBSERVED: Turn,
        Kind.PROPOSAL: Turn,
        Kind.REVISION: Turn,
        Kind.CRITIQUE: Turn,
        Kind.DEADLOCK: Turn,
        Kind.PLAN_READY: Plan,
        Kind.AGENT_THOUGHT: Thought,
    }
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
    yield Outgoing(Kind.CONTEXT_OBSERVED, Role.STRATEGIST, turn)


async def strategist(
    envelope: Envelope, context: HandlerContext[Script]
) -> AsyncGenerator[Outgoing, None]:
    turn = envelope.payload
    assert isinstance(turn, Turn)
    async for outgoing in _turn(envelope, context):
        yield outgoing
    kind = Kind.PROPOSAL if envelope.kind == Kind.CONTEXT_OBSERVED else Kind.REVISION
    yield Outgoing(kind, Role.CRITIC, turn.model_copy(update={"round": turn.round + 1}))


async def critic(
    envelope: Envelope, context: HandlerContext[Script]
) -> AsyncGenerator[Outgoing, None]:
    turn = envelope.payload
    assert isinstance(turn, Turn)
    async for outgoing in _turn(envelope, context):
        yield outgoing
    if turn.round < turn.rounds:
        yield Outgoing(Kind.CRITIQUE, Role.STRATEGIST, turn)
    else:
        plan = Plan(position=turn.position, rounds=turn.round)
        yield Outgoing(Kind.PLAN_READY, Role.CLI, plan)


async def _turn(
    envelope: Envelope, context: HandlerContext[Script]
) -> AsyncGenerator[Outgoing, None]:
    context.services.turns.append((context.role, envelope.kind))
    yield thought(f"{context.role} reads {envelope.kind}")
    await context.services.interfere(envelope, context)
    yield thought(f"{context.role} has read {envelope.kind}")


def thought(text: str) -> Outgoing:
    return Outgoing(Kind.AGENT_THOUGHT, Role.CLI, Thought(text=text))


AGENTS: Mapping[Role, Handler[Script]] = {
    Role.SCOUT: scout,
    Role.STRATEGIST: strategist,
    Role.CRITIC: critic,
}


class Ids:
    def __init__(self) -> None:
        self._last = 0

    def __call__(self) -> str:
        self._last += 1
        return f"req_{self._last}"


def small_bus(
    *,
    transport: EnvelopeTransport | None = None,
    handlers: Mapping[Role, Handler[Script]] = AGENTS,
    limits: BusLimits | None = None,
    ambient: Ambient | None = None,
    on_crash: Callable[[Role, Exception], None] | None = None,
) -> Bus[Script]:
    return Bus(
        REGISTRY,
        transport or QueueTransport(Role),
        handlers,
        ambient=ambient or Ambient(clock=lambda: 1000.0, new_id=Ids()),
        limits=limits or BusLimits(quiet_seconds=0.2, deadline_seconds=10),
        on_crash=on_crash,
    )
