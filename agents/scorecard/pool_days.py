"""What each pool paid and risked, day by day.

Whole days of the calendar (UTC) are kept, so that any window can be added up and a look once a week
leaves no gap.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from math import log, sqrt
from statistics import StatisticsError, correlation
from typing import NamedTuple

from msgspec import Struct, to_builtins

from agents.numbers.advice import edge_ratio
from agents.scorecard.score import FEWEST_WEEKS, WeekInterval, by_week
from chain.base.store import Store, read_as
from chain.base.units import DAY
from chain.contracts.pool_key import PoolId
from chain.history.fee_rate import daily_rates
from chain.history.hours import PoolHours

VERSION = 1
_MOST_DAYS = 800
_NAMESPACE = "pool days"
_LOOKS = "pool days look"


class PoolDay(Struct, frozen=True, array_like=True):
    day: int
    """When it began, Unix seconds."""
    fee_rate: float
    """What a dollar of full-range worth was paid."""
    squared_returns: float
    """Of hourly closes: an eighth of it is what arbitrage took of such a dollar."""
    depth_usd: float | None = None
    """Liquidity within 2 %, where somebody looked in the day after."""


class _KeptDays(Struct, frozen=True):
    version: int
    days: tuple[PoolDay, ...]


class PoolWindow(NamedTuple):
    """Several days in a row."""

    fee_rate: float
    squared_returns: float
    days: int
    depth_usd: float | None

    @property
    def edge(self) -> float | None:
        return edge_ratio(self.fee_rate, self.squared_returns)

    @property
    def volatility(self) -> float:
        """A day's."""
        return sqrt(self.squared_returns / self.days)


class RankKey(StrEnum):
    PAYS = "pays"
    FEES = "fees"
    DEPTH = "depth"
    CALM = "calm"

    def of(self, window: PoolWindow) -> float | None:
        """The more, the higher a pool is ranked."""
        values = {
            RankKey.PAYS: window.edge,
            RankKey.FEES: window.fee_rate,
            RankKey.DEPTH: window.depth_usd,
            RankKey.CALM: -window.volatility,
        }
        return values[self]


class PoolDayStore:
    """The days of one network's pools.

    What another version wrote is neither read nor overwritten: it knows what it means.
    """

    def __init__(self, store: Store, chain_id: int, clock: Callable[[], float]) -> None:
        self._store = store
        self._chain_id = chain_id
        self._clock = clock

    def keep(self, pool_id: PoolId, days: Sequence[PoolDay]) -> None:
        """What is new of these; a day's depth is that of the first look after it."""
        key = f"{self._chain_id}/{pool_id}"
        if _merged(self._store.get(_NAMESPACE, key), days) is None:
            return

        def merge(stored: object | None) -> object:
            merged = _merged(stored, days)
            return stored if merged is None else to_builtins(merged)

        self._store.change(_NAMESPACE, key, merge, now=self._clock())

    def record_look(self) -> None:
        """Pools were looked at now, whoever did."""
        now = self._clock()
        self._store.put(_LOOKS, str(self._chain_id), now, now=now)

    def days(self) -> dict[PoolId, tuple[PoolDay, ...]]:
        found = {}
        for key, value in self._store.items(_NAMESPACE).items():
            chain, _, pool_id = key.partition("/")
            kept = read_as(_KeptDays, value)
            if chain == str(self._chain_id) and kept is not None and kept.version == VERSION:
                found[pool_id] = kept.days
        return found


def chains_to_look_at(store: Store, now: float) -> tuple[int, ...]:
    """Networks whose pools somebody has looked at, and nobody for a day."""
    looks = store.items(_LOOKS).items()
    return tuple(
        int(chain)
        for chain, time in looks
        if isinstance(time, int | float) and abs(now - time) > DAY and chain.isdigit()
    )


def _merged(stored: object | None, days: Sequence[PoolDay]) -> _KeptDays | None:
    """What is to be kept from now on; None where that is what is kept already."""
    kept = read_as(_KeptDays, stored)
    if stored is not None and (kept is None or kept.version != VERSION):
        return None
    by_day = {pool_day.day: pool_day for pool_day in (kept.days if kept else ())}
    news = [day for day in days if _is_news(by_day.get(day.day), day)]
    by_day |= {day.day: day for day in news}
    latest = tuple(by_day[day] for day in sorted(by_day)[-_MOST_DAYS:])
    return _KeptDays(VERSION, latest) if news else None


def _is_news(before: PoolDay | None, day: PoolDay) -> bool:
    return before is None or (before.depth_usd is None and day.depth_usd is not None)


def days_of(hours: PoolHours, depth_usd: float | None = None) -> tuple[PoolDay, ...]:
    """The whole days that were read since the pool's first swap; the depth is that of the last."""
    if hours.unread or not hours.rows:
        return ()
    first = max(hours.since, hours.rows[0].hour)
    first, end = -(-first // DAY) * DAY, hours.last.timestamp
    rates = daily_rates(hours.rows, first, end)
    squares = [0.0] * len(rates)
    for before, row in pairwise(hours.rows):
        place = (row.hour - first) // DAY
        if 0 <= place < len(squares):
            squares[place] += (2 * log(row.close / before.close)) ** 2
    last = len(rates) - 1
    return tuple(
        PoolDay(first + place * DAY, rate, square, depth_usd if place == last else None)
        for place, (rate, square) in enumerate(zip(rates, squares, strict=True))
    )


def window(days: Mapping[int, PoolDay], first: int, count: int) -> PoolWindow | None:
    """So many days from this one on; None where one of them is missing."""
    found = [days.get(first + place * DAY) for place in range(count)]
    known = [pool_day for pool_day in found if pool_day is not None]
    if len(known) < count:
        return None
    return PoolWindow(
        sum(pool_day.fee_rate for pool_day in known),
        sum(pool_day.squared_returns for pool_day in known),
        count,
        known[-1].depth_usd,
    )


RANKED_BY_DAYS = 7
NEXT_DAYS = (7, 28)
FEWEST_RANKINGS = FEWEST_WEEKS
"""With fewer of them nothing is claimed."""
_FEWEST_POOLS = 3


class RankingScore(Struct, frozen=True, rename="camel"):
    """How rankings by one figure of 7 days went with what pools paid over the next days."""

    by: RankKey
    next_days: int
    rankings: int
    """Of which no two look at the same days."""
    pools: tuple[int, int]
    """In the smallest and the largest of them."""
    correlation: WeekInterval | None
    """Of ranks: 1 is the same order, −1 the opposite; None with too few rankings for a claim."""


def ranking_scores(by_pool: Mapping[PoolId, Sequence[PoolDay]]) -> tuple[RankingScore, ...]:
    pools = [{day.day: day for day in days} for days in by_pool.values()]
    return tuple(_score(pools, key, days) for key in RankKey for days in NEXT_DAYS)


def _score(pools: Sequence[Mapping[int, PoolDay]], key: RankKey, days: int) -> RankingScore:
    correlations: list[float | None] = []
    sizes: list[int] = []
    next_day = 0
    for day in sorted({day for pool in pools for day in pool}):
        if day < next_day:
            continue
        pairs = [pair for pool in pools if (pair := _ranked_and_came(pool, key, day, days))]
        found = rank_correlation(pairs) if len(pairs) >= _FEWEST_POOLS else None
        if found is not None:
            correlations.append(found)
            sizes.append(len(pairs))
            next_day = day + days * DAY
    claimed = len(correlations) >= FEWEST_RANKINGS
    return RankingScore(
        key,
        days,
        len(correlations),
        (min(sizes, default=0), max(sizes, default=0)),
        by_week(correlations, range(len(correlations))) if claimed else None,
    )


def _ranked_and_came(
    pool: Mapping[int, PoolDay], key: RankKey, day: int, days: int
) -> tuple[float, float] | None:
    """What a pool was ranked by on the morning of a day, and what it paid from then on."""
    before = window(pool, day - RANKED_BY_DAYS * DAY, RANKED_BY_DAYS)
    after = window(pool, day, days)
    ranked = None if before is None else key.of(before)
    came = None if after is None else after.edge
    return None if ranked is None or came is None else (ranked, came)


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's; None where one side is all the same."""
    try:
        return correlation(*(_ranks(values) for values in zip(*pairs, strict=True)))
    except StatisticsError:
        return None


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1 on; equal ones share the mean of their places."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]
