"""What each kind of message of the trade desk carries, and who sends it to whom."""

from enum import StrEnum
from typing import Literal

from agents.bus.envelope import Measure, Payload, Registry, Role
from agents.trade.facts import DeskQuestion, MarketSnapshot, TradeContext
from agents.trade.findings import AnyFinding, ConflictMap, RegimeCall, TriageReport
from agents.trade.plan import LadderStep, TradeDraft, TradeOdds, TradePlan
from agents.trade.terms import ExecutionStyle
from chain.base.strict_json import canonical, digest

DESK = Role("desk")
META = Role("meta")
TRIAGE = Role("triage")
LIQUIDITY = Role("liquidity")
MICROSTRUCTURE = Role("microstructure")
MACRO = Role("macro")
CHART = Role("chart")
GEOMETRY = Role("vlm_geometry")
SYNTHESIS = Role("synthesis")
JUDGE = Role("judge")
RISK_MANAGER = Role("risk_manager")
LEVERAGE_GUARD = Role("leverage_guard")

ROLES = (
    DESK,
    META,
    TRIAGE,
    LIQUIDITY,
    MICROSTRUCTURE,
    MACRO,
    CHART,
    GEOMETRY,
    SYNTHESIS,
    JUDGE,
    RISK_MANAGER,
    LEVERAGE_GUARD,
)


class TradeKind(StrEnum):
    FLOW_DESK_START = "flow_desk_start"
    DESK_SNAPSHOT = "desk_snapshot"
    DESK_CONTEXT = "desk_context"
    REGIME_CLASSIFIED = "regime_classified"
    TRIAGE_DONE = "triage_done"
    EXPERT_FINDING = "expert_finding"
    CHART_READY = "chart_ready"
    SYNTHESIS_READY = "synthesis_ready"
    DECISION_DRAFT = "decision_draft"
    RISK_VERDICT = "risk_verdict"
    GUARD_VERDICT = "guard_verdict"
    TRADE_PLAN_READY = "trade_plan_ready"


class FlowDeskStart(Payload):
    """Argue about a contract, or about the hedge of a position."""

    question: DeskQuestion


class SnapshotTaken(Payload):
    question: DeskQuestion
    market: MarketSnapshot


class ContextGathered(Payload):
    context: TradeContext


class RegimeClassified(Payload):
    question: DeskQuestion
    market: MarketSnapshot
    context: TradeContext
    regime: RegimeCall


class TriageDone(RegimeClassified):
    triage: TriageReport


class ChartReady(TriageDone):
    levels: tuple[tuple[Measure, str], ...]
    """The chart's own truth: every level it may be read to show."""
    picture: str = ""
    """The hash of the picture; empty where none was drawn."""


class ExpertSpoke(Payload):
    finding: AnyFinding


class SynthesisReady(TriageDone):
    findings: tuple[AnyFinding, ...]
    conflicts: ConflictMap


class DecisionDraft(SynthesisReady):
    draft: TradeDraft
    odds: TradeOdds | None
    hedge_ratio: Measure | None
    hedge_argued: Measure | None = None
    """What the experts would hedge, where that is less."""
    reason: str
    ladder: tuple[LadderStep, ...]
    decided_by: Literal["rules", "model"] = "rules"


class RiskVerdict(DecisionDraft):
    style: ExecutionStyle


class GuardVerdict(Payload):
    equity: Measure | None
    exposure_usd: Measure | None
    leverage_before: Measure | None
    leverage_after: Measure | None
    notional_usd: Measure
    reason: str


class TradePlanReady(Payload):
    plan: TradePlan


TRADE_REGISTRY = Registry(
    ROLES,
    {
        TradeKind.FLOW_DESK_START: FlowDeskStart,
        TradeKind.DESK_SNAPSHOT: SnapshotTaken,
        TradeKind.DESK_CONTEXT: ContextGathered,
        TradeKind.REGIME_CLASSIFIED: RegimeClassified,
        TradeKind.TRIAGE_DONE: TriageDone,
        TradeKind.EXPERT_FINDING: ExpertSpoke,
        TradeKind.CHART_READY: ChartReady,
        TradeKind.SYNTHESIS_READY: SynthesisReady,
        TradeKind.DECISION_DRAFT: DecisionDraft,
        TradeKind.RISK_VERDICT: RiskVerdict,
        TradeKind.GUARD_VERDICT: GuardVerdict,
        TradeKind.TRADE_PLAN_READY: TradePlanReady,
    },
    final=(TradeKind.TRADE_PLAN_READY,),
)


def snapshot_hash(market: MarketSnapshot) -> str:
    return digest(canonical(market.model_dump(mode="json", by_alias=True)))
