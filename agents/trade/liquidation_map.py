"""Where leveraged positions would be liquidated, estimated from what was traded and where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from chain.exchange.public.market import Candle

_LEVERAGES = (10, 20, 50)
"""What people trade with, by assumption: venues tell nobody."""
_BAND = 0.0025
"""Of the price, how wide one pool is."""
_FARTHEST = 0.12


class LiquidationPool(NamedTuple):
    price: float
    """The middle of the band."""
    coins: float
    """Of what was traded; an estimate."""


def liquidation_map(candles: Sequence[Candle], mark: float) -> tuple[LiquidationPool, ...]:
    """Below the mark longs, above it shorts; what the price has passed since is gone."""
    width = mark * _BAND
    pools: dict[int, float] = defaultdict(float)
    lowest, highest = mark, mark
    for candle in reversed(candles):
        typical = (candle.high + candle.low + candle.close) / 3
        share = candle.volume / len(_LEVERAGES) / 2
        for leverage in _LEVERAGES:
            below, above = typical * (1 - 1 / leverage), typical * (1 + 1 / leverage)
            if below < lowest and below > mark * (1 - _FARTHEST):
                pools[int(below // width)] += share
            if above > highest and above < mark * (1 + _FARTHEST):
                pools[int(above // width)] += share
        lowest, highest = min(lowest, candle.low), max(highest, candle.high)
    return tuple(
        LiquidationPool((place + 0.5) * width, coins)
        for place, coins in sorted(pools.items())
        if coins > 0
    )


def largest_pools(
    pools: Sequence[LiquidationPool], mark: float
) -> tuple[LiquidationPool | None, LiquidationPool | None]:
    """The largest below the mark and the largest above it."""
    below = [one for one in pools if one.price < mark]
    above = [one for one in pools if one.price > mark]
    return (
        max(below, key=lambda one: one.coins, default=None),
        max(above, key=lambda one: one.coins, default=None),
    )
