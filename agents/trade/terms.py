"""The desk's words, and every threshold of it in one table, each with where it comes from."""

from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct


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
    def spoken_name(self) -> str:
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


LimitSource = Literal["seed", "ours"]
"""Given with the task, or chosen here where the task is silent."""


class DeskLimits(Struct, frozen=True):
    atr_spike: float = 1.5
    """The last three hours' true range over the hours before."""
    atr_hours: int = 100
    volume_spike: float = 2.0
    """The last hour's volume over the mean of the 24 before."""
    interest_dead_band: float = 0.005
    """Open interest that moved less within the hour tells nothing."""
    cluster_usd: float = 100_000.0
    """Liquidations within an hour, above which they are a cluster."""
    imbalance: float = 0.70
    imbalance_samples: int = 3
    dvol_z: float = 2.0
    """Standard deviations above the mean of 30 days."""
    funding_long: float = 0.0003
    """Above it nobody opens a long."""
    funding_short: float = -0.0003
    """At or below it nobody opens a short."""
    opposite_liquidations_usd: float = 50_000_000.0
    opposite_liquidations_factor: float = 0.5
    volatility_tax: float = 0.5
    curve_inverted_below: float = 0.0
    """Percentage points between the 10-year and the 2-year yield."""
    curve_fall: float = 0.25
    """Percentage points within five days."""
    leverage_swing: float = 3.0
    leverage_position: float = 1.0
    order_usd: float = 2_000.0
    account_leverage: float = 2.0
    """Everything held, waiting and new, over equity."""
    entry_band: float = 0.005
    """How far from the mark an entry may be."""
    price_deviation: float = 0.005
    """How far the mark may have moved between a plan and its application."""
    plan_seconds: int = 600
    margin: float = 0.15
    """A vote weaker than this is a HOLD."""
    drift: float = 0.2
    """A hedge this far from what it should be, as a share of it, is said to have drifted."""

    def leverage_cap(self, mode: TradeMode) -> float:
        return self.leverage_swing if mode is TradeMode.SWING else self.leverage_position


LIMIT_SOURCES: dict[str, LimitSource] = {
    "atr_spike": "seed",
    "atr_hours": "ours",
    "volume_spike": "seed",
    "interest_dead_band": "ours",
    "cluster_usd": "seed",
    "imbalance": "seed",
    "imbalance_samples": "ours",
    "dvol_z": "ours",
    "funding_long": "seed",
    "funding_short": "ours",
    "opposite_liquidations_usd": "seed",
    "opposite_liquidations_factor": "ours",
    "volatility_tax": "seed",
    "curve_inverted_below": "ours",
    "curve_fall": "ours",
    "leverage_swing": "seed",
    "leverage_position": "seed",
    "order_usd": "seed",
    "account_leverage": "seed",
    "entry_band": "ours",
    "price_deviation": "ours",
    "plan_seconds": "ours",
    "margin": "ours",
    "drift": "ours",
}
