"""Square-root prices to try arithmetic on."""

import random

from chain.math import ticks


def random_price(draw: random.Random) -> int:
    """A price of any magnitude; a third of them on or beside a tick, where mistakes live."""
    kind = draw.randrange(3)
    if kind == 0:
        return draw.randrange(ticks.MIN_SQRT_PRICE, ticks.MAX_SQRT_PRICE)
    tick = draw.randint(ticks.MIN_TICK, ticks.MAX_TICK - 1)
    lowest = ticks.sqrt_price_at_tick(tick)
    if kind == 1:
        return draw.randrange(lowest, ticks.sqrt_price_at_tick(tick + 1))
    beside = lowest + draw.choice((-1, 0, 1))
    return min(max(beside, ticks.MIN_SQRT_PRICE), ticks.MAX_SQRT_PRICE - 1)
