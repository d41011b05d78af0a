"""Tick arithmetic beside the plain loop: the contract's algorithm written out step by step."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from chain.math import ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SAMPLES = 50_000
ROUNDS = 5


def plain_sqrt_price_at_tick(tick: int) -> int:
    """One multiplication per set bit, as TickMath.getSqrtPriceAtTick does it."""
    magnitude = abs(tick)
    ratio = 1 << 128
    for bit, factor in enumerate(ticks.FACTORS):
        if magnitude >> bit & 1:
            ratio = ratio * factor >> 128
    if tick > 0:
        ratio = ((1 << 256) - 1) // ratio
    return (ratio + 0xFFFFFFFF) >> 32


def plain_tick_at_sqrt_price(sqrt_price: int) -> int:
    """A logarithm bit by bit, then two candidates, as TickMath.getTickAtSqrtPrice does it."""
    price = sqrt_price << 32
    most = price.bit_length() - 1
    ratio = price >> (most - 127) if most >= 128 else price << (127 - most)
    log2 = (most - 128) << 64
    for bit in range(63, 49, -1):
        ratio = ratio * ratio >> 127
        carry = ratio >> 128
        log2 |= carry << bit
        ratio >>= carry
    log = log2 * 255738958999603826347141
    low = (log - 3402992956809132418596140100660247210) >> 128
    high = (log + 291339464771989622907027621153398088495) >> 128
    if low == high:
        return low
    return high if plain_sqrt_price_at_tick(high) <= sqrt_price else low


def run() -> Iterator[str]:
    """A line per direction: microseconds of both and their ratio."""
    draw = random.Random(7)
    sample = [draw.randint(ticks.MIN_TICK, ticks.MAX_TICK - 1) for _ in range(SAMPLES)]
    prices = [
        draw.randrange(ticks.sqrt_price_at_tick(tick), ticks.sqrt_price_at_tick(tick + 1))
        for tick in sample
    ]
    yield _compared("price of a tick", ticks.sqrt_price_at_tick, plain_sqrt_price_at_tick, sample)
    yield _compared("tick of a price", ticks.tick_at_sqrt_price, plain_tick_at_sqrt_price, prices)


def _compared(
    name: str,
    ours: Callable[[int], int],
    plain: Callable[[int], int],
    inputs: Sequence[int],
) -> str:
    if [ours(value) for value in inputs] != [plain(value) for value in inputs]:
        raise AssertionError(f"{name}: the two differ, so their speed says nothing")
    # Alternating rounds, best of each: a busy machine slows both alike.
    rounds = [(_microseconds(ours, inputs), _microseconds(plain, inputs)) for _ in range(ROUNDS)]
    fast, slow = (min(column) for column in zip(*rounds, strict=True))
    return (
        f"tick math, {name}: {fast:.2f} µs, plain loop {slow:.2f} µs, "
        f"{slow / fast:.1f}× faster ({len(inputs):,} values, equal results)"
    )


def _microseconds(function: Callable[[int], int], inputs: Sequence[int]) -> float:
    started = time.perf_counter()
    for value in inputs:
        function(value)
    return (time.perf_counter() - started) / len(inputs) * 1e6
