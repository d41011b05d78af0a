"""What the desk's chart shows, and its own truth: the prices that whoever reads it may name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from agents.trade.levels import PriceLevel, level_set
from agents.trade.liquidation_map import LiquidationPool, largest_pools, liquidation_map
from chain.exchange.public.market import Candle, cumulative_delta

if TYPE_CHECKING:
    from agents.trade.facts import MarketSnapshot

_SHOWN = 168
"""Hours: a week."""


class ChartFacts(Struct, frozen=True):
    symbol: str
    mark: float
    candles: tuple[Candle, ...]
    volume_delta: tuple[float, ...]
    """Cumulated over the candles that are shown."""
    funding: tuple[tuple[int, float], ...]
    """When and how much was paid, the oldest first."""
    pools: tuple[LiquidationPool, ...]
    levels: tuple[PriceLevel, ...]


def chart_facts(market: MarketSnapshot) -> ChartFacts:
    candles = market.hours.candles[-_SHOWN:]
    pools = liquidation_map(market.hours.candles, market.mark)
    return ChartFacts(
        market.symbol,
        market.mark,
        candles,
        tuple(cumulative_delta(candles)),
        market.funding,
        pools,
        chart_levels(market, pools),
    )


def chart_levels(
    market: MarketSnapshot, pools: tuple[LiquidationPool, ...]
) -> tuple[PriceLevel, ...]:
    below, above = largest_pools(pools, market.mark)
    found = [
        PriceLevel(pool.price, name)
        for name, pool in (("liquidation pool below", below), ("liquidation pool above", above))
        if pool is not None
    ]
    return level_set(market.hours.candles[-_SHOWN:], found)
