"""How often triage would have called a spike on past hours, and what the price did afterwards.

Hours alone have no open interest, so that every spike is an unconfirmed one. The windows and
limits are those of `triage.py`; whole arrays are worked out at once.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from agents.trade.indicators import ATR_BARS
from agents.trade.terms import DeskLimits
from agents.trade.triage import VOLUME_HOURS
from chain.base.table_file import TableError, read_timed_table
from chain.base.units import HOUR

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

FOLLOWED_HOURS = 4
_LAST = 3
_COLUMNS = ("high", "low", "close", "volume")


class TradedHours(NamedTuple):
    """The oldest first; a time is when its hour began."""

    times: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats


class SpikeMonth(NamedTuple):
    month: str
    hours: int
    """That could be judged."""
    spikes: int
    followed: float | None
    """The mean size of the move in the hours after a spike, as a fraction; None without one."""


class FollowedMoves(NamedTuple):
    """What prices did in the hours after: of every hour, or of spikes alone."""

    hours: int
    size: float
    """The mean of the moves without their sign."""
    drift: float
    """The mean of the moves with their sign."""
    up: float
    """The share that rose."""


class TriageRates(NamedTuple):
    months: tuple[SpikeMonth, ...]
    atr_share: float
    """Of judged hours, those whose range leg alone spiked."""
    volume_share: float
    after_spikes: FollowedMoves | None
    after_all: FollowedMoves


def read_traded_hours(path: Path) -> TradedHours:
    """A CSV of time, high, low, close and volume, one row an hour; .gz too."""
    table = read_timed_table(path, _COLUMNS)
    high, low, close, volume = (np.frombuffer(table.columns[name]) for name in _COLUMNS)
    hours = TradedHours(np.frombuffer(table.times), high, low, close, volume)
    if len(hours.times) and (np.any(low <= 0) or np.any(volume < 0) or np.any(high < low)):
        raise TableError(f"{path} has a price, a range or a volume that cannot be.")
    return hours


def triage_rates(hours: TradedHours, limits: DeskLimits | None = None) -> TriageRates:
    """Only hours that have the day before and the hours after them without a gap are judged."""
    limits = limits or DeskLimits()
    atr, volume = spike_ratios(hours, limits)
    judged = np.isfinite(atr) & np.isfinite(volume) & _unbroken(hours.times)
    if not np.any(judged):
        raise TableError(
            "No hour can be judged: each needs "
            f"{limits.atr_hours + ATR_BARS} hours before it and {FOLLOWED_HOURS} after it."
        )
    ranged, traded = atr >= limits.atr_spike, volume >= limits.volume_spike
    spiked = judged & ranged & traded
    moves = np.full(len(hours.times), np.nan)
    moves[:-FOLLOWED_HOURS] = hours.close[FOLLOWED_HOURS:] / hours.close[:-FOLLOWED_HOURS] - 1
    return TriageRates(
        _by_month(hours.times, judged, spiked, moves),
        float(np.mean(ranged[judged])),
        float(np.mean(traded[judged])),
        _followed(moves[spiked]) if np.any(spiked) else None,
        _followed(moves[judged]),
    )


def spike_ratios(hours: TradedHours, limits: DeskLimits) -> tuple[Floats, Floats]:
    """Of each hour the two ratios of `triage.spike_of`; NaN where too few hours came before."""
    count = len(hours.times)
    atr_ratio, volume_ratio = np.full(count, np.nan), np.full(count, np.nan)
    window = limits.atr_hours
    if count >= window + ATR_BARS:
        before = hours.close[:-1]
        ranges = np.maximum(hours.high[1:], before) - np.minimum(hours.low[1:], before)
        means = _rolling(ranges, ATR_BARS)
        whole, last = _rolling(means, window) * window, _rolling(means, _LAST) * _LAST
        usual = (whole - last[window - _LAST :]) / (window - _LAST)
        with np.errstate(divide="ignore", invalid="ignore"):
            atr_ratio[window + ATR_BARS - 1 :] = last[window - _LAST :] / _LAST / usual
    if count > VOLUME_HOURS:
        usual_volume = _rolling(hours.volume, VOLUME_HOURS)[:-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            volume_ratio[VOLUME_HOURS:] = hours.volume[VOLUME_HOURS:] / usual_volume
    return atr_ratio, volume_ratio


def _rolling(numbers: Floats, bars: int) -> Floats:
    """The mean of each so many numbers in a row."""
    means: Floats = np.lib.stride_tricks.sliding_window_view(numbers, bars).mean(axis=1)
    return means


def _unbroken(times: Floats) -> Flags:
    """Whether a day before and the hours after an hour follow one another."""
    good = np.zeros(len(times), dtype=np.bool_)
    first, last = VOLUME_HOURS, len(times) - FOLLOWED_HOURS
    if last > first:
        here = np.arange(first, last)
        behind = times[here] - times[here - VOLUME_HOURS] == VOLUME_HOURS * HOUR
        ahead = times[here + FOLLOWED_HOURS] - times[here] == FOLLOWED_HOURS * HOUR
        good[first:last] = behind & ahead
    return good


def _by_month(times: Floats, judged: Flags, spiked: Flags, moves: Floats) -> tuple[SpikeMonth, ...]:
    names = np.array([datetime.fromtimestamp(moment, UTC).strftime("%Y-%m") for moment in times])
    months = []
    for name in sorted(set(names[judged])):
        here = names == name
        sizes = np.abs(moves[here & spiked])
        months.append(
            SpikeMonth(
                str(name),
                int(np.count_nonzero(here & judged)),
                len(sizes),
                float(np.mean(sizes)) if len(sizes) else None,
            )
        )
    return tuple(months)


def _followed(moves: Floats) -> FollowedMoves:
    return FollowedMoves(
        len(moves),
        float(np.mean(np.abs(moves))),
        float(np.mean(moves)),
        float(np.mean(moves > 0)),
    )
