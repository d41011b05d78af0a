"""The trade desk as a flow: from a question to a plan that nobody has sent yet.

cli ─ flow_desk_start ▸ desk ─ snapshot, context ▸ meta ─ regime ▸ triage ─┬▸ liquidity ──────┐
 ▴                                                                        ├▸ microstructure ─┤
 │                                                                        ├▸ macro ──────────┤
 │                                                                        └▸ chart ▸ geometry ┤
 └─ trade_plan_ready ◂ leverage_guard ◂ risk_manager ◂ judge ◂─────────── synthesis ◂─────────┘
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TypeVar

from agents.bus.bus import FlowSpec
from agents.bus.envelope import Envelope, Role
from agents.bus.record import RecordWriter
from agents.bus.replay import Record, ReplayReport
from agents.bus.run import ArgumentEnd, FlowOutcome, Listener, argument_end, replay_flow, run_flow
from agents.bus.worker import Ambient, BusLimits, HandlerContext, Outgoing
from agents.model.interface import Model
from agents.model.speaking import Brief, model_thought, thought_message
from agents.trade import FLOW, payloads, services
from agents.trade.briefing import chart_brief, expert_brief
from agents.trade.concluding import desk_limits
from agents.trade.expert_rules import liquidity_finding, macro_finding, microstructure_finding
from agents.trade.facts import DeskQuestion, TradeContext
from agents.trade.findings import (
    AnyFinding,
    GeometryReply,
    LiquidityReply,
    MacroReply,
    MicrostructureReply,
)
from agents.trade.geometry_rules import geometry_finding
from agents.trade.indicators import PriceLevel
from agents.trade.opinions import (
    geometry_opinion,
    liquidity_opinion,
    macro_opinion,
    microstructure_opinion,
)
from agents.trade.plan import TradePlan
from agents.trade.stages import desk, judge, leverage_guard, meta, risk_manager, synthesis, triage
from agents.trade.terms import SectionName, SectionStatus

ExpertReply = TypeVar("ExpertReply", LiquidityReply, MicrostructureReply, MacroReply, GeometryReply)


async def liquidity(
    envelope: Envelope, context: HandlerContext[services.TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    case = envelope.payload
    if not isinstance(case, payloads.TriageDone):
        return
    by_rules = liquidity_finding(case.market, case.context, case.triage)
    brief = _brief(context, case)
    band = desk_limits(case.question.settings).entry_band

    def limit(reply: LiquidityReply, brief: Brief) -> AnyFinding:
        return liquidity_opinion(reply, by_rules, brief, case.market.mark, band)

    async for said in _argued(context, brief, LiquidityReply, by_rules, limit):
        yield said


async def microstructure(
    envelope: Envelope, context: HandlerContext[services.TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    case = envelope.payload
    if not isinstance(case, payloads.TriageDone):
        return
    limits = desk_limits(case.question.settings)
    by_rules = microstructure_finding(case.market.book, case.triage, limits)
    brief = None if case.market.book is None else _brief(context, case)

    def limit(reply: MicrostructureReply, brief: Brief) -> AnyFinding:
        return microstructure_opinion(reply, by_rules, brief)

    async for said in _argued(context, brief, MicrostructureReply, by_rules, limit):
        yield said


async def macro(
    envelope: Envelope, context: HandlerContext[services.TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    case = envelope.payload
    if not isinstance(case, payloads.TriageDone):
        return
    by_rules = macro_finding(case.context, desk_limits(case.question.settings))
    known = _is_known(case.context, SectionName.OPTIONS, SectionName.MACRO)
    brief = _brief(context, case) if known else None

    def limit(reply: MacroReply, brief: Brief) -> AnyFinding:
        return macro_opinion(reply, by_rules, brief)

    async for said in _argued(context, brief, MacroReply, by_rules, limit):
        yield said


async def chart(
    envelope: Envelope, context: HandlerContext[services.TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """Draws the chart where it can, and makes its truth: the levels its reader may name."""
    case = envelope.payload
    if not isinstance(case, payloads.TriageDone):
        return
    facts, artist = services.chart_facts(case.market, case.question.hedge), context.services.artist
    picture = ""
    if artist is not None:
        picture = await artist.draw(facts)
        await context.say(services.picture_fact(picture))
    levels = tuple((level.price, level.name) for level in facts.levels)
    drawn = "" if picture else " Nobody drew it."
    yield thought_message(0, "chart", f"The chart shows {len(levels)} levels.{drawn}")
    ready = payloads.ChartReady(**dict(case), levels=levels, picture=picture)
    yield Outgoing(payloads.TradeKind.CHART_READY, payloads.GEOMETRY, ready)


async def geometry(
    envelope: Envelope, context: HandlerContext[services.TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """The only one who is given the picture."""
    case = envelope.payload
    if not isinstance(case, payloads.ChartReady):
        return
    by_rules = geometry_finding(case.market, case.context)
    artist, brief = context.services.artist, None
    if services.asked_model(context) is not None and artist is not None and case.picture:
        brief = chart_brief(context.role, case, artist.picture(case.picture))
    truth = tuple(PriceLevel(*level) for level in case.levels)

    def limit(reply: GeometryReply, brief: Brief) -> AnyFinding:
        return geometry_opinion(reply, truth, case.market.mark, brief)

    async for said in _argued(context, brief, GeometryReply, by_rules, limit):
        yield said


async def _argued(
    context: HandlerContext[services.TradeServices],
    brief: Brief | None,
    schema: type[ExpertReply],
    by_rules: AnyFinding,
    bounded: Callable[[ExpertReply, Brief], AnyFinding],
) -> AsyncGenerator[Outgoing, None]:
    """The model's finding within its bounds; where there is nothing to argue from, the rules'."""
    finding, reply = by_rules, None
    if brief is not None:
        spoken = await services.office_reply(context, brief, schema)
        for aside in services.asides(context, spoken):
            yield aside
        reply = spoken.reply
    if brief is None or reply is None:
        words = f"{finding.bias.value} at {finding.confidence:.0%}: {finding.rationale}"
        yield thought_message(0, finding.anomaly, words)
    else:
        finding = bounded(reply, brief)
        lead = f"{finding.bias.value} at {finding.confidence:.0%}: "
        yield model_thought(0, finding.anomaly, reply.rationale, brief, lead=lead)
    yield Outgoing(
        payloads.TradeKind.EXPERT_FINDING, payloads.SYNTHESIS, payloads.ExpertSpoke(finding=finding)
    )


def _brief(
    context: HandlerContext[services.TradeServices], case: payloads.TriageDone
) -> Brief | None:
    """Nothing is written where there is nobody to read it."""
    return None if services.asked_model(context) is None else expert_brief(context.role, case)


def _is_known(context: TradeContext, *names: SectionName) -> bool:
    return any(context.section(name).status is SectionStatus.OK for name in names)


TRADE_FLOW = FlowSpec(
    name=FLOW,
    package="agents.trade",
    registry=payloads.TRADE_REGISTRY,
    handlers={
        payloads.DESK: desk,
        payloads.META: meta,
        payloads.TRIAGE: triage,
        payloads.LIQUIDITY: liquidity,
        payloads.MICROSTRUCTURE: microstructure,
        payloads.MACRO: macro,
        payloads.CHART: chart,
        payloads.GEOMETRY: geometry,
        payloads.SYNTHESIS: synthesis,
        payloads.JUDGE: judge,
        payloads.RISK_MANAGER: risk_manager,
        payloads.LEVERAGE_GUARD: leverage_guard,
    },
    first=payloads.DESK,
    starts=(payloads.TradeKind.FLOW_DESK_START,),
    recorded_services=services.recorded_trade_services,
)


async def hold_desk(
    question: DeskQuestion,
    eyes: services.DeskEyes,
    record: RecordWriter,
    *,
    ambient: Ambient,
    request_id: str,
    model: Model | None = None,
    names: Mapping[str, str] | None = None,
    artist: services.ChartArtist | None = None,
    limits: BusLimits | None = None,
    tokens: int | None = None,
    listener: Listener | None = None,
    on_crash: Callable[[Role, Exception], None] | None = None,
) -> ArgumentEnd[TradePlan]:
    """Argue until there is a plan; everything said and seen goes into the record.

    `names` are the models that roles ask; a role without one speaks by its rules.
    """
    asked = {} if model is None else dict(names or {})
    outcome = await run_flow(
        TRADE_FLOW,
        payloads.FlowDeskStart(question=question),
        services.TradeServices(eyes, model, artist, asked),
        record,
        ambient=ambient,
        request_id=request_id,
        inputs={services.MODELS_INPUT: asked},
        limits=limits,
        tokens=tokens,
        listener=listener,
        on_crash=on_crash,
    )
    return _ended(outcome)


async def replay_desk(record: Record) -> tuple[ReplayReport, ArgumentEnd[TradePlan]]:
    """The same again from its record, with no model and no venue, and whether it is the same."""
    report, outcome = await replay_flow(TRADE_FLOW, record)
    return report, _ended(outcome)


def _ended(outcome: FlowOutcome) -> ArgumentEnd[TradePlan]:
    plan = outcome.result.plan if isinstance(outcome.result, payloads.TradePlanReady) else None
    return argument_end(outcome, plan)
