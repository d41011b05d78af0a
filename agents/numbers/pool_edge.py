"""What a pool paid over its risk in the last seven days, by its hours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.numbers.advice import edge_ratio
from chain.base.quantity import Quantity, Unknown
from chain.history.fee_rate import HourSums, hour_sums
from chain.history.volatility import WEEK

if TYPE_CHECKING:
    from chain.history.hours import PoolHours


def week_edge(hours: PoolHours) -> Quantity[float]:
    return edge_of(hour_sums(hours, WEEK))


def edge_of(week: Quantity[HourSums]) -> Quantity[float]:
    """Unknown also where the price never moved: nothing was risked."""
    if isinstance(week, Unknown):
        return week
    edge = edge_ratio(week.value.fee_rate, week.value.squared_returns)
    if edge is None:
        return Unknown(f"the price did not move in the last {WEEK} hours")
    return week.map(lambda _: edge)
