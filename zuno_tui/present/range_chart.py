"""A pool's prices through time with a position's range across them, in the prices people read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chain.math.ticks import sqrt_price_at_tick
from zuno_tui.present.views import ChartView

if TYPE_CHECKING:
    from chain.positions.identity import PositionIdentity
    from chain.tokens.pair import Pair


def range_chart(
    pair: Pair, identity: PositionIdentity, points: Sequence[tuple[int, int]]
) -> ChartView | None:
    """Times and square-root prices, oldest first; None where decimals are unknown."""
    ticks = identity.tick_lower, identity.tick_upper
    edges = [price_figure(pair, sqrt_price_at_tick(tick)) for tick in ticks]
    known = sorted(edge for edge in edges if edge is not None)
    if len(known) != len(ticks) or not points:
        return None
    return ChartView(
        times=tuple(float(time) for time, _ in points),
        prices=tuple(price_figure(pair, price) or 0.0 for _, price in points),
        low=known[0],
        high=known[1],
    )


def price_figure(pair: Pair, sqrt_price: int) -> float | None:
    price = pair.price(sqrt_price)
    return None if price is None else price.value
