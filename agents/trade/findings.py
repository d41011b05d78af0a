"""What each expert may say, and what is made of it before the judge reads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agents.bus.payload import Measure, Payload
from agents.trade.terms import (
    Bias,
    ChartAnomaly,
    ChartPattern,
    CvdSignal,
    ExpertName,
    FundingPicture,
    MarketAnomaly,
    MarketRegime,
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
    fallback: bool
    by_rules: MarketRegime | None = None
    """What the numbers alone say, where a model has spoken."""

    @property
    def measured(self) -> MarketRegime:
        return self.by_rules or self.regime


class TurnBudget(Payload):
    """What the experts may use up, set by triage."""

    total: int
    costs: dict[ExpertName, int]

    @property
    def left(self) -> int:
        return self.total - sum(self.costs.values())


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
