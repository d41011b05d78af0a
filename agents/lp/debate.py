"""One debate from its first message to a plan or a reason, on the record all the way.

cli ── flow_start ──▸ scout ── context_observed ──▸ strategist ◂── critique ──┐
 ▴                                                     └── proposal ──▸ critic ┤
 ├── plan_ready ◂──────────────────────────────────────────────────────────────┤
 └── plan_ready ◂── arbiter ◂── deadlock ──────────────────────────────────────┘
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct, field

from agents.bus.bus import Ambient, Bus, BusLimits
from agents.bus.envelope import FlowFailed, Kind, Role
from agents.bus.replay import ReplayReport, replay
from agents.bus.transport import QueueTransport
from agents.lp.arbiter import arbiter
from agents.lp.critic import critic
from agents.lp.facts import CreateContext, MarketContext
from agents.lp.payloads import DEBATE, FlowCreateStart, FlowStart, PlanReady, Thought
from agents.lp.scout import scout
from agents.lp.speaking import DebateServices
from agents.lp.strategist import strategist
from agents.model.recorded import RecordedModel, RecordingModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.bus.envelope import Envelope
    from agents.bus.record import RecordWriter
    from agents.bus.replay import Record, ReplayClock
    from agents.lp.facts import CreateGoal
    from agents.lp.plan import Plan
    from agents.lp.speaking import Eyes
    from agents.model.interface import Model
    from agents.numbers.profiles import RiskProfile

HANDLERS = {
    Role.SCOUT: scout,
    Role.STRATEGIST: strategist,
    Role.CRITIC: critic,
    Role.ARBITER: arbiter,
}
DEFAULT_ROUNDS = 2

_OBSERVATION = "observation"
_START = "start"
_MODEL = "model"


class SpokenTurn(Struct, frozen=True):
    """One thing an agent said aloud."""

    role: Role
    thought: Thought


class DebateEnd(Struct, frozen=True):
    """How a debate ended: in a plan, or in a failure that says where and why."""

    request_id: str
    plan: Plan | None
    failure: FlowFailed | None
    transcript: tuple[SpokenTurn, ...]


class Listener(Struct):
    """Who wants to hear the debate while it runs."""

    on_turn: Callable[[SpokenTurn], None] = lambda _: None
    on_prose: Callable[[Role, str], None] = lambda _role, _text: None
    turns: list[SpokenTurn] = field(default_factory=list)

    def hear(self, envelope: Envelope) -> None:
        if isinstance(envelope.payload, Thought):
            turn = SpokenTurn(envelope.sender, envelope.payload)
            self.turns.append(turn)
            self.on_turn(turn)


async def hold_debate(
    start: FlowStart | FlowCreateStart,
    eyes: Eyes,
    model: Model | None,
    record: RecordWriter,
    *,
    ambient: Ambient,
    request_id: str,
    limits: BusLimits | None = None,
    listener: Listener | None = None,
    on_crash: Callable[[Role, Exception], None] | None = None,
) -> DebateEnd:
    """Argue until there is a plan; everything said and seen goes into the record."""
    heard = listener or Listener()
    services = DebateServices(
        eyes=_RecordingEyes(eyes, record),
        model=None if model is None else RecordingModel(model, record),
    )
    record.input(_START, start.model_dump(mode="json", by_alias=True))
    record.input(_MODEL, model is not None)
    kind = Kind.FLOW_START if isinstance(start, FlowStart) else Kind.FLOW_CREATE_START
    bus = Bus(
        DEBATE,
        QueueTransport(Role),
        HANDLERS,
        ambient=ambient,
        limits=limits,
        on_crash=on_crash,
    )
    async with bus:
        flow = await bus.start(
            kind,
            start,
            services=services,
            request_id=request_id,
            observers=(record.envelope, heard.hear),
            on_prose=heard.on_prose,
        )
        try:
            last = await flow.outcome()
        except asyncio.CancelledError:
            await bus.cancel(request_id)
            raise
    plan = last.payload.plan if isinstance(last.payload, PlanReady) else None
    failure = last.payload if isinstance(last.payload, FlowFailed) else None
    return DebateEnd(request_id, plan, failure, tuple(heard.turns))


async def replay_debate(record: Record) -> tuple[ReplayReport, DebateEnd]:
    """The debate again from its record, with no model and no chain, and whether it is the same."""
    ended: list[DebateEnd] = []

    async def again(writer: RecordWriter, clock: ReplayClock) -> None:
        inputs = record.inputs()
        model = RecordedModel(record.replies()) if inputs[_MODEL] else None
        ended.append(
            await hold_debate(
                recorded_start(record),
                RecordedEyes(record),
                model,
                writer,
                ambient=Ambient(clock, lambda: record.request_id),
                request_id=record.request_id,
            )
        )

    report = await replay(record, again)
    return report, ended[0]


def recorded_start(record: Record) -> FlowStart | FlowCreateStart:
    start = record.inputs()[_START]
    if isinstance(start, dict) and "tokenId" in start:
        return FlowStart.model_validate(start, strict=False)
    return FlowCreateStart.model_validate(start, strict=False)


def recorded_context(record: Record) -> MarketContext | CreateContext | None:
    """What was observed when the record was written; None when it ended before that."""
    seen = record.facts().get(_OBSERVATION)
    if not isinstance(seen, dict):
        return None
    kind = MarketContext if seen.get("mode") == "rebalance" else CreateContext
    return kind.model_validate(seen, strict=False)


class RecordedEyes:
    """Sees what was seen when the record was written."""

    def __init__(self, record: Record) -> None:
        self._seen = record.facts().get(_OBSERVATION)

    async def observe_position(self, token_id: int, profile: RiskProfile) -> MarketContext:
        seen = MarketContext.model_validate(self._seen, strict=False)
        if seen.position.token_id != token_id or seen.profile is not profile:
            raise LookupError("The record is of another position or profile.")
        return seen

    async def survey(self, goal: CreateGoal, owner: str, profile: RiskProfile) -> CreateContext:
        seen = CreateContext.model_validate(self._seen, strict=False)
        if seen.goal != goal or seen.owner != owner or seen.profile is not profile:
            raise LookupError("The record is of another goal, owner or profile.")
        return seen


class _RecordingEyes:
    """Writes down what is seen, so that it can be seen again."""

    def __init__(self, inner: Eyes, record: RecordWriter) -> None:
        self._inner = inner
        self._record = record

    async def observe_position(self, token_id: int, profile: RiskProfile) -> MarketContext:
        seen = await self._inner.observe_position(token_id, profile)
        self._record.fact(_OBSERVATION, seen.model_dump(mode="json", by_alias=True))
        return seen

    async def survey(self, goal: CreateGoal, owner: str, profile: RiskProfile) -> CreateContext:
        seen = await self._inner.survey(goal, owner, profile)
        self._record.fact(_OBSERVATION, seen.model_dump(mode="json", by_alias=True))
        return seen
