"""How often what was given a chance came true: bins, and the distance between said and seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from agents.calibration.hourly_bars import Flags, Floats

BINS = 10


class ReliabilityBin(NamedTuple):
    """Windows whose chance was said to lie within a tenth."""

    windows: int
    said: float
    """Their mean chance to stay."""
    stayed: float
    """The share of them that did."""


class WidthReliability(NamedTuple):
    """The windows of one width of range."""

    width_percent: int
    ece: float
    said: float
    stayed: float

    @property
    def bias_points(self) -> float:
        """Above zero where more was promised than came true."""
        return 100 * (self.said - self.stayed)


class HorizonReliability(Struct, frozen=True):
    """All widths over one horizon."""

    hours: int
    windows: int
    """Moments from which each width was followed."""
    ece: float
    """Expected calibration error: the mean distance of said from seen over pooled bins."""
    bins: tuple[ReliabilityBin, ...]
    widths: tuple[WidthReliability, ...]

    @property
    def worst_width_ece(self) -> float:
        return max(width.ece for width in self.widths)

    @property
    def worst_bias_points(self) -> float:
        return max(abs(width.bias_points) for width in self.widths)


def binned(said: Floats, stayed: Flags) -> tuple[ReliabilityBin, ...]:
    """Ten equal tenths of chance, the empty ones left out."""
    tenths = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(tenths, minlength=BINS)
    said_sums = np.bincount(tenths, weights=said, minlength=BINS)
    stayed_sums = np.bincount(tenths, weights=stayed, minlength=BINS)
    return tuple(
        ReliabilityBin(int(count), float(sum_said / count), float(sum_stayed / count))
        for count, sum_said, sum_stayed in zip(counts, said_sums, stayed_sums, strict=True)
        if count
    )


def calibration_error(bins: tuple[ReliabilityBin, ...]) -> float:
    """Σ n_b/n · |said − stayed|."""
    total = sum(each.windows for each in bins)
    return sum(each.windows * abs(each.said - each.stayed) for each in bins) / total


def width_reliability(width_percent: int, said: Floats, stayed: Flags) -> WidthReliability:
    return WidthReliability(
        width_percent,
        calibration_error(binned(said, stayed)),
        float(said.mean()),
        float(stayed.mean()),
    )
