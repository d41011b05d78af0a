"""The experts at work: each hears triage's report and says its finding, whatever triage found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.worker import Outgoing
from agents.model.speaking import thought
from agents.trade.concluding import desk_limits
from agents.trade.expert_rules import (
    geometry_finding,
    liquidity_finding,
    macro_finding,
    microstructure_finding,
)
from agents.trade.levels import level_set
from agents.trade.payloads import (
    GEOMETRY,
    SYNTHESIS,
    ChartReady,
    ExpertSpoke,
    TradeKind,
    TriageDone,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from agents.bus.envelope import Envelope
    from agents.bus.worker import HandlerContext
    from agents.trade.findings import AnyFinding
    from agents.trade.services import TradeServices


async def liquidity(
    envelope: Envelope, _context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    case = envelope.payload
    if isinstance(case, TriageDone):
        for said in _said(liquidity_finding(case.market, case.context, case.triage)):
            yield said


async def microstructure(
    envelope: Envelope, _context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    case = envelope.payload
    if isinstance(case, TriageDone):
        limits = desk_limits(case.question.settings)
        for said in _said(microstructure_finding(case.market.book, case.triage, limits)):
            yield said


async def macro(
    envelope: Envelope, _context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    case = envelope.payload
    if isinstance(case, TriageDone):
        for said in _said(macro_finding(case.context, desk_limits(case.question.settings))):
            yield said


async def chart(
    envelope: Envelope, _context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """Makes the chart's own truth: the levels that whoever reads it may name."""
    case = envelope.payload
    if not isinstance(case, TriageDone):
        return
    levels = tuple((one.price, one.name) for one in level_set(case.market.hours.candles))
    yield thought(0, "chart", f"The chart shows {len(levels)} levels.")
    yield Outgoing(TradeKind.CHART_READY, GEOMETRY, ChartReady(**dict(case), levels=levels))


async def geometry(
    envelope: Envelope, _context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    case = envelope.payload
    if isinstance(case, ChartReady):
        for said in _said(geometry_finding(case.market, case.context)):
            yield said


def _said(finding: AnyFinding) -> tuple[Outgoing, ...]:
    words = f"{finding.bias.value} at {finding.confidence:.0%}: {finding.rationale}"
    return (
        thought(0, finding.anomaly, words),
        Outgoing(TradeKind.EXPERT_FINDING, SYNTHESIS, ExpertSpoke(finding=finding)),
    )
