"""Volatility as ranges feel it: the deviation of a day's log return, told in ticks."""

from __future__ import annotations

from agents.numbers.edges import TICK_LOG

STRESSES = (1, 2, 3)
"""Multiples of volatility at which every candidate's buffer is shown."""


def daily_ticks(daily_sigma: float) -> float:
    """Ticks per √day of a volatility given as the deviation of a day's log return."""
    return daily_sigma / TICK_LOG


def daily_sigma(ticks: float) -> float:
    """The deviation of a day's log return of a volatility given in ticks per √day."""
    return ticks * TICK_LOG
