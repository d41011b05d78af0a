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
    now, unit = sqrt_price_x96 / _ROOT_ONE, path.liquidity_unit
    steps = []
    opening = now * (1 + path.opening / ROOT_PARTS)
    for age, closed, low, high, rate, liquidity in path.steps:
        close = now * (1 + closed / ROOT_PARTS)
        steps.append(
            PathStep(
                age,
                opening,
                close,
                now * (1 + low / ROOT_PARTS),
                now * (1 + high / ROOT_PARTS),
                rate / RATE_PARTS,
                float(liquidity * unit),
            )
        )
        opening = close
    return tuple(steps)
