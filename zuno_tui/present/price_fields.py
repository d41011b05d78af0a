"""Prices in JSON: numbers, with what they are counted in beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.math.ticks import sqrt_price_at_tick

if TYPE_CHECKING:
    from chain.tokens.pair import Pair
    from zuno_tui.present.output import Json


def price_fields(pair: Pair, sqrt_price_x96: int) -> dict[str, Json]:
    """A pool's price; both are null where a token's decimals are unknown."""
    price = pair.price(sqrt_price_x96)
    return {
        "price": None if price is None else price.value,
        "priceUnit": None if price is None else f"{price.quote} per {price.base}",
    }


def range_fields(pair: Pair, tick_lower: int, tick_upper: int) -> dict[str, Json]:
    """A range's edges as prices, the lower figure first, in the unit of the pool's price."""
    prices = [pair.price(sqrt_price_at_tick(tick)) for tick in (tick_lower, tick_upper)]
    low, high = reversed(prices) if pair.inverted else prices
    return {
        "priceLower": None if low is None else low.value,
        "priceUpper": None if high is None else high.value,
    }
