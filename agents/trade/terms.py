"""The desk's words: what may be decided, by whom, in which market and in which way."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias


class TradeDecision(StrEnum):
    LONG = "LONG"
    SHORT = "SHORT"
    HOLD = "HOLD"
    CANCEL_AND_CLOSE = "CANCEL_AND_CLOSE"

    @property
    def sign(self) -> int:
        """1 for what gains when the price rises, −1 when it falls, 0 for what opens nothing."""
        return {TradeDecision.LONG: 1, TradeDecision.SHORT: -1}.get(self, 0)

    @property
    def opens(self) -> bool:
        return self.sign != 0


class TradeMode(StrEnum):
    SWING = "swing"
    POSITION = "position"


class Objective(StrEnum):
    TRADE = "trade"
    HEDGE = "hedge"


class Bias(StrEnum):
    BULLISH = "BULLISH"
    BEARISH = "BEARISH"
    NEUTRAL = "NEUTRAL"

    @property
    def sign(self) -> int:
        return {Bias.BULLISH: 1, Bias.BEARISH: -1}.get(self, 0)


def bias_of(number: float) -> Bias:
    if number == 0:
        return Bias.NEUTRAL
    return Bias.BULLISH if number > 0 else Bias.BEARISH


class ExpertName(StrEnum):
    LIQUIDITY = "liquidity"
    MICROSTRUCTURE = "microstructure"
    MACRO = "macro"
    GEOMETRY = "vlm_geometry"

    @property
    def spoken(self) -> str:
        """As people read it."""
        return self.value.removeprefix("vlm_")


HIERARCHY: dict[TradeMode, tuple[ExpertName, ...]] = {
    TradeMode.SWING: (
        ExpertName.MICROSTRUCTURE,
        ExpertName.LIQUIDITY,
        ExpertName.MACRO,
        ExpertName.GEOMETRY,
    ),
    TradeMode.POSITION: (
        ExpertName.MACRO,
        ExpertName.LIQUIDITY,
        ExpertName.GEOMETRY,
        ExpertName.MICROSTRUCTURE,
    ),
}
"""Whose word counts first where the experts are divided evenly."""


class MarketRegime(StrEnum):
    BULL_MOMENTUM = "BULL_MOMENTUM"
    BEAR_MOMENTUM = "BEAR_MOMENTUM"
    RANGE_BOUND = "RANGE_BOUND"
    VOLATILITY_PANIC = "VOLATILITY_PANIC"
    SIDEWAYS_ACCUMULATION = "SIDEWAYS_ACCUMULATION"


class MarketAnomaly(StrEnum):
    """What triage may find by arithmetic alone."""

    TRUE_BREAKOUT = "true_breakout"
    LIQUIDATION_CASCADE = "liquidation_cascade"
    UNCONFIRMED_SPIKE = "unconfirmed_spike"
    """A spike whose open interest is unknown, or moved too little to tell."""
    LIQUIDATION_CLUSTER = "liquidation_cluster"
    MICROSTRUCTURE_IMBALANCE = "microstructure_imbalance"
    OPTIONS_PANIC = "options_panic"


class ExecutionStyle(StrEnum):
    PASSIVE_MAKER = "PASSIVE_MAKER"
    SMART_DCA = "SMART_DCA"
    MOMENTUM_SNIPER = "MOMENTUM_SNIPER"
    CASINO_EXIT = "CASINO_EXIT"


class SectionName(StrEnum):
    """The twelve kinds of context."""

    NARRATIVE = "narrative"
    INGESTION = "ingestion"
    FUNDING = "funding"
    CVD = "cvd"
    LIQUIDATIONS = "liquidations"
    MEMORY = "memory"
    NEWS = "news"
    LESSONS = "lessons"
    MICROSTRUCTURE = "microstructure"
    MACRO = "macro"
    OPTIONS = "options"
    FEAR_GREED = "fear_greed"


class SectionStatus(StrEnum):
    OK = "ok"
    STALE = "stale"
    UNAVAILABLE = "unavailable"


class VenueKind(StrEnum):
    """Whose limits an order must keep to."""

    BINANCE = "BINANCE"
    UPBIT = "UPBIT"


ChartAnomaly: TypeAlias = Literal[
    "geometric_trap",
    "fake_breakout",
    "exhaustion_top",
    "capitulation_bottom",
    "clean_breakout",
    "accumulation_range",
    "none",
]
ChartPattern: TypeAlias = Literal[
    "H&S",
    "inv_H&S",
    "double_top",
    "double_bottom",
    "bull_flag",
    "bear_flag",
    "ascending_triangle",
    "wedge",
    "none",
    "other",
]
CvdSignal: TypeAlias = Literal["divergence_bullish", "divergence_bearish", "confirming", "neutral"]
FundingPicture: TypeAlias = Literal[
    "extreme_positive", "high_positive", "neutral", "negative", "extreme_negative"
]
"""What an expert sees on the chart."""
