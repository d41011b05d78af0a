"""What was known at each hour, and when a range laid around its close was really left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agents.numbers.survival import HOURS_PER_DAY

if TYPE_CHECKING:
    from agents.calibration.hourly_bars import Floats, HourlyBars, Integers

DAY_HOURS = 24
WEEK_HOURS = 168


def estimated_sigmas(bars: HourlyBars) -> Floats:
    """σ of every hour by the two windows before it; not a number where a gap is in the way."""
    day, week = (_realised(bars, hours, behind=True) for hours in (DAY_HOURS, WEEK_HOURS))
    return np.sqrt((day * day + week * week) / 2)


def realised_sigmas(bars: HourlyBars) -> Floats:
    """σ of the 24 hours after every hour; not a number where they are not all there."""
    return _realised(bars, DAY_HOURS, behind=False)


def first_exits(
    bars: HourlyBars, starts: Integers, half_width: float, followed: Integers
) -> Integers:
    """In which hour after each start a high or low touched an edge; 0 if in none that follows.

    `followed` says for each start how many hours are looked at.
    """
    exits = np.zeros(len(starts), np.int64)
    inside = np.arange(len(starts))
    upper = bars.close[starts] + half_width
    lower = bars.close[starts] - half_width
    for hour in range(1, int(followed.max(initial=0)) + 1):
        inside = inside[followed[inside] >= hour]
        bar = starts[inside] + hour
        left = (bars.high[bar] >= upper[inside]) | (bars.low[bar] <= lower[inside])
        exits[inside[left]] = hour
        inside = inside[~left]
        if not len(inside):
            break
    return exits


def _realised(bars: HourlyBars, hours: int, *, behind: bool) -> Floats:
    """√(24 · Σr²/n) of the hourly closes before or after each bar, the mean taken as zero."""
    sigmas = np.full(len(bars), np.nan)
    if len(bars) <= hours:
        return sigmas
    sums = np.concatenate(([0.0], np.cumsum(np.diff(bars.close) ** 2)))
    windows = np.sqrt(HOURS_PER_DAY / hours * (sums[hours:] - sums[:-hours]))
    if behind:
        sigmas[hours:] = windows
        sigmas[bars.hours_before < hours] = np.nan
    else:
        sigmas[:-hours] = windows
        sigmas[bars.hours_after < hours] = np.nan
    return sigmas
