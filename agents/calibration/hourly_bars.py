"""Hours of a market as arrays, with how far each can be looked back and ahead without a gap."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

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
