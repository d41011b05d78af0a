"""What is unusual right now, by arithmetic alone; no model is asked, and no expert is spared."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from agents.trade.indicators import ATR_BARS, average_true_ranges, mean
from agents.trade.terms import DeskLimits, MarketAnomaly
from chain.base.table_file import TableError, read_timed_table
from chain.base.units import HOUR
from chain.exchange.public.market import Candle

VOLUME_HOURS = 24
_LAST = 3


class TriageInput(Struct, frozen=True, kw_only=True):
    """What triage looks at; None where it is unknown, which finds nothing."""

    hours: tuple[Candle, ...]
    """Closed hours, the oldest first."""
    interest_change: float | None = None
    """Of open interest within the last hour, as a fraction."""
    liquidated_usd: float | None = None
    """Within a real hour, both sides."""
    imbalances: tuple[float, ...] = ()
    """Of consecutive samples of the book, the newest last."""
    dvol_z: float | None = None
    week_volatility: float | None = None
    quarter_volatility: float | None = None
    """What options of a week and of three months at the money imply."""


class Spike(Struct, frozen=True):
    """How the last hour compares with those before it."""

    atr_ratio: float
    volume_ratio: float

    def is_one(self, limits: DeskLimits) -> bool:
        return self.atr_ratio >= limits.atr_spike and self.volume_ratio >= limits.volume_spike


def spike_of(hours: Sequence[Candle], limits: DeskLimits) -> Spike | None:
    """None where there are too few hours, or nothing was traded to compare with."""
    used = hours[-(limits.atr_hours + ATR_BARS) :]
    ranges = average_true_ranges(used)
    volumes = [candle.volume for candle in hours[-VOLUME_HOURS - 1 : -1]]
    if len(ranges) <= _LAST or len(volumes) < VOLUME_HOURS:
        return None
    usual_range, usual_volume = mean(ranges[:-_LAST]), mean(volumes)
    if usual_range <= 0 or usual_volume <= 0:
        return None
    return Spike(mean(ranges[-_LAST:]) / usual_range, hours[-1].volume / usual_volume)


def anomalies(seen: TriageInput, limits: DeskLimits | None = None) -> tuple[MarketAnomaly, ...]:
    limits = limits or DeskLimits()
    found = []
    spike = spike_of(seen.hours, limits)
    if spike is not None and spike.is_one(limits):
        found.append(_kind_of_spike(seen.interest_change, limits))
    if seen.liquidated_usd is not None and seen.liquidated_usd > limits.cluster_usd:
        found.append(MarketAnomaly.LIQUIDATION_CLUSTER)
    if _is_imbalanced(seen.imbalances, limits):
        found.append(MarketAnomaly.MICROSTRUCTURE_IMBALANCE)
    if is_options_panic(seen.dvol_z, seen.week_volatility, seen.quarter_volatility, limits):
        found.append(MarketAnomaly.OPTIONS_PANIC)
    return tuple(found)


def is_options_panic(
    dvol_z: float | None, week: float | None, quarter: float | None, limits: DeskLimits
) -> bool:
    spiked = dvol_z is not None and dvol_z >= limits.dvol_z
    return spiked or (week is not None and quarter is not None and week > quarter)


def _kind_of_spike(change: float | None, limits: DeskLimits) -> MarketAnomaly:
    if change is None or abs(change) <= limits.interest_dead_band:
        return MarketAnomaly.UNCONFIRMED_SPIKE
    return MarketAnomaly.TRUE_BREAKOUT if change > 0 else MarketAnomaly.LIQUIDATION_CASCADE


def _is_imbalanced(samples: Sequence[float], limits: DeskLimits) -> bool:
    latest = samples[-limits.imbalance_samples :]
    if len(latest) < limits.imbalance_samples:
        return False
    return all(imbalance > limits.imbalance for imbalance in latest) or all(
        imbalance < -limits.imbalance for imbalance in latest
    )


# Hours alone have no open interest, so that every spike is an unconfirmed one. The windows and
# limits are those of `triage.py`; whole arrays are worked out at once.
Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

FOLLOWED_HOURS = 4
_COLUMNS = ("high", "low", "close", "volume")


class TradedHours(NamedTuple):
    """The oldest first; a time is when its hour began."""

    times: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats


class SpikeMonth(Struct, frozen=True):
    month: str
    hours: int
    """That could be judged."""
    spikes: int
    followed: float | None
    """The mean size of the move in the hours after a spike, as a fraction; None without one."""


class FollowedMoves(Struct, frozen=True):
    """What prices did in the hours after: of every hour, or of spikes alone."""

    hours: int = field(name="count")
    size: float
    """The mean of the moves without their sign."""
    drift: float
    """The mean of the moves with their sign."""
    up: float
    """The share that rose."""


class TriageRates(Struct, frozen=True, rename="camel"):
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
        len(moves), float(np.mean(np.abs(moves))), float(np.mean(moves)), float(np.mean(moves > 0))
    )
