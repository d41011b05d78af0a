"""The liquidity debate: from a position or a goal to a plan or a reason.

cli ── flow_start ──▸ scout ── context_observed ──▸ strategist ◂── critique ──┐
 ▴                                                     └── proposal ──▸ critic ┤
 ├── plan_ready ◂──────────────────────────────────────────────────────────────┤
 └── plan_ready ◂── arbiter ◂── deadlock ──────────────────────────────────────┘
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from agents.bus.run import recorded_start, replay_flow, run_flow
from agents.bus.spec import FlowSpec
from agents.lp import FLOW
from agents.lp.arbiter import arbiter
from agents.lp.critic import critic
from agents.lp.payloads import (
    ARBITER,
    CRITIC,
    DEBATE,
    SCOUT,
    STRATEGIST,
    DebateKind,
    FlowCreateStart,
    FlowStart,
    PlanReady,
)
from agents.lp.scout import scout
from agents.lp.services import MODEL_INPUT, PLACES_INPUT, DebateServices, recorded_services
from agents.lp.strategist import strategist

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agents.bus.ambient import Ambient, BusLimits
    from agents.bus.envelope import Role
    from agents.bus.payload import FlowFailed
    from agents.bus.record import RecordWriter
    from agents.bus.replay import Record, ReplayReport
    from agents.bus.run import FlowOutcome, Listener, RemoteAgents, SpokenTurn
    from agents.lp.plan import Plan
    from agents.lp.services import Eyes
    from agents.model.interface import Model

DEFAULT_ROUNDS = 2
HANDLERS = {SCOUT: scout, STRATEGIST: strategist, CRITIC: critic, ARBITER: arbiter}
LP_FLOW = FlowSpec(
    name=FLOW,
    package="agents.lp",
    registry=DEBATE,
    handlers=HANDLERS,
    first=SCOUT,
    starts=(DebateKind.FLOW_START, DebateKind.FLOW_CREATE_START),
    recorded_services=recorded_services,
    services_of=DebateServices.of_role,
)


class DebateEnd(Struct, frozen=True):
    """How a debate ended: in a plan, or in a failure that says where and why."""

    request_id: str
    plan: Plan | None
    failure: FlowFailed | None
    transcript: tuple[SpokenTurn, ...]


async def hold_debate(
    start: FlowStart | FlowCreateStart,
    eyes: Eyes,
    model: Model | None,
    record: RecordWriter,
    *,
    ambient: Ambient,
    request_id: str,
    limits: BusLimits | None = None,
    tokens: int | None = None,
    remote: RemoteAgents | None = None,
    places: Mapping[str, str] | None = None,
    listener: Listener | None = None,
    on_crash: Callable[[Role, Exception], None] | None = None,
) -> DebateEnd:
    """Argue until there is a plan; everything said and seen goes into the record."""
    outcome = await run_flow(
        LP_FLOW,
        start,
        DebateServices(eyes, model),
        record,
        ambient=ambient,
        request_id=request_id,
        inputs={
            MODEL_INPUT: _asking(model, remote),
            **({PLACES_INPUT: dict(places)} if places else {}),
        },
        limits=limits,
        tokens=tokens,
        remote=remote,
        listener=listener,
        on_crash=on_crash,
    )
    return _ended(outcome)


def _asking(model: Model | None, remote: RemoteAgents | None) -> list[str] | bool:
    """Whether models are asked, or by whom, where not all agents do alike."""
    if remote is None or remote.asking is None:
        return model is not None
    here = () if model is None else (role for role in HANDLERS if role not in remote.roles)
    return sorted((*remote.asking, *here)) or False


async def replay_debate(record: Record) -> tuple[ReplayReport, DebateEnd]:
    """The debate again from its record, with no model and no chain, and whether it is the same."""
    report, outcome = await replay_flow(LP_FLOW, record)
    return report, _ended(outcome)


def debate_start(record: Record) -> FlowStart | FlowCreateStart:
    """What a recorded debate was about."""
    start = recorded_start(LP_FLOW, record)
    if isinstance(start, FlowStart | FlowCreateStart):
        return start
    raise LookupError("The record does not begin with a debate.")


def _ended(outcome: FlowOutcome) -> DebateEnd:
    plan = outcome.result.plan if isinstance(outcome.result, PlanReady) else None
    return DebateEnd(outcome.request_id, plan, outcome.failure, outcome.transcript)
