"""The trade desk as a flow: from a question to a plan that nobody has sent yet.

cli ─ flow_desk_start ▸ desk ─ snapshot, context ▸ meta ─ regime ▸ triage ─┬▸ liquidity ──────┐
 ▴                                                                        ├▸ microstructure ─┤
 │                                                                        ├▸ macro ──────────┤
 │                                                                        └▸ chart ▸ geometry ┤
 └─ trade_plan_ready ◂ leverage_guard ◂ risk_manager ◂ judge ◂─────────── synthesis ◂─────────┘
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from agents.bus.run import replay_flow, run_flow
from agents.bus.spec import FlowSpec
from agents.trade import FLOW
from agents.trade.experts import chart, geometry, liquidity, macro, microstructure
from agents.trade.payloads import (
    CHART,
    DESK,
    GEOMETRY,
    JUDGE,
    LEVERAGE_GUARD,
    LIQUIDITY,
    MACRO,
    META,
    MICROSTRUCTURE,
    RISK_MANAGER,
    SYNTHESIS,
    TRADE_REGISTRY,
    TRIAGE,
    FlowDeskStart,
    TradeKind,
    TradePlanReady,
)
from agents.trade.services import MODELS_INPUT, TradeServices, recorded_trade_services
from agents.trade.stages import desk, judge, leverage_guard, meta, risk_manager, synthesis, triage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agents.bus.ambient import Ambient, BusLimits
    from agents.bus.envelope import Role
    from agents.bus.payload import FlowFailed
    from agents.bus.record import RecordWriter
    from agents.bus.replay import Record, ReplayReport
    from agents.bus.run import FlowOutcome, Listener, SpokenTurn
    from agents.model.interface import Model
    from agents.trade.facts import DeskQuestion
    from agents.trade.plan import TradePlan
    from agents.trade.services import ChartArtist, DeskEyes

TRADE_FLOW = FlowSpec(
    name=FLOW,
    package="agents.trade",
    registry=TRADE_REGISTRY,
    handlers={
        DESK: desk,
        META: meta,
        TRIAGE: triage,
        LIQUIDITY: liquidity,
        MICROSTRUCTURE: microstructure,
        MACRO: macro,
        CHART: chart,
        GEOMETRY: geometry,
        SYNTHESIS: synthesis,
        JUDGE: judge,
        RISK_MANAGER: risk_manager,
        LEVERAGE_GUARD: leverage_guard,
    },
    first=DESK,
    starts=(TradeKind.FLOW_DESK_START,),
    recorded_services=recorded_trade_services,
)


class DeskEnd(Struct, frozen=True):
    """How an argument of the desk ended: in a plan, or in a failure that says where and why."""

    request_id: str
    plan: TradePlan | None
    failure: FlowFailed | None
    transcript: tuple[SpokenTurn, ...]


async def hold_desk(
    question: DeskQuestion,
    eyes: DeskEyes,
    record: RecordWriter,
    *,
    ambient: Ambient,
    request_id: str,
    model: Model | None = None,
    names: Mapping[str, str] | None = None,
    artist: ChartArtist | None = None,
    limits: BusLimits | None = None,
    tokens: int | None = None,
    listener: Listener | None = None,
    on_crash: Callable[[Role, Exception], None] | None = None,
) -> DeskEnd:
    """Argue until there is a plan; everything said and seen goes into the record.

    `names` are the models that roles ask; a role without one speaks by its rules.
    """
    asked = {} if model is None else dict(names or {})
    outcome = await run_flow(
        TRADE_FLOW,
        FlowDeskStart(question=question),
        TradeServices(eyes, model, artist, asked),
        record,
        ambient=ambient,
        request_id=request_id,
        inputs={MODELS_INPUT: asked},
        limits=limits,
        tokens=tokens,
        listener=listener,
        on_crash=on_crash,
    )
    return _ended(outcome)


async def replay_desk(record: Record) -> tuple[ReplayReport, DeskEnd]:
    """The same again from its record, with no model and no venue, and whether it is the same."""
    report, outcome = await replay_flow(TRADE_FLOW, record)
    return report, _ended(outcome)


def _ended(outcome: FlowOutcome) -> DeskEnd:
    plan = outcome.result.plan if isinstance(outcome.result, TradePlanReady) else None
    return DeskEnd(outcome.request_id, plan, outcome.failure, outcome.transcript)
