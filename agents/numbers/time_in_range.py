"""The share of a horizon that a driftless price spends inside a range, re-entry included.

Fees accrue on this share, not on survival: a price that left may come back. The expected share is
(1/T) ∫₀ᵀ [Φ(u/σ√t) − Φ(−d/σ√t)] dt, which has the closed form used here.
"""

from __future__ import annotations

from math import erfc, exp, pi, sqrt
from typing import TYPE_CHECKING

from agents.numbers.survival import HOURS_PER_DAY

if TYPE_CHECKING:
    from agents.numbers.edges import Edges


def time_in_range(edges: Edges, daily_ticks: float, hours: float = HOURS_PER_DAY) -> float:
    """The expected share of the next hours with the price inside, from inside or outside."""
    if not daily_ticks > 0 or not hours > 0:
        raise ValueError("The share of time in range needs a volatility and a horizon above zero.")
    spread = daily_ticks * sqrt(hours / HOURS_PER_DAY)
    share = _share_below(edges.above / spread) - _share_below(-edges.below / spread)
    return min(1.0, max(0.0, share))


def _share_below(level: float) -> float:
    """The expected share of [0, 1] that a standard walk from 0 spends below this level."""
    if level < 0:
        return _share_beyond(-level)
    return 1 - _share_beyond(level)


def _share_beyond(distance: float) -> float:
    """½ ∫₀¹ erfc(a/√2t) dt = ½ (1 + a²) erfc(a/√2) − a e^(−a²/2)/√2π."""
    square = distance * distance
    tail = (1 + square) * erfc(distance / sqrt(2)) / 2
    return max(0.0, tail - distance * exp(-square / 2) / sqrt(2 * pi))
