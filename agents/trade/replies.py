"""What a model may answer in each office: prose first, then choices; arithmetic bounds them all."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agents.model.structured_reply import StructuredReply
from agents.trade.terms import (
    Bias,
    ChartAnomaly,
    ChartPattern,
    CvdSignal,
    FundingPicture,
    MarketRegime,
    TradeDecision,
)

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
