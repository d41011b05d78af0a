"""What a pool paid for its liquidity, or a range in it, and how that compares with arbitrage."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log
from typing import NamedTuple

from chain.base.units import DAY, HOUR, Known, Quantity, Unknown
from chain.history.events import FeeTerms
from chain.history.hours import HourRow, PoolHours, PoolMoment, hour_of, paid_fees
from chain.history.volatility import LEAST_COVERED


class HourSums(NamedTuple):
    """Over the same whole hours of the calendar, the last of which may still go on."""

    seconds: int
    fee_rate: float
    """What the full-range worth of liquidity earned of itself."""
    squared_returns: float
    """Σ r², r the change of ln P from one hour's end to the next."""
    swaps: int
    fees0: int
    """What liquidity providers were paid in the pool's coins, the protocol's part left out."""
    fees1: int


def hour_sums(hours: PoolHours, count: int) -> Quantity[HourSums]:
    """Of the last so many hours; unknown where the swaps do not reach back far enough."""
    if hours.unread:
        return Unknown(hours.unread)
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
        fees0=sum(row.fees0 for row in rows),
        fees1=sum(row.fees1 for row in rows),
    )
    return Known(sums, f"{sums.swaps} pool swaps by the hour", hours.last.number, float(end))


def last_day_rate(hours: PoolHours, terms: FeeTerms) -> float:
    """What the full-range worth earned of itself in the last 24 hours to the second."""
    begin = hours.last.timestamp - DAY
    closes = [row.close for row in hours.rows if row.hour < hours.recent_since]
    rate, before = 0.0, PoolMoment(closes[-1] if closes else hours.opening)
    for swap in hours.recent:
        if swap.time > begin:
            rate += paid_fees(swap, terms, before).rate
        before = before.after(swap)
    return rate


def daily_rates(rows: Sequence[HourRow], since: int, until: int) -> list[float]:
    """What the full-range worth earned of itself, each whole day between two times."""
    first = -(-since // DAY) * DAY
    by_day = dict.fromkeys(range(first, until - DAY + 1, DAY), 0.0)
    for row in rows:
        begin = row.hour - row.hour % DAY
        if begin in by_day:
            by_day[begin] += row.fee_rate
    return [*by_day.values()]


_FINER = 64
"""Bits kept below one unit while steps add up."""


class LiquidityRange(NamedTuple):
    """Liquidity between two square-root prices."""

    sqrt_lower: int
    sqrt_upper: int
    liquidity: int

    def clamp(self, sqrt_price: int) -> int:
        return min(max(sqrt_price, self.sqrt_lower), self.sqrt_upper)


def realised_lvr(sqrt_prices: Iterable[int], held: LiquidityRange) -> int:
    """Loss-versus-rebalancing along these prices, in units of currency1.

    Each step loses V(p₀) + x(p₀)·(p₁ − p₀) − V(p₁): what the position is worth less than the
    same tokens left alone. With c the price's root held within the range this is
    L·(c₁ − c₀)·(s₁² − c₀c₁)/(c₀c₁), never negative. The finer the steps, the more noise that
    reverts is counted as loss: hourly closes measure the market, every swap the pool.
    """
    total = 0
    for before, after in pairwise(sqrt_prices):
        start, end = held.clamp(before), held.clamp(after)
        moved = held.liquidity * (end - start) * (after * after - start * end)
        total += (moved << _FINER) // (start * end << 96)
    return total + (1 << _FINER - 1) >> _FINER
