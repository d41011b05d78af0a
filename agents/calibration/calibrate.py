"""Every probability the card prints, scored over a period of hours that really were.

At the end of each hour the range [P/(1+w), P(1+w)] is laid around the close P, with σ by what was
known then. Whether it was left is judged by the highs and lows of the hours that follow; a gap
ends what can be judged.
"""

from __future__ import annotations

from math import inf, log1p
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct

from agents.calibration.centred_survival import CentredSurvival
from agents.calibration.reliability import (
    HorizonReliability,
    binned,
    calibration_error,
    width_reliability,
)
from agents.calibration.windows import (
    DAY_HOURS,
    WEEK_HOURS,
    estimated_sigmas,
    first_exits,
    realised_sigmas,
)
from agents.numbers.sigma import SIGMA_SCATTER
from chain.base.table_file import TableError

if TYPE_CHECKING:
    from agents.calibration.hourly_bars import Flags, Floats, HourlyBars, Integers

WIDTHS = (1, 2, 3, 5, 7, 10, 15)
"""In per cent, up to P(1+w) and down to P/(1+w)."""
LONGEST_FOLLOWED = 30 * DAY_HOURS
"""A buffer of more hours than these, or than the file goes on without a gap, is not judged."""
LEAST_FITTED = 100
"""Windows below which a scatter says nothing."""
_NORMAL_QUARTILES = 1.349
"""The interquartile range of the standard normal."""


class BufferReliability(NamedTuple):
    """How often a range was left before its printed 5 % buffer was over."""

    width_percent: int
    left_early: float | None
    """None where no buffer could be followed to its end."""
    judged: int
    not_followed: int


class Calibration(Struct, frozen=True):
    scatter: float
    """v, which the chances were made with."""
    fitted_scatter: float | None
    """What v would be by these very windows."""
    day: HorizonReliability
    week: HorizonReliability | None
    """None where no window has 7 days after it without a gap."""
    buffers: tuple[BufferReliability, ...]
    begins: float
    ends: float
    """Unix seconds of the first and the last moment a chance was said at."""


class _Moments(NamedTuple):
    """The hours from which chances are said, and what is known then."""

    starts: Integers
    sigmas: Floats
    followable: Integers


class _Followed(NamedTuple):
    """What became of the ranges of one width."""

    half_width: float
    buffers: Floats
    judged: Flags
    """Whose buffers could be followed to their end."""
    exits: Integers


def calibrate(
    bars: HourlyBars, begin: float = -inf, end: float = inf, scatter: float = SIGMA_SCATTER
) -> Calibration:
    """Score a period; hours before it serve the estimates alone, and none after it is looked at."""
    bars = bars.until(end)
    sigmas = estimated_sigmas(bars)
    # A price that did not move at all gives no volatility, so the card would take another source.
    usable = (bars.ends >= begin) & (bars.hours_after >= DAY_HOURS) & (sigmas > 0)
    moments = _Moments(np.flatnonzero(usable), sigmas[usable], bars.hours_after[usable])
    if not len(moments.starts):
        raise TableError(
            f"No hour of this period has {WEEK_HOURS} hours before it and {DAY_HOURS} after it "
            "without a gap and with a price that moves. Give a longer file or another period."
        )
    table = CentredSurvival(scatter)
    followed = [_follow(bars, moments, table, log1p(width / 100)) for width in WIDTHS]
    day = _horizon(moments, table, followed, DAY_HOURS)
    return Calibration(
        scatter=scatter,
        fitted_scatter=_fitted_scatter(realised_sigmas(bars)[usable] / moments.sigmas),
        day=day,
        week=_horizon(moments, table, followed, WEEK_HOURS)
        if (moments.followable >= WEEK_HOURS).any()
        else None,
        buffers=tuple(map(_buffer, WIDTHS, followed)),
        begins=float(bars.ends[moments.starts[0]]),
        ends=float(bars.ends[moments.starts[-1]]),
    )


def _follow(
    bars: HourlyBars, moments: _Moments, table: CentredSurvival, half_width: float
) -> _Followed:
    buffers = table.buffers(half_width, moments.sigmas)
    judged = buffers <= np.minimum(moments.followable, LONGEST_FOLLOWED)
    needed = np.maximum(np.where(judged, np.ceil(buffers), 0), WEEK_HOURS).astype(np.int64)
    hours = np.minimum(needed, moments.followable)
    exits = first_exits(bars, moments.starts, half_width, hours)
    return _Followed(half_width, buffers, judged, exits)


def _horizon(
    moments: _Moments, table: CentredSurvival, followed: list[_Followed], hours: int
) -> HorizonReliability:
    whole = moments.followable >= hours
    said = [table.chances(each.half_width, moments.sigmas[whole], hours) for each in followed]
    stayed = [(each.exits[whole] == 0) | (each.exits[whole] > hours) for each in followed]
    pooled = binned(np.concatenate(said), np.concatenate(stayed))
    return HorizonReliability(
        hours=hours,
        windows=int(np.count_nonzero(whole)),
        ece=calibration_error(pooled),
        bins=pooled,
        widths=tuple(map(width_reliability, WIDTHS, said, stayed)),
    )


def _buffer(width_percent: int, followed: _Followed) -> BufferReliability:
    judged = int(np.count_nonzero(followed.judged))
    exits, buffers = followed.exits[followed.judged], followed.buffers[followed.judged]
    # Hours do not tell the minute: an exit in the very hour in which a buffer ends counts by the
    # part of that hour before its end.
    early = np.where(exits > 0, np.clip(buffers - (exits - 1), 0, 1), 0)
    return BufferReliability(
        width_percent,
        float(early.mean()) if judged else None,
        judged,
        len(followed.judged) - judged,
    )


def _fitted_scatter(ratios: Floats) -> float | None:
    """The robust scatter of ln(real/estimated σ)."""
    moved = ratios[ratios > 0]
    if len(moved) < LEAST_FITTED:
        return None
    low, high = np.quantile(np.log(moved), (0.25, 0.75))
    return float(high - low) / _NORMAL_QUARTILES
