"""A hedge over a price's course: what it takes off the result's scatter, and what that costs."""

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log
from random import Random
from statistics import NormalDist, fmean, pstdev
from typing import NamedTuple

from msgspec import Struct

from agents.trade.opinions import RangeExposure
from agents.trade.plan import HedgeOutlook
from chain.base.units import DAY, HOUR
from chain.exchange.public.margin import is_out_of_band
from chain.exchange.public.market import Candle

LOOK_HOURS = 4
"""Between two looks at whether the hedge is within its band."""
_WEEK_LOOKS = 7 * 24 // LOOK_HOURS
_PATHS = 256
_SEED = 28
"""The same position and market give the same outlook on every machine."""
_LEAST_HOURS = 48
_USUAL, _UNKNOWN = -0.05, 0.44
"""Median and deviation of ln(a week's volatility over that of ten days before), ETH 2017–20."""
_NORMAL = NormalDist()
_DIGITS = 3


class HedgedCourse(Struct, frozen=True):
    """In dollars, from the first price to the last; fees of the pool are not in it."""

    position: float
    hedge: float
    cost: float
    adjustments: int

    @property
    def result(self) -> float:
        return self.position + self.hedge - self.cost


def replay_hedge(
    exposure: RangeExposure, prices: Sequence[float], target: float, band: float | None, fee: float
) -> HedgedCourse:
    """Opened at the first price, brought back at each look that finds it off by more than the band.

    Without a band it is left alone. A fee is a fraction of what is traded.
    """
    first = prices[0]
    short = exposure.coins(first) * target
    cost, gained, adjustments, before = short * first * fee, 0.0, 0, first
    for price in prices[1:]:
        gained += short * (before - price)
        before = price
        wanted = exposure.coins(price) * target
        if band is not None and is_out_of_band(short, wanted, band):
            cost += abs(wanted - short) * price * fee
            short, adjustments = wanted, adjustments + 1
    cost += short * before * fee
    moved = exposure.worth(before) - exposure.worth(first)
    return HedgedCourse(moved, gained, cost, adjustments)


def hedge_outlook(
    exposure: RangeExposure,
    closes: Sequence[float],
    price: float,
    *,
    target: float,
    band: float,
    fee: float,
) -> HedgeOutlook | None:
    """A week of these hours' own moves, drawn again without a drift; None where they are few.

    How volatile the week will be is not known: each course has a volatility of its own.
    """
    moves = [log(after / before) for before, after in pairwise(closes)]
    if len(moves) < _LEAST_HOURS:
        return None
    looks = [sum(moves[at : at + LOOK_HOURS]) for at in range(len(moves) - LOOK_HOURS + 1)]
    # Whole days are drawn: what moves much goes on to.
    days = [looks[at : at + 24 : LOOK_HOURS] for at in range(len(looks) - 24 + LOOK_HOURS)]
    random, paths = Random(_SEED), []  # noqa: S311 - a drawn course, no secret
    for path in range(_PATHS // 2):
        scatter = _NORMAL.inv_cdf((path + 0.5) / (_PATHS // 2))
        scale = exp(_USUAL + _UNKNOWN * scatter)
        steps = [scale * look for _ in range(7) for look in random.choice(days)]
        # Each course with its mirror image, so that nothing drifts.
        paths += [_course(price, [sign * step for step in steps]) for sign in (1, -1)]
    alone = [replay_hedge(exposure, path, target, None, fee) for path in paths]
    adjusted = [replay_hedge(exposure, path, target, band, fee) for path in paths]
    unhedged = [course.position for course in alone]
    once, often = ([course.result for course in each] for each in (alone, adjusted))
    return HedgeOutlook(
        unhedged_usd=_short(pstdev(unhedged)),
        once_usd=_short(pstdev(once)),
        adjusted_usd=_short(pstdev(often)),
        unhedged_mean_usd=_short(fmean(unhedged)),
        once_mean_usd=_short(fmean(once)),
        adjusted_mean_usd=_short(fmean(often)),
        adjustments=_short(fmean([course.adjustments for course in adjusted])),
        once_cost_usd=_short(fmean([course.cost for course in alone])),
        adjusted_cost_usd=_short(fmean([course.cost for course in adjusted])),
    )


class PastWeek(NamedTuple):
    """Dollars, before the pool's fees and funding."""

    begun: int
    unhedged: float
    once: float
    adjusted: float


def past_weeks(
    exposure: RangeExposure,
    candles: Sequence[Candle],
    price: float,
    *,
    target: float,
    band: float,
    fee: float,
) -> tuple[PastWeek, ...]:
    """The same range around the price of then, on weeks that are over, the latest last."""
    found: list[PastWeek] = []
    end = len(candles) - 1
    while end >= _WEEK_LOOKS:
        part = candles[end - _WEEK_LOOKS : end + 1]
        prices = [candle.close for candle in part]
        there = exposure.at_times(prices[0] / price)
        alone = replay_hedge(there, prices, target, None, fee)
        adjusted = replay_hedge(there, prices, target, band, fee)
        begun = part[0].time + LOOK_HOURS * HOUR
        results = (_short(alone.position), _short(alone.result), _short(adjusted.result))
        found.append(PastWeek(begun, *results))
        end -= _WEEK_LOOKS
    return tuple(reversed(found))


def funding_days(
    funding: Sequence[tuple[int, float]], short_usd: float
) -> tuple[tuple[int, float], ...]:
    """What a short of this worth would have got on each day by UTC, below 0 paid."""
    days: dict[int, float] = {}
    for moment, rate in funding:
        day = moment // DAY * DAY
        days[day] = days.get(day, 0.0) + rate * short_usd
    return tuple((day, _short(dollars)) for day, dollars in sorted(days.items()))


def _course(price: float, steps: Sequence[float]) -> list[float]:
    course = [price]
    for step in steps:
        course.append(course[-1] * exp(step))
    return course


def _short(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")
