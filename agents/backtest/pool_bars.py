"""Bars of a pool from its own swaps by the hour."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from agents.backtest.hours import FEWEST_BARS, PoolBars
from agents.backtest.report import BacktestError
from chain.base.units import HOUR

if TYPE_CHECKING:
    from chain.history.hours import HourRow, PoolHours

_ROOT_ONE = float(1 << 96)


class BarUnits(NamedTuple):
    """How a pool's integers become prices and dollars."""

    decimals0: int
    decimals1: int
    inverted: bool
    """Whether prices are told as token0 per token1, token0 being the money."""
    money_usd: float
    """What one whole token of the money is worth: token1, or token0 where inverted."""


class _Bar(NamedTuple):
    end: float
    price: float
    low: float
    high: float
    fees_usd: float
    liquidity_usd: float


def bars_of_hours(hours: PoolHours, units: BarUnits, since: int = 0) -> PoolBars:
    """An hour a bar, from the first with fees since then to the last that is over.

    Liquidity is what the hour's fees were paid to, Σ fee ÷ Σ fee/(2L√P). In an hour without a swap
    price and liquidity stay, and no fees are paid.
    """
    rows = {row.hour: row for row in hours.rows}
    first = next((row.hour for row in hours.rows if row.hour >= since and row.fee_rate > 0), None)
    bars: list[_Bar] = []
    if first is not None:
        for hour in range(first, hours.last.timestamp - HOUR + 1, HOUR):
            bars.append(_bar(hour, rows.get(hour), bars[-1] if bars else None, units))
    if len(bars) < FEWEST_BARS:
        raise BacktestError(
            "The pool had no two hours of swaps in this time. Name a busier pool, or more --days."
        )
    return PoolBars(*np.array(bars, dtype=np.float64).T.copy())


def _bar(hour: int, row: HourRow | None, before: _Bar | None, units: BarUnits) -> _Bar:
    end = float(hour + HOUR)
    if row is None:
        assert before is not None  # the first hour has a row
        return _Bar(end, before.price, before.price, before.price, 0.0, before.liquidity_usd)
    close = _price(row.close, units)
    reached = [close, _price(row.low, units), _price(row.high, units)]
    if before is not None:
        reached.append(before.price)
    fees = _fees_usd(row, units)
    liquidity = fees / row.fee_rate if row.fee_rate > 0 else None
    if liquidity is None:
        assert before is not None  # the first hour paid fees
        liquidity = before.liquidity_usd
    return _Bar(end, close, min(reached), max(reached), fees, liquidity)


def _price(sqrt_price_x96: int, units: BarUnits) -> float:
    """Whole tokens of the money for one of the other."""
    plain = (sqrt_price_x96 / _ROOT_ONE) ** 2 * 10.0 ** (units.decimals0 - units.decimals1)
    return 1 / plain if units.inverted else plain


def _fees_usd(row: HourRow, units: BarUnits) -> float:
    price = _price(row.close, units)
    fees0, fees1 = row.fees0 / 10.0**units.decimals0, row.fees1 / 10.0**units.decimals1
    money = fees0 + fees1 * price if units.inverted else fees0 * price + fees1
    return money * units.money_usd
