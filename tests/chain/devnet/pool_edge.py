"""What a pool paid over what movement took from everyone in range, from its swaps alone."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import log
from typing import NamedTuple

from chain.base.units import HOUR

WEEK_HOURS = 168


class PoolTrade(NamedTuple):
    """One swap: where it left the price, and what it paid to providers, in the second token."""

    time: int
    sqrt_price: float
    fee: float
    liquidity: int


class PoolWeek(NamedTuple):
    """Both on the worth of a full range."""

    paid: float
    """Fees."""
    risk: float
    """An eighth of the squared hourly returns."""

    @property
    def edge(self) -> float:
        return self.paid / self.risk


def pool_week(trades: Sequence[PoolTrade], end: int) -> PoolWeek:
    """The last week before a time."""
    start = end - WEEK_HOURS * HOUR
    paid = sum(
        trade.fee / (2 * trade.liquidity * trade.sqrt_price)
        for trade in trades
        if start < trade.time <= end
    )
    times = [trade.time for trade in trades]
    # An hour without a swap ends where the one before it did.
    last = [max(bisect_right(times, hour) - 1, 0) for hour in range(start, end + 1, HOUR)]
    returns = [
        2 * log(trades[after].sqrt_price / trades[before].sqrt_price)
        for before, after in pairwise(last)
    ]
    return PoolWeek(paid, sum(each * each for each in returns) / 8)
