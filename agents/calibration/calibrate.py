"""Every probability the card prints, scored over a period of hours that really were.

At the end of each hour the range [P/(1+w), P(1+w)] is laid around the close P, with σ by what was
known then. Whether it was left is judged by the highs and lows of the hours that follow; a gap
ends what can be judged.
"""

from __future__ import annotations

from math import inf, log1p
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from agents.numbers.edges import Edges
from agents.numbers.survival import (
    HOURS_PER_DAY,
    SIGMA_SCATTER,
    WEEK_PARTS,
    ReliabilityBin,
    buffer_hours,
    mixed_survival,
)
from chain.base.table_file import TableError, read_timed_table
from chain.base.units import HOUR

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_COLUMNS = ("open", "high", "low", "close")
_LEAST_HOURLY = 0.5
"""Of the steps between rows that must be an hour, for a file to be one of hours."""


class HourlyBars(NamedTuple):
    """Prices are natural logarithms."""

    ends: Floats
    """Unix seconds at which each hour was over and its close was known."""
    high: Floats
    low: Floats
    close: Floats
    hours_before: Integers
    """How many hours before each bar follow one another without a gap."""
    hours_after: Integers
    widened: int
    """Bars whose open or close lay beyond their high or low, which was moved there."""
    gaps: int

    def __len__(self) -> int:
        return len(self.ends)

    def until(self, end: float) -> HourlyBars:
        """As if nothing after this second were known yet."""
        count = int(np.searchsorted(self.ends, end, side="right"))
        if count == len(self):
            return self
        ends = self.ends[:count]
        before, after = _unbroken(ends)
        gaps = int(np.count_nonzero(before == 0)) - 1
        return HourlyBars(
            ends,
            self.high[:count],
            self.low[:count],
            self.close[:count],
            before,
            after,
            self.widened,
            max(gaps, 0),
        )


def read_hourly_bars(path: Path) -> HourlyBars:
    """A CSV of time, open, high, low and close; a time is when its hour began."""
    table = read_timed_table(path, _COLUMNS)
    opened, high, low, close = (np.frombuffer(table.columns[name]) for name in _COLUMNS)
    starts = np.frombuffer(table.times)
    _refuse(path, table.lines, low <= 0, "a price is not above zero")
    _refuse(path, table.lines, low > high, "low is above high")
    steps = np.diff(starts)
    if len(steps) and np.mean(np.abs(steps - HOUR) < 1) < _LEAST_HOURLY:
        raise TableError(
            f"{path} is not a file of hours: most of its rows are {np.median(steps):g} seconds "
            "apart. Give one row an hour."
        )
    highest = np.maximum(high, np.maximum(opened, close))
    lowest = np.minimum(low, np.minimum(opened, close))
    _refuse(path, table.lines, lowest <= 0, "a price is not above zero")
    ends = starts + HOUR
    before, after = _unbroken(ends)
    return HourlyBars(
        ends,
        np.log(highest),
        np.log(lowest),
        np.log(close),
        before,
        after,
        int(np.count_nonzero((highest > high) | (lowest < low))),
        int(np.count_nonzero(before == 0)) - 1,
    )


def _refuse(path: Path, lines: npt.ArrayLike, wrong: Flags, why: str) -> None:
    if wrong.any():
        line = np.asarray(lines)[np.argmax(wrong)]
        raise TableError(f"{path}, line {line}: {why}.")


def _unbroken(ends: Floats) -> tuple[Integers, Integers]:
    places = np.arange(len(ends))
    broken = np.abs(np.diff(ends) - HOUR) >= 1
    first = np.maximum.accumulate(np.where(np.r_[True, broken], places, 0))
    last = np.minimum.accumulate(np.where(np.r_[broken, True], places, len(ends))[::-1])[::-1]
    return places - first, last - places


BINS = 10


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


def bin_chances(said: Floats, stayed: Flags) -> tuple[ReliabilityBin, ...]:
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
        calibration_error(bin_chances(said, stayed)),
        float(said.mean()),
        float(stayed.mean()),
    )


DAY_HOURS = 24
WEEK_HOURS = 168
MONTH_HOURS = 720


def estimated_sigmas(bars: HourlyBars) -> Floats:
    """σ of every hour by the two windows before it; not a number where a gap is in the way."""
    day, week = (_realised(bars, hours, behind=True) for hours in (DAY_HOURS, WEEK_HOURS))
    return np.sqrt((day * day + week * week) / 2)


def week_sigmas(bars: HourlyBars) -> Floats:
    """σ for the seven days after every hour, with the month before it; not a number without one."""
    windows = [
        _realised(bars, hours, behind=True) for hours in (DAY_HOURS, WEEK_HOURS, MONTH_HOURS)
    ]
    total = np.zeros(len(bars))
    for part, sigma in zip(WEEK_PARTS, windows, strict=True):
        total += part * sigma * sigma
    return np.sqrt(total)


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


_FINEST, _COARSEST, _KNOTS = -14.0, 8.0, 2_201
"""Of ln(σ²t/W²): below it all stay, above it none; a hundred knots each time it grows by e."""


class CentredSurvival:
    """S̄ with the price in the middle is a function of σ²t/W² alone: one table serves all."""

    def __init__(self, scatter: float) -> None:
        self._places = np.linspace(_FINEST, _COARSEST, _KNOTS)
        self._chances = np.array(
            [mixed_survival(0.5, float(scaled), scatter) for scaled in np.exp(self._places)]
        )
        self._unit_buffer = buffer_hours(Edges(1.0, 1.0), 1.0, scatter=scatter)

    def chances(self, half_width: float, daily_sigma: Floats, hours: float) -> Floats:
        """That a price leaves a range of this half-width, in ln price, not before these hours."""
        scaled = daily_sigma * daily_sigma * (hours / HOURS_PER_DAY / (4 * half_width * half_width))
        return np.asarray(np.interp(np.log(scaled), self._places, self._chances))

    def buffers(self, half_width: float, daily_sigma: Floats) -> Floats:
        """The hours it stays inside with 95 %, growing as (half-width/σ)²."""
        reach = half_width / daily_sigma
        return self._unit_buffer * reach * reach


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
    """None where no window has 30 days before it and 7 after it without a gap."""
    buffers: tuple[BufferReliability, ...]
    begins: float
    ends: float
    """Unix seconds of the first and the last moment a chance was said at."""


class _Moments(NamedTuple):
    """The hours from which chances are said, and what is known then."""

    starts: Integers
    sigmas: Floats
    week_sigmas: Floats
    """Not a number where the month before is not known."""
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
    moments = _Moments(
        np.flatnonzero(usable), sigmas[usable], week_sigmas(bars)[usable], bars.hours_after[usable]
    )
    if not len(moments.starts):
        raise TableError(
            f"No hour of this period has {WEEK_HOURS} hours before it and {DAY_HOURS} after it "
            "without a gap and with a price that moves. Give a longer file or another period."
        )
    table = CentredSurvival(scatter)
    followed = [_follow(bars, moments, table, log1p(width / 100)) for width in WIDTHS]
    whole_week = (moments.followable >= WEEK_HOURS) & (moments.week_sigmas > 0)
    return Calibration(
        scatter=scatter,
        fitted_scatter=_fitted_scatter(realised_sigmas(bars)[usable] / moments.sigmas),
        day=_horizon(moments.sigmas, moments.followable >= DAY_HOURS, table, followed, DAY_HOURS),
        week=_horizon(moments.week_sigmas, whole_week, table, followed, WEEK_HOURS)
        if whole_week.any()
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
    sigmas: Floats, whole: Flags, table: CentredSurvival, followed: list[_Followed], hours: int
) -> HorizonReliability:
    said = [table.chances(each.half_width, sigmas[whole], hours) for each in followed]
    stayed = [(each.exits[whole] == 0) | (each.exits[whole] > hours) for each in followed]
    pooled = bin_chances(np.concatenate(said), np.concatenate(stayed))
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
