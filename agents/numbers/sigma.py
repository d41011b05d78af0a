"""The one estimate of volatility everything is judged by, and how far off it tends to be."""

from __future__ import annotations

from enum import StrEnum
from math import sqrt
from typing import NamedTuple

SIGMA_SCATTER = 0.42
"""v, the deviation of ln(real/estimated σ) over the next 24 h, robustly: interquartile range/1.349.

`zuno calibrate` fits .419 on the hours of ETH/USDT from August 2017 to December 2020; on the years
after them, which had no part in it, the chances that follow come true.
"""


class SigmaWindows(StrEnum):
    """What an estimate was made of."""

    BOTH = "24 h and 7 d"
    DAY = "24 h alone"
    WEEK = "7 d alone"


class SigmaEstimate(NamedTuple):
    daily_sigma: float
    windows: SigmaWindows


def estimate_sigma(sigma_24h: float | None, sigma_7d: float | None) -> SigmaEstimate | None:
    """σ² = ½(σ²₂₄ₕ + σ²₇d), or the window that is known; None where neither is.

    One quiet day after a wild week says little about tomorrow, and neither does the other way.
    """
    if sigma_24h is None:
        return None if sigma_7d is None else SigmaEstimate(sigma_7d, SigmaWindows.WEEK)
    if sigma_7d is None:
        return SigmaEstimate(sigma_24h, SigmaWindows.DAY)
    blended = sqrt((sigma_24h * sigma_24h + sigma_7d * sigma_7d) / 2)
    return SigmaEstimate(blended, SigmaWindows.BOTH)
