"""When the market trades: seldom early in the week, often on its last day and ever after."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from msgspec import Struct

from chain.base.units import DAY, HOUR
from chain.devnet.world.market import (
    DENSE_BEGINS,
    HISTORY_ENDS,
    MARKET_OPENS,
    MINUTE,
    MarketVisit,
    SimulatedMarket,
)
from chain.devnet.world.phases import Mood
from chain.devnet.world.pools import POOLS, WETH_USDC, DevnetPool

LIVE_BEAT = 120
_CALM_BEATS = 3
"""Live, the market trades on every third beat, and on every beat of a shock."""

_LIVE_INDEX = 1_000_000
"""Live visits are numbered from here, so that both sizes of history lead to the same market."""


class HistorySize(Struct, frozen=True):
    sparse_seconds: int
    """Between two visits of the first six days."""
    dense_seconds: int
    most_swaps: int
    largest_reach: int
    """How far the crowd pushes at most, in ticks: fewer trades are larger ones."""


WEEK_SIZE = HistorySize(
    sparse_seconds=HOUR, dense_seconds=HOUR // 4, most_swaps=1_200, largest_reach=120
)
SMALL_SIZE = HistorySize(
    sparse_seconds=6 * HOUR, dense_seconds=HOUR, most_swaps=340, largest_reach=500
)


def history_visits(size: HistorySize) -> list[MarketVisit]:
    times = [
        *_beats(MARKET_OPENS, DENSE_BEGINS, size.sparse_seconds),
        *_beats(DENSE_BEGINS, HISTORY_ENDS, size.dense_seconds),
    ]
    days = [(time - MARKET_OPENS) // DAY for time in times]
    return [
        MarketVisit(index, time, days[index:].count(days[index]), size.largest_reach)
        for index, time in enumerate(times)
    ]


class MarketClosing(NamedTuple):
    """When pools are brought to the market's price, however little it pays."""

    time: int
    pools: tuple[DevnetPool, ...]


def market_closings(market: SimulatedMarket) -> list[MarketClosing]:
    """The extremes, in the pool where the demo wallet's ranges wait for them; and the end."""
    minutes = sorted(market.path.early_extremes())
    extremes = [MarketClosing(MARKET_OPENS + minute * MINUTE, (WETH_USDC,)) for minute in minutes]
    return [*extremes, MarketClosing(HISTORY_ENDS, POOLS)]


def live_visits(market: SimulatedMarket, after: int) -> Iterator[MarketVisit]:
    """The visits later than a time, for ever."""
    for number in count(max((after - HISTORY_ENDS) // LIVE_BEAT, 0)):
        time = HISTORY_ENDS + (number + 1) * LIVE_BEAT - 1 - _off_beat(number, LIVE_BEAT)
        due = (number + 1) % _CALM_BEATS == 0 or market.phase(time).mood is Mood.SHOCK
        if time > after and due:
            left = 1 + (HISTORY_ENDS - time) % DAY // (_CALM_BEATS * LIVE_BEAT)
            yield MarketVisit(_LIVE_INDEX + number, time, left, WEEK_SIZE.largest_reach)


def _beats(start: int, end: int, interval: int) -> list[int]:
    """A time within the last minute of each interval, so that an hour closes near the market."""
    ends = range(start + interval, end + 1, interval)
    return [over - 1 - _off_beat(number, MINUTE) for number, over in enumerate(ends)]


def _off_beat(number: int, interval: int) -> int:
    """Up to half an interval, by the golden ratio: irregular to the eye, never colliding."""
    return number * 618_034 % 1_000_000 * interval // 2_000_000
