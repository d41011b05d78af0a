"""What happened to a pool over whole hours after a plan: where the price went and what it paid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from chain.base.units import DAY, HOUR
from chain.history.hours import HourRow, hour_of
from chain.math.ticks import sqrt_price_at_tick

if TYPE_CHECKING:
    from agents.numbers.edges import TickRange

ROOT_ONE = float(1 << 96)


class JudgedHours(NamedTuple):
    """From the first full hour after a plan to as many days later, Unix seconds.

    Whole hours, because swaps are kept by the hour: whenever it is judged, the result is the same.
    """

    begin: int
    end: int


class CourseHour(NamedTuple):
    """An hour in which somebody swapped; prices are square roots, as plain numbers."""

    low: float
    high: float
    """What was reached since the hour before ended."""
    growth0: float
    growth1: float
    """What a unit of liquidity earned wherever the price went; so is `growth0`."""
    active: float
    """The liquidity the hour's fees were paid to."""


class PriceCourse(NamedTuple):
    first: int
    """The price a plan was made at, a square root as the contract keeps it; so is `last`."""
    last: int
    low: int
    high: int
    """The lowest and highest of all that was reached from then to the end."""
    hours: tuple[CourseHour, ...]

    def stays_in(self, ticks: TickRange) -> bool:
        """Whether the price never left a range; at its upper edge it is outside."""
        lowest, above = sqrt_price_at_tick(ticks.lower), sqrt_price_at_tick(ticks.upper)
        return lowest <= self.low and self.high < above


def judged_hours(made_at: int, days: int) -> JudgedHours:
    begin = -(-made_at // HOUR) * HOUR
    return JudgedHours(begin, begin + days * DAY)


def price_course(sqrt_price: int, made_at: int, days: int, rows: Sequence[HourRow]) -> PriceCourse:
    """From the price of a plan on; what was swapped in the rest of its hour moves only the price.

    `rows` have every hour with a swap since the plan was made.
    """
    begin, end = judged_hours(made_at, days)
    before = [row.close for row in rows if hour_of(made_at) <= row.hour < begin]
    opening = before[-1] if before else sqrt_price
    within = [row for row in rows if begin <= row.hour < end]
    hours = []
    start = opening
    for row in within:
        hours.append(_course_hour(row, start))
        start = row.close
    return PriceCourse(
        first=sqrt_price,
        last=start,
        low=min(sqrt_price, opening, *(row.low for row in within)),
        high=max(sqrt_price, opening, *(row.high for row in within)),
        hours=tuple(hours),
    )


def _course_hour(row: HourRow, start: int) -> CourseHour:
    root = row.close / ROOT_ONE
    growth = row.growth0 * root + row.growth1 / root
    paid = row.fees0 * root + row.fees1 / root
    return CourseHour(
        low=min(row.low, start) / ROOT_ONE,
        high=max(row.high, start) / ROOT_ONE,
        growth0=row.growth0,
        growth1=row.growth1,
        active=paid / growth if growth > 0 else 0.0,
    )
