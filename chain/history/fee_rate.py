"""What a pool paid for its liquidity, and how that compares with what arbitrage took."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, NamedTuple

from chain.base.quantity import Known, Quantity, Unknown
from chain.base.units import DAY, HOUR
from chain.history.hours import NOTHING_BEFORE, HourRow, PoolHours, hour_of, paid_fees
from chain.history.path import LEAST_COVERED

if TYPE_CHECKING:
    from chain.history.flows import FeeTerms


class HourSums(NamedTuple):
    """Over the same whole hours of the calendar, the last of which may still go on."""

    seconds: int
    fee_rate: float
    """Σ fee/(2·L·√P), fees in currency1."""
    squared_returns: float
    """Σ r², r the change of ln P from one hour's end to the next."""
    swaps: int


def hour_sums(hours: PoolHours, count: int) -> Quantity[HourSums]:
    """Of the last so many hours; unknown where the swaps do not reach back far enough."""
    end = hours.last.timestamp
    begin = hour_of(end) - (count - 1) * HOUR
    first = max(begin, hours.rows[0].hour) if hours.rows else end
    covered = (end - first) // HOUR
    if covered < LEAST_COVERED * (count - 1):
        return Unknown(f"the pool's swaps reach back {covered} of {count} hours")
    rows = [row for row in hours.rows if row.hour >= begin]
    if not rows:
        return Unknown(f"nobody swapped in the last {count} hours")
    closes = [*(row.close for row in hours.rows if row.hour < begin)][-1:]
    closes += (row.close for row in rows)
    returns = (2 * log(after / before) for before, after in pairwise(closes))
    sums = HourSums(
        seconds=end - first,
        fee_rate=sum(row.fee_rate for row in rows),
        squared_returns=sum(change * change for change in returns),
        swaps=sum(row.swaps for row in rows),
    )
    return Known(sums, f"{sums.swaps} pool swaps by the hour", hours.last.number, float(end))


def last_day_rate(hours: PoolHours, terms: FeeTerms) -> float:
    """Σ fee/(2·L·√P) of the swaps of the last 24 hours to the second."""
    begin = hours.last.timestamp - DAY
    rate, before = 0.0, NOTHING_BEFORE
    for one in hours.recent:
        if one.time > begin:
            rate += paid_fees(one, terms, before).rate
        before = before.after(one)
    return rate


def daily_rates(rows: Sequence[HourRow], since: int, until: int) -> list[float]:
    """Σ fee/(2·L·√P) of each whole day of the calendar between two times, oldest first."""
    first = -(-since // DAY) * DAY
    by_day = dict.fromkeys(range(first, until - DAY + 1, DAY), 0.0)
    for row in rows:
        begin = row.hour - row.hour % DAY
        if begin in by_day:
            by_day[begin] += row.fee_rate
    return [*by_day.values()]
