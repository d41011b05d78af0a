"""The experts at work: each hears triage's report and says its finding, whatever triage found."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from agents.bus.worker import Outgoing
from agents.model.speaking import model_thought, thought
from agents.trade.asking import asides, asked_model, office_reply
from agents.trade.briefing import chart_brief, expert_brief
from agents.trade.chart_facts import chart_facts
from agents.trade.concluding import desk_limits
from agents.trade.expert_rules import (
    liquidity_finding,
    macro_finding,
    microstructure_finding,
)
from agents.trade.geometry_rules import geometry_finding
from agents.trade.levels import PriceLevel
from agents.trade.opinions import (
    geometry_opinion,
    liquidity_opinion,
    macro_opinion,
    microstructure_opinion,
)
from agents.trade.payloads import (
    GEOMETRY,
    SYNTHESIS,
    ChartReady,
    ExpertSpoke,
    TradeKind,
    TriageDone,
)
from agents.trade.replies import GeometryReply, LiquidityReply, MacroReply, MicrostructureReply
from agents.trade.services import pictured
from agents.trade.terms import SectionName, SectionStatus

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from agents.bus.envelope import Envelope
    from agents.bus.worker import HandlerContext
    from agents.model.brief import Brief
    from agents.trade.facts import TradeContext
    from agents.trade.findings import AnyFinding
    from agents.trade.services import TradeServices

ExpertReply = TypeVar("ExpertReply", LiquidityReply, MicrostructureReply, MacroReply, GeometryReply)


async def liquidity(
    envelope: Envelope, context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    case = envelope.payload
    if not isinstance(case, TriageDone):
        return
    by_rules = liquidity_finding(case.market, case.context, case.triage)
    brief = _brief(context, case)
    band = desk_limits(case.question.settings).entry_band

    def bounded(reply: LiquidityReply, brief: Brief) -> AnyFinding:
        return liquidity_opinion(reply, by_rules, brief, case.market.mark, band)

    async for said in _argued(context, brief, LiquidityReply, by_rules, bounded):
        yield said


async def microstructure(
    envelope: Envelope, context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    case = envelope.payload
    if not isinstance(case, TriageDone):
        return
    limits = desk_limits(case.question.settings)
    by_rules = microstructure_finding(case.market.book, case.triage, limits)
    brief = None if case.market.book is None else _brief(context, case)

    def bounded(reply: MicrostructureReply, brief: Brief) -> AnyFinding:
        return microstructure_opinion(reply, by_rules, brief)

    async for said in _argued(context, brief, MicrostructureReply, by_rules, bounded):
        yield said


async def macro(
    envelope: Envelope, context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    case = envelope.payload
    if not isinstance(case, TriageDone):
        return
    by_rules = macro_finding(case.context, desk_limits(case.question.settings))
    known = _is_known(case.context, SectionName.OPTIONS, SectionName.MACRO)
    brief = _brief(context, case) if known else None

    def bounded(reply: MacroReply, brief: Brief) -> AnyFinding:
        return macro_opinion(reply, by_rules, brief)

    async for said in _argued(context, brief, MacroReply, by_rules, bounded):
        yield said


async def chart(
    envelope: Envelope, context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """Draws the chart where it can, and makes its truth: the levels its reader may name."""
    case = envelope.payload
    if not isinstance(case, TriageDone):
        return
    facts, artist = chart_facts(case.market), context.services.artist
    picture = ""
    if artist is not None:
        picture = await artist.draw(facts)
        await context.say(pictured(picture))
    levels = tuple((one.price, one.name) for one in facts.levels)
    drawn = "" if picture else " Nobody drew it."
    yield thought(0, "chart", f"The chart shows {len(levels)} levels.{drawn}")
    ready = ChartReady(**dict(case), levels=levels, picture=picture)
    yield Outgoing(TradeKind.CHART_READY, GEOMETRY, ready)


async def geometry(
    envelope: Envelope, context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """The only one who is given the picture."""
    case = envelope.payload
    if not isinstance(case, ChartReady):
        return
    by_rules = geometry_finding(case.market, case.context)
    artist, brief = context.services.artist, None
    if asked_model(context) is not None and artist is not None and case.picture:
        brief = chart_brief(context.role, case, artist.picture(case.picture))
    truth = tuple(PriceLevel(*level) for level in case.levels)

    def bounded(reply: GeometryReply, brief: Brief) -> AnyFinding:
        return geometry_opinion(reply, truth, case.market.mark, brief)

    async for said in _argued(context, brief, GeometryReply, by_rules, bounded):
        yield said


async def _argued(
    context: HandlerContext[TradeServices],
    brief: Brief | None,
    schema: type[ExpertReply],
    by_rules: AnyFinding,
    bounded: Callable[[ExpertReply, Brief], AnyFinding],
) -> AsyncGenerator[Outgoing, None]:
    """The model's finding within its bounds; where there is nothing to argue from, the rules'."""
    finding, reply = by_rules, None
    if brief is not None:
        spoken = await office_reply(context, brief, schema)
        for aside in asides(context, spoken):
            yield aside
        reply = spoken.reply
    if brief is None or reply is None:
        words = f"{finding.bias.value} at {finding.confidence:.0%}: {finding.rationale}"
        yield thought(0, finding.anomaly, words)
    else:
        finding = bounded(reply, brief)
        lead = f"{finding.bias.value} at {finding.confidence:.0%}: "
        yield model_thought(0, finding.anomaly, reply.rationale, brief, lead=lead)
    yield Outgoing(TradeKind.EXPERT_FINDING, SYNTHESIS, ExpertSpoke(finding=finding))


def _brief(context: HandlerContext[TradeServices], case: TriageDone) -> Brief | None:
    """Nothing is written where there is nobody to read it."""
    return None if asked_model(context) is None else expert_brief(context.role, case)


def _is_known(context: TradeContext, *names: SectionName) -> bool:
    return any(context.section(name).status is SectionStatus.OK for name in names)
