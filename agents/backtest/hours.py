"""Bars by the hour: closes, gaps, and what was known of volatility and edge at each hour's end."""

from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from chain.base.table_file import TableError, TimedTable, read_timed_table
from chain.base.units import HOUR

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

COLUMNS = ("price", "low", "high", "fees_usd", "liquidity_usd")
FEWEST_BARS = 2


class PoolBars(NamedTuple):
    """Bars in the order of their ends; prices are token1 per token0."""

    times: Floats
    """The end of each bar in unix seconds."""
    price: Floats
    """At the close."""
    low: Floats
    high: Floats
    fees_usd: Floats
    """Of all providers in the bar."""
    liquidity_usd: Floats
    """2L√P: what the active liquidity would be worth over the full range."""


def read_bars(path: Path) -> PoolBars:
    """The bars of a file; a row that cannot be is an error that names its line."""
    table = read_timed_table(path, COLUMNS)
    bars = PoolBars(_array(table, None), *(_array(table, name) for name in COLUMNS))
    if len(bars.times) < FEWEST_BARS:
        raise TableError(f"{path} has one bar alone: a backtest needs weeks of them.")
    lines = np.frombuffer(table.lines, dtype=np.int64)
    earlier = np.flatnonzero(np.diff(lines) < 0)
    if earlier.size:
        line = lines[earlier[0]]
        raise TableError(f"{path}, line {line}: its time is earlier than that of a line before.")
    for words, wrong in [
        ("the price is not above zero", bars.price <= 0),
        ("the low is not above zero", bars.low <= 0),
        ("the low is over the high", bars.low > bars.high),
        ("the fees are below zero", bars.fees_usd < 0),
        ("the liquidity is not above zero", bars.liquidity_usd <= 0),
    ]:
        found = np.flatnonzero(wrong)
        if found.size:
            raise TableError(f"{path}, line {lines[found[0]]}: {words}.")
    # Some sources leave the close out of low and high; the bar reached to it all the same.
    return bars._replace(
        low=np.minimum(bars.low, bars.price), high=np.maximum(bars.high, bars.price)
    )


def _array(table: TimedTable, name: str | None) -> Floats:
    values = table.times if name is None else table.columns[name]
    return np.frombuffer(values, dtype=np.float64)


DAY_HOURS = 24
WEEK_HOURS = 168
"""The edge and half of the volatility rest on so many hours, the warm-up before a window."""
FEWEST_WEEK_HOURS = 120
FEWEST_DAY_HOURS = 12
"""With fewer hours known, because of gaps, edge and volatility are unknown."""
_LONGEST_STEP = 1.5
"""Bars further apart than this many usual steps, and than an hour, have a gap between them."""
_NO_MOVEMENT = 1e-12
"""A week's squared returns below this are the rounding of sums: the price did not move."""


class BarHours(NamedTuple):
    """What is known at the end of each hour, counted from the start of the first bar."""

    last_bar: Indices
    """The latest bar that had ended; −1 before the first."""
    broken: Flags
    """Hours that a gap reaches into."""
    sigma: Floats
    """σ² = ½(σ²₂₄ₕ + σ²₇d) of hourly closes, a day's log return; NaN is unknown."""
    edge: Floats
    """ρ₇: fees over liquidity against an eighth of the squared hourly returns; NaN is unknown."""
    risk: Floats
    """What arbitrage takes a day of a dollar of full-range worth, Σr²/8 of seven days."""
    liquidity_usd: Floats
    """Of all providers, the mean of seven days; NaN is unknown."""

    @property
    def total(self) -> int:
        return len(self.last_bar) - 1


class WindowStarts(NamedTuple):
    hours: Indices
    """At which hour each window starts."""
    broken: int
    """How many had to be given up at a gap."""


def bar_hours(bars: PoolBars) -> BarHours:
    steps = np.diff(bars.times)
    step = float(np.median(steps))
    start = bars.times[0] - step
    ends = start + HOUR * np.arange(int((bars.times[-1] - start) // HOUR) + 1)
    last_bar = np.searchsorted(bars.times, ends, side="right") - 1
    gaps = np.flatnonzero(steps > max(_LONGEST_STEP * step, HOUR))
    broken = np.zeros(len(ends), dtype=np.bool_)
    for gap in gaps:
        first = np.searchsorted(ends, bars.times[gap], side="right")
        last = np.searchsorted(ends, bars.times[gap + 1], side="left")
        broken[first : last + 1] = True
    return _estimated(bars, last_bar, broken)


def _estimated(bars: PoolBars, last_bar: Indices, broken: Flags) -> BarHours:
    known = ~broken & (np.concatenate(([-1], last_bar[:-1])) >= 0)
    closes = np.log(bars.price[np.maximum(last_bar, 0)])
    squares = np.where(known, np.diff(closes, prepend=closes[0]) ** 2, 0.0)
    rates = np.where(known, _by_hour(bars.fees_usd / bars.liquidity_usd, last_bar), 0.0)
    day_hours, week_hours = (_trailing(known.astype(float), n) for n in (DAY_HOURS, WEEK_HOURS))
    enough = (day_hours >= FEWEST_DAY_HOURS) & (week_hours >= FEWEST_WEEK_HOURS)
    enough[:WEEK_HOURS] = False
    week_squares = _trailing(squares, WEEK_HOURS)
    with np.errstate(divide="ignore", invalid="ignore"):
        day = DAY_HOURS * _trailing(squares, DAY_HOURS) / day_hours
        sigma = np.sqrt((day + DAY_HOURS * week_squares / week_hours) / 2)
        risk = DAY_HOURS * week_squares / week_hours / 8
        edge = 8 * _trailing(rates, WEEK_HOURS) / week_squares
        liquidity = _trailing(_by_hour(bars.liquidity_usd, last_bar), WEEK_HOURS) / _trailing(
            np.diff(last_bar, prepend=-1).astype(float), WEEK_HOURS
        )
    for figures in (sigma, edge, risk, liquidity):
        figures[~enough] = np.nan
    edge[week_squares < _NO_MOVEMENT] = np.nan
    return BarHours(last_bar, broken, sigma, edge, risk, liquidity)


def _by_hour(values: Floats, last_bar: Indices) -> Floats:
    """The sum of each hour's bars."""
    running = np.concatenate(([0.0], np.cumsum(values)))[last_bar + 1]
    return np.diff(running, prepend=0.0)


def _trailing(values: Floats, hours: int) -> Floats:
    """The sum of so many hours up to each."""
    running = np.concatenate(([0.0], np.cumsum(values)))
    ends = np.arange(1, len(running))
    sums: Floats = running[ends] - running[np.maximum(ends - hours, 0)]
    return np.maximum(sums, 0.0)


def window_starts(hours: BarHours, window_hours: int) -> WindowStarts:
    """Consecutive windows without a gap, the next one after a gap starting where it ends."""
    starts: list[int] = []
    given_up = 0
    breaks = np.flatnonzero(hours.broken)
    known = np.flatnonzero(np.isfinite(hours.sigma))
    hour = 0
    while True:
        place = np.searchsorted(known, hour)
        if place == len(known) or known[place] + window_hours > hours.total:
            return WindowStarts(np.array(starts, dtype=np.int64), given_up)
        hour = int(known[place])
        inside = breaks[(breaks > hour) & (breaks <= hour + window_hours)]
        if inside.size:
            given_up += 1
            hour = _gap_end(hours.broken, int(inside[0]))
        else:
            starts.append(hour)
            hour += window_hours


def _gap_end(broken: Flags, hour: int) -> int:
    while hour + 1 < len(broken) and broken[hour + 1]:
        hour += 1
    return hour
