"""Every threshold of the desk in one table, each with where it comes from."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from agents.trade.terms import TradeMode

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
    imbalance_levels: int = 20
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
    binance_usd: float = 2_000.0
    binance_leverage: float = 3.0
    upbit_krw: float = 2_000_000.0
    upbit_leverage: float = 1.0
    account_leverage: float = 2.0
    """Everything held, waiting and new, over equity."""
    entry_band: float = 0.005
    """How far from the mark an entry may be."""
    price_deviation: float = 0.005
    """How far the mark may have moved between a plan and its application."""
    plan_seconds: int = 600
    margin: float = 0.15
    """A vote weaker than this is a HOLD."""
    resolved_for_trust: int = 30
    """Trades that must have ended before the desk's own odds count in full."""
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
    "imbalance_levels": "ours",
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
    "binance_usd": "seed",
    "binance_leverage": "seed",
    "upbit_krw": "seed",
    "upbit_leverage": "seed",
    "account_leverage": "seed",
    "entry_band": "ours",
    "price_deviation": "ours",
    "plan_seconds": "ours",
    "margin": "ours",
    "resolved_for_trust": "ours",
    "drift": "ours",
}
