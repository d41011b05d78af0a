"""When the market trades: seldom early in the week, often on its last day and ever after."""

from __future__ import annotations

from itertools import accumulate, count
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.units import DAY
from chain.devnet.world.market import HISTORY_ENDS, MARKET_OPENS, MINUTE, MarketVisit
from chain.devnet.world.phases import Mood

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.devnet.world.market import SimulatedMarket

DENSE_SECONDS = DAY
_DENSE_BEGINS = HISTORY_ENDS - DENSE_SECONDS

LIVE_BEAT = 120
_CALM_BEATS = 3
"""Live, the market trades on every third beat, and on every beat of a shock."""

_LIVE_INDEX = 1_000_000
"""Live visits are numbered from here, so that both sizes of history lead to the same market."""


class HistorySize(Struct, frozen=True):
    sparse_visits: int
    dense_visits: int
    most_swaps: int
    sparse_reach: int
    dense_reach: int
    """How far the crowd pushes, in percent of what it does live: fewer trades are larger ones."""
    closes_phases: bool
    """Whether arbitrage brings all pools to one price when a trend or a shock is over."""


WEEK_SIZE = HistorySize(
    sparse_visits=150,
    dense_visits=200,
    most_swaps=1_200,
    sparse_reach=260,
    dense_reach=120,
    closes_phases=True,
)
SMALL_SIZE = HistorySize(
    sparse_visits=16,
    dense_visits=24,
    most_swaps=150,
    sparse_reach=300,
    dense_reach=300,
    closes_phases=False,
)

# How much likelier a visit is in a minute of this mood: trading follows movement.
_SPARSE_WEIGHTS = {Mood.CALM: 1, Mood.TREND: 2, Mood.SHOCK: 10}
_DENSE_WEIGHTS = {Mood.CALM: 1, Mood.TREND: 1, Mood.SHOCK: 3}


def history_visits(size: HistorySize, market: SimulatedMarket) -> list[MarketVisit]:
    sparse = _spread(market, MARKET_OPENS, _DENSE_BEGINS, size.sparse_visits, _SPARSE_WEIGHTS)
    dense = _spread(market, _DENSE_BEGINS, HISTORY_ENDS, size.dense_visits, _DENSE_WEIGHTS)
    times = [(time, size.sparse_reach) for time in sparse]
    times += [(time, size.dense_reach) for time in dense]
    return [MarketVisit(index, time, reach) for index, (time, reach) in enumerate(times)]


def closing_times(size: HistorySize, market: SimulatedMarket) -> list[int]:
    """When every pool is brought to the market's price: at extremes, after commotions, at last."""
    minutes = list(market.path.early_extremes())
    if size.closes_phases:
        phases = market.path.calendar.until(market.minute(HISTORY_ENDS))
        minutes += [phase.end - 1 for phase in phases if phase.mood is not Mood.CALM]
    times = (MARKET_OPENS + minute * MINUTE for minute in sorted(minutes))
    return [*(time for time in times if time < HISTORY_ENDS), HISTORY_ENDS]


def live_visits(market: SimulatedMarket, after: int) -> Iterator[MarketVisit]:
    """The visits later than a time, for ever."""
    for number in count(max((after - HISTORY_ENDS) // LIVE_BEAT, 0)):
        time = HISTORY_ENDS + (number + 1) * LIVE_BEAT - _off_beat(number, LIVE_BEAT)
        due = number % _CALM_BEATS == 0 or market.phase(time).mood is Mood.SHOCK
        if time > after and due:
            yield MarketVisit(_LIVE_INDEX + number, time, reach=100)


def _spread(
    market: SimulatedMarket, start: int, end: int, visits: int, weights: dict[Mood, int]
) -> list[int]:
    """So many times between two, each as far from the last as its minutes' weights say."""
    minutes = range(start, end, MINUTE)
    sums = list(accumulate(weights[market.phase(time).mood] for time in minutes))
    due = (sums[-1] * (2 * number + 1) // (2 * visits) for number in range(visits))
    times: list[int] = []
    at = 0
    for number, weight in enumerate(due):
        while sums[at] <= weight:
            at += 1
        times.append(minutes[at] + MINUTE - 1 - _off_beat(number, MINUTE))
    return times


def _off_beat(number: int, interval: int) -> int:
    """Up to half an interval, by the golden ratio: irregular to the eye, never colliding."""
    return number * 618_034 % 1_000_000 * interval // 2_000_000
