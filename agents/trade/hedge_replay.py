"""A hedge over a price's course: what it takes off the result's scatter, and what that costs."""

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log, sqrt
from random import Random
from statistics import fmean, pstdev

from msgspec import Struct

from agents.trade.opinions import RangeExposure
from agents.trade.plan import HedgeOutlook
from chain.exchange.public.margin import is_out_of_band
from chain.exchange.public.market import Candle

LOOK_HOURS = 4
"""Between two looks at whether the hedge is within its band."""
_WEEK_LOOKS = 7 * 24 // LOOK_HOURS
_PATHS = 128
_SEED = 28
"""The same position and market give the same outlook on every machine."""
_LEAST_HOURS = 48
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
    candles: Sequence[Candle],
    price: float,
    *,
    target: float,
    band: float,
    fee: float,
) -> HedgeOutlook | None:
    """A week of a price without drift, as volatile as these hours were; None where they are few."""
    closes = [candle.close for candle in candles]
    moves = [log(after / before) for before, after in pairwise(closes)]
    if len(moves) < _LEAST_HOURS:
        return None
    sigma = pstdev(moves) * sqrt(LOOK_HOURS)
    random = Random(_SEED)  # noqa: S311 - a drawn course, no secret
    steps = [[random.gauss(0.0, sigma) for _ in range(_WEEK_LOOKS)] for _ in range(_PATHS // 2)]
    # Each course with its mirror image, so that nothing drifts.
    paths = [_course(price, [sign * step for step in path]) for path in steps for sign in (1, -1)]
    alone = [replay_hedge(exposure, path, target, None, fee) for path in paths]
    adjusted = [replay_hedge(exposure, path, target, band, fee) for path in paths]
    return HedgeOutlook(
        unhedged_usd=_short(pstdev([course.position for course in alone])),
        once_usd=_short(pstdev([course.result for course in alone])),
        adjusted_usd=_short(pstdev([course.result for course in adjusted])),
        adjustments=_short(fmean([course.adjustments for course in adjusted])),
        once_cost_usd=_short(fmean([course.cost for course in alone])),
        adjusted_cost_usd=_short(fmean([course.cost for course in adjusted])),
    )


def _course(price: float, steps: Sequence[float]) -> list[float]:
    course = [price]
    for step in steps:
        course.append(course[-1] * exp(step))
    return course


def _short(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")
