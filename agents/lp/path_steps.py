"""The way a price went, from how it travels to how a range is taken along it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.numbers.range_replay import PathStep

if TYPE_CHECKING:
    from agents.lp.facts import PricePathFacts

ROOT_PARTS = 10**12
RATE_PARTS = 10**18
_ROOT_ONE = 1 << 96


def path_steps(path: PricePathFacts, sqrt_price_x96: int) -> tuple[PathStep, ...]:
    """The steps of a path whose roots are told against this present one."""
    now = sqrt_price_x96 / _ROOT_ONE

    def root(parts: int) -> float:
        return now * (1 + parts / ROOT_PARTS)

    steps = []
    opening = root(path.opening)
    for age, close, low, high, rate, liquidity in path.steps:
        step = PathStep(
            age=age,
            opening=opening,
            close=root(close),
            low=root(low),
            high=root(high),
            fee_rate=rate / RATE_PARTS,
            liquidity=float(liquidity * path.liquidity_unit),
        )
        steps.append(step)
        opening = step.close
    return tuple(steps)
