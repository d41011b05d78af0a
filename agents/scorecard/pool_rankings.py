"""How well rankings of pools by their last days foretold what the pools paid next."""

from collections.abc import Mapping, Sequence
from statistics import StatisticsError, correlation

from msgspec import Struct

from agents.scorecard.pool_days import PoolDay, RankKey, window
from agents.scorecard.weeks import FEWEST_WEEKS, WeekInterval, by_week
from chain.base.units import DAY
from chain.contracts.pool_key import PoolId

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
