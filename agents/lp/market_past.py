"""What a price's way tells an adviser: its trend, each day's edge, when a range was left."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple

from agents.lp.path_steps import path_steps
from agents.numbers.advice import edge_ratio
from chain.math.ticks import sqrt_price_at_tick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.lp.facts import MarketContext, ObservedPool, PricePathFacts
    from agents.numbers.range_replay import PathStep

_DAY = 86_400
_HOUR = 3_600
_ROOT_ONE = 1 << 96


class PriceMoves(NamedTuple):
    """By which part TOKEN0's price in TOKEN1 rose, or fell below nothing; None is unknown."""

    day: float | None
    week: float | None


class RangeLeft(NamedTuple):
    """When the price was last inside a range."""

    hours: float
    """Ago; at least so many where it was never seen inside."""
    seen_inside: bool


def price_moves(observed: ObservedPool) -> PriceMoves:
    return PriceMoves(_moved(observed, observed.day_path), _moved(observed, observed.week_path))


def daily_edges(observed: ObservedPool) -> tuple[float, ...]:
    """What the pool paid over what arbitrage took, day by day, the oldest first."""
    if observed.week_path is None:
        return ()
    steps = path_steps(observed.week_path, observed.pool.sqrt_price_x96)
    days: dict[int, list[PathStep]] = {}
    for step in steps:
        days.setdefault(step.age // _DAY, []).append(step)
    edges = (_edge(days[age]) for age in sorted(days, reverse=True))
    return tuple(edge for edge in edges if edge is not None)


def range_left(context: MarketContext) -> RangeLeft | None:
    """When the price left the range that is held; None where it is inside, or nobody knows."""
    position, observed = context.position, context.observed
    if position.tick_lower <= observed.pool.tick < position.tick_upper:
        return None
    low, high = (
        sqrt_price_at_tick(tick) / _ROOT_ONE for tick in (position.tick_lower, position.tick_upper)
    )
    seen_for = None
    for path in (observed.day_path, observed.week_path):
        steps = () if path is None else path_steps(path, observed.pool.sqrt_price_x96)
        for step in reversed(steps):
            if step.high >= low and step.low <= high:
                return RangeLeft(step.age / _HOUR, seen_inside=True)
        seen_for = max(seen_for or 0.0, steps[0].age / _HOUR) if steps else seen_for
    return None if seen_for is None else RangeLeft(seen_for, seen_inside=False)


def _moved(observed: ObservedPool, path: PricePathFacts | None) -> float | None:
    if path is None:
        return None
    steps = path_steps(path, observed.pool.sqrt_price_x96)
    now = observed.pool.sqrt_price_x96 / _ROOT_ONE
    return (now / steps[0].opening) ** 2 - 1 if steps else None


def _edge(steps: Sequence[PathStep]) -> float | None:
    squares = sum((2 * log(step.close / step.opening)) ** 2 for step in steps)
    return edge_ratio(sum(step.fee_rate for step in steps), squares)
