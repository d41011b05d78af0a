"""The way a pool's price went, small enough to travel with every message of a debate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.lp.facts import PricePathFacts
from agents.lp.path_steps import RATE_PARTS, ROOT_PARTS
from chain.base.units import HOUR
from chain.history.hours import NOTHING_BEFORE, HourRow, PoolHours, PoolMoment, hour_of, paid_fees
from chain.history.volatility import WEEK

if TYPE_CHECKING:
    from chain.history.flows import FeeTerms

MOST_STEPS = 1_000
"""Of the day's swaps in all pools of a context: twelve pools must fit into one envelope."""

_LIQUIDITY_PARTS = 10**6
_ROOT_ONE = 1 << 96


def day_path(
    hours: PoolHours, terms: FeeTerms, sqrt_price_x96: int, most: int
) -> PricePathFacts | None:
    """Swap by swap; where there are more than so many, several in a row are one step."""
    end, day = hours.last.timestamp, hours.last_day()
    if not day:
        return None
    older = [row.close for row in hours.rows if row.hour < hours.recent_since][-1:]
    before = PoolMoment(older[0]) if older else NOTHING_BEFORE
    for one in hours.recent[: len(hours.recent) - len(day)]:
        before = before.after(one)
    opening = before.sqrt_price_x96 or day[0].sqrt_price_x96
    at_once = -(-len(day) // most)
    steps = []
    for place in range(0, len(day), at_once):
        together = day[place : place + at_once]
        roots = [before.sqrt_price_x96 or together[0].sqrt_price_x96]
        growth = met = 0.0
        for one in together:
            paid = paid_fees(one, terms, before)
            rate = _rate(paid.growth0, paid.growth1, one.sqrt_price_x96)
            growth, met = growth + rate, met + rate * (one.liquidity or before.liquidity)
            roots.append(one.sqrt_price_x96)
            before = before.after(one)
        liquidity = met / growth if growth else before.liquidity
        steps.append(
            (end - together[-1].time, roots[-1], min(roots), max(roots), growth, liquidity)
        )
    return _path(opening, sqrt_price_x96, len(day), steps)


def week_path(hours: PoolHours, sqrt_price_x96: int) -> PricePathFacts | None:
    """The last 168 hours of the calendar in which anybody swapped, a step each."""
    end = hours.last.timestamp
    begin = hour_of(end) - (WEEK - 1) * HOUR
    rows = [row for row in hours.rows if row.hour >= begin]
    if not rows:
        return None
    older = [row.close for row in hours.rows if row.hour < begin][-1:]
    opening = older[0] if older else rows[0].close
    steps, before = [], opening
    for row in rows:
        ended = max(0, end - (row.hour + HOUR - 1))
        growth = _rate(row.growth0, row.growth1, row.close)
        low, high = min(before, row.low), max(before, row.high)
        steps.append((ended, row.close, low, high, growth, _met(row, growth)))
        before = row.close
    return _path(opening, sqrt_price_x96, sum(row.swaps for row in rows), steps)


def _path(
    opening: int,
    sqrt_price_x96: int,
    swaps: int,
    steps: Sequence[tuple[int, int, int, int, float, float]],
) -> PricePathFacts:
    def parts(root: int) -> int:
        return (root - sqrt_price_x96) * ROOT_PARTS // sqrt_price_x96

    unit = max(1, int(max(step[5] for step in steps)) // _LIQUIDITY_PARTS)
    return PricePathFacts(
        opening=parts(opening),
        liquidity_unit=unit,
        swaps=swaps,
        steps=tuple(
            (
                age,
                parts(close),
                parts(low),
                parts(high),
                round(rate * RATE_PARTS),
                int(liquidity) // unit,
            )
            for age, close, low, high, rate, liquidity in steps
        ),
    )


def _rate(growth0: float, growth1: float, sqrt_price_x96: int) -> float:
    """What liquidity was paid as a part of its full-range worth, by the way of the price."""
    root = sqrt_price_x96 / _ROOT_ONE
    return (growth0 * root + growth1 / root) / 2


def _met(row: HourRow, growth: float) -> float:
    """The liquidity that swaps of an hour met: what was paid over what a unit of it was paid."""
    root = row.close / _ROOT_ONE
    paid = row.fees0 * root + row.fees1 / root
    return paid / (2 * growth) if growth else 0.0
