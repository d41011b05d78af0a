"""What an option of a plan came to be worth: what it holds, what it earned, what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agents.numbers.advice import WIDE_HALF_WIDTH
from agents.numbers.edges import TICK_LOG
from agents.numbers.fees import diluted
from agents.numbers.outlook import Stake
from agents.numbers.range_replay import share_of_way
from agents.numbers.shapes import Shape, snapped_range
from agents.scorecard.price_course import ROOT_ONE
from chain.base.units import PIPS
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick

if TYPE_CHECKING:
    from agents.numbers.edges import TickRange
    from agents.scorecard.price_course import CourseHour, PriceCourse


class PlanOption(NamedTuple):
    """What could be done with what was there: a range or none, tokens beside it, and its gas."""

    stake: Stake | None
    beside: Amounts
    """In the wallet, or fees that were already earned."""
    gas1: float | None
    """In units of currency1; None is unknown."""


class EarnedFees(NamedTuple):
    fees0: float
    fees1: float

    def worth1(self, sqrt_price: int) -> float:
        return self.fees0 * price_of(sqrt_price) + self.fees1


def price_of(sqrt_price: int) -> float:
    """Units of currency1 for one of currency0."""
    return (sqrt_price / ROOT_ONE) ** 2


def worth1(amounts: Amounts, sqrt_price: int) -> float:
    return amounts.amount0 * price_of(sqrt_price) + amounts.amount1


def amounts_of(stake: Stake, sqrt_price: int) -> Amounts:
    """What liquidity pays when it is taken out."""
    lower, upper = (sqrt_price_at_tick(tick) for tick in stake.ticks)
    return amounts_for_liquidity(sqrt_price, lower, upper, stake.liquidity, round_up=False)


def earned_fees(course: PriceCourse, stake: Stake | None, in_pool: Stake | None) -> EarnedFees:
    """What a range was paid along the way.

    An hour pays by how much of the way between its lowest and highest price lies in the range. What
    was in the pool is taken to have been paid its part; any other range would have come in its
    place, and shares what was paid with everybody else's liquidity.
    """
    if stake is None:
        return EarnedFees(0.0, 0.0)
    fees0 = fees1 = 0.0
    for hour in course.hours:
        part = (
            stake.liquidity * _share_inside(hour, stake.ticks) * _share_left(hour, stake, in_pool)
        )
        fees0 += hour.growth0 * part
        fees1 += hour.growth1 * part
    return EarnedFees(fees0, fees1)


def worth_at_end(course: PriceCourse, option: PlanOption, in_pool: Stake | None) -> float | None:
    """In units of currency1, tokens at the pool's last price; None where its gas is unknown."""
    if option.gas1 is None:
        return None
    last = course.last
    held = Amounts(0, 0) if option.stake is None else amounts_of(option.stake, last)
    fees = earned_fees(course, option.stake, in_pool).worth1(last)
    return worth1(held, last) + worth1(option.beside, last) + fees - option.gas1


def wide_stake(
    available: Amounts, sqrt_price: int, tick: int, tick_spacing: int, fee_pips: int
) -> Stake:
    """All of it in a range of ±20 %, after a swap that pays the pool's fee and moves no price."""
    ticks = snapped_range(tick, Shape(1.0, 0), WIDE_HALF_WIDTH / TICK_LOG, tick_spacing)
    lower, upper = _roots(ticks)
    root, price = sqrt_price / ROOT_ONE, price_of(sqrt_price)
    # Of each currency for a unit of liquidity.
    need0, need1 = 1 / root - 1 / upper, root - lower
    kept = 1 - fee_pips / PIPS
    have0, have1 = available
    surplus = have0 * need1 - have1 * need0
    if surplus > 0:
        sold0 = surplus / (need1 + need0 * price * kept)
        return Stake(ticks, int((have0 - sold0) / need0))
    sold1 = -surplus / (need0 + need1 * kept / price)
    return Stake(ticks, int((have1 - sold1) / need1))


def _share_inside(hour: CourseHour, ticks: TickRange) -> float:
    return share_of_way(hour.low, hour.high, *_roots(ticks))


def _share_left(hour: CourseHour, stake: Stake, in_pool: Stake | None) -> float:
    """What is left of the hour's rate to a range that was not there."""
    if stake == in_pool:
        return 1.0
    own = 0.0 if in_pool is None else in_pool.liquidity * _share_inside(hour, in_pool.ticks)
    return diluted(hour.active, max(0.0, hour.active - own), stake.liquidity)


def _roots(ticks: TickRange) -> tuple[float, float]:
    return sqrt_price_at_tick(ticks.lower) / ROOT_ONE, sqrt_price_at_tick(ticks.upper) / ROOT_ONE
