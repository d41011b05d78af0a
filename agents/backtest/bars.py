"""Bars of a pool as people keep them in a table: price, its reach, fees and liquidity."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from chain.base.table_file import TableError, TimedTable, read_timed_table

if TYPE_CHECKING:
    from pathlib import Path

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
    for words, wrong in _faults(bars):
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


def _faults(bars: PoolBars) -> list[tuple[str, Flags]]:
    return [
        ("the price is not above zero", bars.price <= 0),
        ("the low is not above zero", bars.low <= 0),
        ("the low is over the high", bars.low > bars.high),
        ("the fees are below zero", bars.fees_usd < 0),
        ("the liquidity is not above zero", bars.liquidity_usd <= 0),
    ]
