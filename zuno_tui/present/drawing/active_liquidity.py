"""The liquidity around a pool's price as points to draw."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick

if TYPE_CHECKING:
    from chain.pools.depth import Depth
    from chain.tokens.pair import Pair

_STRETCHES = 96


def liquidity_points(pair: Pair, depth: Depth, reach: int) -> tuple[tuple[float, float], ...]:
    """Price and the liquidity active there, the lowest price first; none without decimals."""
    tick = depth.state.tick
    lowest = max(tick - reach, depth.lowest, MIN_TICK)
    highest = min(tick + reach, depth.highest, MAX_TICK)
    steps = [step for step in depth.steps() if step[0] < step[1]]
    starts = [start for start, _, _ in steps]
    points = []
    for place in range(_STRETCHES + 1):
        at = lowest + (highest - lowest) * place // _STRETCHES
        price = pair.price(sqrt_price_at_tick(at))
        if price is None:
            return ()
        _, end, liquidity = steps[max(0, bisect_right(starts, at) - 1)]
        points.append((price.value, float(liquidity if at < end else 0)))
    return tuple(sorted(points))
