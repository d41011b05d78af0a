"""Swaps to draw paths with, where a test needs a price to go a certain way."""

from collections.abc import Iterable, Sequence

from chain.history.volatility import PricePath, PricePoint
from chain.math.sqrt_price import swap_step
from chain.math.ticks import tick_at_sqrt_price
from chain.protocols.past import LogPlace, SwapEvent

POOL = "0x" + "ab" * 32
ANYONE = "0x" + "01" * 20
LIQUIDITY = 10**20


def swap_between(
    start: int, end: int, block: int = 1, *, fee: int = 3000, liquidity: int = LIQUIDITY
) -> SwapEvent:
    """The swap that moves a pool of one liquidity from one price to another."""
    huge = 1 << 200
    step = swap_step(start, end, liquidity, -huge, fee)
    assert step.sqrt_price == end
    paid = -(step.amount_in + step.fee)
    amount0, amount1 = (paid, step.amount_out) if end < start else (step.amount_out, paid)
    place = LogPlace(block, 0, f"0x{block:064x}", f"0x{block:064x}")
    return SwapEvent(
        place, POOL, ANYONE, amount0, amount1, end, liquidity, tick_at_sqrt_price(end), fee
    )


def path_of(prices: Iterable[tuple[int, int]], until: int) -> PricePath:
    """A path through (time, square-root price)."""
    points = tuple(PricePoint(time, price) for time, price in prices)
    return PricePath(POOL, points, until, until_block=99)


def swaps_through(prices: Sequence[int], *, fee: int = 3000) -> list[SwapEvent]:
    """One swap per price; the first only arrives there from one part in ten thousand below."""
    before = [prices[0] - prices[0] // 20_000, *prices]
    return [
        swap_between(start, end, block, fee=fee)
        for block, (start, end) in enumerate(zip(before, prices, strict=False))
    ]
