"""What a range would have earned and lost, had it been in the pool while this happened.

Nothing is modelled: a range is taken along the way the price really went. Each step paid a unit of
liquidity so much wherever the price passed through it; the range has its part of the step's way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import exp
from typing import TYPE_CHECKING, NamedTuple

from agents.numbers.edges import TICK_LOG

if TYPE_CHECKING:
    from agents.numbers.outlook import Stake

_HOUR = 3_600


class PathStep(NamedTuple):
    """A swap, or several in a row; roots are square roots of the price."""

    age: int
    """Seconds between its end and the end of the path."""
    opening: float
    close: float
    low: float
    high: float
    """The lowest and highest root on its way, its opening included."""
    fee_rate: float
    """What it paid for the full-range worth of liquidity it passed through, as a part of it."""
    liquidity: float
    """That it met, whoever held it."""


class RangeReplay(NamedTuple):
    """In units of currency1, over the whole path."""

    fees: float
    lvr: float
    """By the prices at the ends of hours: what the market took."""
    in_range_share: float
    """Of the way the price went."""
    steps: int

    @property
    def net(self) -> float:
        return self.fees - self.lvr


class _Roots(NamedTuple):
    lower: float
    upper: float


def replay_range(steps: Sequence[PathStep], stake: Stake, held: Stake | None = None) -> RangeReplay:
    """A stake along a path; `held` is what of the path's liquidity was the person's own.

    Where the stake is what was held its fees are its part of what was paid; any other would have
    shared with all who were there but the one it replaces.
    """
    edges = _roots(stake)
    left = None if held is None or held == stake else _roots(held)
    unchanged = stake == held
    fees = inside = way = 0.0
    for _, _, close, low, high, fee_rate, liquidity in steps:
        moved = high - low
        way += moved
        part = share_of_way(low, high, *edges)
        if not part:
            continue
        inside += moved * part
        others = liquidity
        if held is not None and left is not None and left.lower <= close < left.upper:
            others = max(0.0, others - held.liquidity)
        # What a step paid in sum stays the same, and is shared by more.
        diluted = 1.0 if unchanged else _part_of(liquidity, others + stake.liquidity)
        fees += 2 * stake.liquidity * close * fee_rate * part * diluted
    opening = [step.opening for step in steps[:1]]
    return RangeReplay(
        fees=fees,
        lvr=loss_along([*opening, *_hourly(steps)], stake),
        in_range_share=inside / way if way else 0.0,
        steps=len(steps),
    )


def share_of_way(low: float, high: float, lower: float, upper: float) -> float:
    """How much of the way between two prices lies in a range."""
    if low == high:
        return float(lower <= low < upper)
    if lower <= low and high <= upper:
        return 1.0
    if high <= lower or upper <= low:
        return 0.0
    return (min(high, upper) - max(low, lower)) / (high - low)


def _part_of(liquidity: float, whole: float) -> float:
    return liquidity / whole if whole else 0.0


def _hourly(steps: Sequence[PathStep]) -> Iterator[float]:
    """The root at the end of each hour back from the end of the path."""
    for step, after in pairwise(steps):
        if -(-step.age // _HOUR) != -(-after.age // _HOUR):
            yield step.close
    for step in steps[-1:]:
        yield step.close


def loss_along(roots: Sequence[float], stake: Stake) -> float:
    """Each move loses L·(c₁ − c₀)·(s₁² − c₀c₁)/(c₀c₁), c being s held within the range."""
    lower, upper = _roots(stake)
    total, start = 0.0, min(max(roots[0], lower), upper) if roots else 0.0
    for root in roots[1:]:
        end = min(max(root, lower), upper)
        if end != start:
            total += (end - start) * (root * root - start * end) / (start * end)
            start = end
    return stake.liquidity * total


def _roots(stake: Stake) -> _Roots:
    return _Roots(exp(stake.ticks.lower * TICK_LOG / 2), exp(stake.ticks.upper * TICK_LOG / 2))
