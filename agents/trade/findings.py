"""What each expert may say, what a model may answer in each office, and what is made of it."""

from typing import Annotated, Literal

from pydantic import Field

from agents.bus.envelope import Measure, Payload
from agents.model.reply_text import StructuredReply
from agents.trade.terms import (
    Bias,
    ChartAnomaly,
    ChartPattern,
    CvdSignal,
    ExpertName,
    FundingPicture,
    MarketAnomaly,
    MarketRegime,
    TradeDecision,
)

Confidence = Annotated[Measure, Field(ge=0, le=1)]
BudgetShare = Annotated[Measure, Field(ge=0, le=100)]


class RegimeCall(Payload):
    """What kind of market it is, and whom to trust in it."""

    regime: MarketRegime
    rationale: str
    trust_directive: str
    risk_budget_pct: BudgetShare
    risk_bias: Literal["risk_on", "neutral", "risk_off"]
    weights: dict[ExpertName, Confidence]
    """The directive in numbers."""
    directed: dict[ExpertName, Confidence] | None = None
    """As meta's model would weigh them, within bounds; it can weaken a vote, never make one."""
    fallback: bool
    by_rules: MarketRegime | None = None
    """What the numbers alone say, where a model has spoken."""

    @property
    def by_measure(self) -> MarketRegime:
        return self.by_rules or self.regime


class TurnBudget(Payload):
    """What the experts may use up, set by triage."""

    total: int
    costs: dict[ExpertName, int]


class TriageReport(Payload):
    anomalies: tuple[MarketAnomaly, ...]
    atr_ratio: Measure | None
    volume_ratio: Measure | None
    interest_change: Measure | None
    liquidated_usd: Measure | None
    imbalance: Measure | None
    dvol_z: Measure | None
    budget: TurnBudget


class LiquidityFinding(Payload):
    expert: Literal[ExpertName.LIQUIDITY] = ExpertName.LIQUIDITY
    anomaly: Literal["whale_cvd_divergence", "liquidation_hunting", "none"]
    confidence: Confidence
    target_entry: Measure | None
    directional_bias: Bias
    rationale: str
    fallback: bool

    @property
    def bias(self) -> Bias:
        return self.directional_bias


class MicrostructureFinding(Payload):
    expert: Literal[ExpertName.MICROSTRUCTURE] = ExpertName.MICROSTRUCTURE
    anomaly: Literal["microstructure_imbalance", "fake_wall", "none"]
    confidence: Confidence
    directional_bias: Literal["UP", "DOWN", "NEUTRAL"]
    rationale: str
    fallback: bool

    @property
    def bias(self) -> Bias:
        return {"UP": Bias.BULLISH, "DOWN": Bias.BEARISH}.get(self.directional_bias, Bias.NEUTRAL)


class MacroFinding(Payload):
    expert: Literal[ExpertName.MACRO] = ExpertName.MACRO
    anomaly: Literal["options_panic", "macro_divergence", "none"]
    confidence: Confidence
    options_bias: Bias
    rationale: str
    fallback: bool

    @property
    def bias(self) -> Bias:
        return self.options_bias


class KeyLevels(Payload):
    """The seven prices of a chart; None where the chart shows none."""

    immediate_support: Measure | None
    immediate_resistance: Measure | None
    major_support: Measure | None
    major_resistance: Measure | None
    liquidation_pool_above: Measure | None
    liquidation_pool_below: Measure | None
    volume_poc: Measure | None


class GeometryFinding(Payload):
    expert: Literal[ExpertName.GEOMETRY] = ExpertName.GEOMETRY
    anomaly: ChartAnomaly
    directional_bias: Bias
    confidence: Confidence
    key_levels: KeyLevels
    fibonacci_context: str
    pattern: ChartPattern
    cvd_signal: CvdSignal
    funding_visual: FundingPicture
    rationale: str
    fallback: bool
    unverified: tuple[str, ...] = ()
    """Levels that the chart's own numbers do not bear out."""

    @property
    def bias(self) -> Bias:
        return self.directional_bias


AnyFinding = Annotated[
    LiquidityFinding | MicrostructureFinding | MacroFinding | GeometryFinding,
    Field(discriminator="expert"),
]


class Conflict(Payload):
    between: tuple[ExpertName, ExpertName]
    expert_a_claim: str
    expert_b_claim: str
    tiebreaker: str


class ConflictMap(Payload):
    consensus_signals: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    dominant_signal: Bias
    highest_confidence_expert: ExpertName
    key_uncertainty: str
    regime_note: str
    fallback: bool


Prose = Annotated[str, Field(min_length=1, max_length=1_200)]
Sentence = Annotated[str, Field(min_length=1, max_length=400)]
ClaimedConfidence = Annotated[float, Field(ge=0, le=1)]
ClaimedPercent = Annotated[float, Field(ge=0, le=100)]
ClaimedPrice = Annotated[float, Field(gt=0)]


class RegimeReply(StructuredReply):
    rationale: Prose
    regime: MarketRegime
    trust_directive: Sentence
    risk_budget_pct: ClaimedPercent
    risk_bias: Literal["risk_on", "neutral", "risk_off"]
    trust_more: ExpertName | None = None
    trust_less: ExpertName | None = None


class LiquidityReply(StructuredReply):
    rationale: Prose
    anomaly: Literal["whale_cvd_divergence", "liquidation_hunting", "none"]
    directional_bias: Bias
    confidence: ClaimedConfidence
    target_entry: ClaimedPrice | None = None


class MicrostructureReply(StructuredReply):
    rationale: Prose
    anomaly: Literal["microstructure_imbalance", "fake_wall", "none"]
    directional_bias: Literal["UP", "DOWN", "NEUTRAL"]
    confidence: ClaimedConfidence


class MacroReply(StructuredReply):
    rationale: Prose
    anomaly: Literal["options_panic", "macro_divergence", "none"]
    options_bias: Bias
    confidence: ClaimedConfidence


class ClaimedLevels(StructuredReply):
    """Seven prices read off the picture; null where it shows none."""

    immediate_support: ClaimedPrice | None = None
    immediate_resistance: ClaimedPrice | None = None
    major_support: ClaimedPrice | None = None
    major_resistance: ClaimedPrice | None = None
    liquidation_pool_above: ClaimedPrice | None = None
    liquidation_pool_below: ClaimedPrice | None = None
    volume_poc: ClaimedPrice | None = None


class GeometryReply(StructuredReply):
    rationale: Prose
    anomaly: ChartAnomaly
    directional_bias: Bias
    confidence: ClaimedConfidence
    key_levels: ClaimedLevels
    fibonacci_context: Annotated[str, Field(max_length=400)]
    pattern: ChartPattern
    cvd_signal: CvdSignal
    funding_visual: FundingPicture


class SynthesisReply(StructuredReply):
    summary: Prose
    consensus_signals: Annotated[list[Sentence], Field(max_length=6)]
    key_uncertainty: Sentence
    regime_note: Sentence


class JudgeReply(StructuredReply):
    counter_scenario: Prose
    """The strongest argument against, before anything is confirmed."""
    decision: TradeDecision
    allocation_pct: ClaimedPercent
    leverage: Annotated[float, Field(ge=1, le=3)]
    stop_loss: ClaimedPrice | None = None
    take_profit: ClaimedPrice | None = None
    hold_duration: Annotated[str, Field(max_length=40)]
    meta_agent_context: Sentence
    technical: Sentence
    derivatives: Sentence
    experts: Sentence
    narrative: Sentence
    final_logic: Sentence
    win_probability_pct: ClaimedPercent
    ev_rationale: Sentence
    key_factors: Annotated[list[Annotated[str, Field(max_length=120)]], Field(max_length=8)]


class HedgeReply(StructuredReply):
    counter_scenario: Prose
    hedge_ratio: Literal["0", "0.25", "0.5", "0.75", "1"]
    final_logic: Sentence


class RiskReply(StructuredReply):
    rationale: Prose
    verdict: Literal["concur", "reduce", "hold"]
    allocation_pct: ClaimedPercent
    leverage: Annotated[float, Field(ge=1, le=3)]
