"""How fast positions are judged: tabulated exit quantiles against bisection on the series."""

from __future__ import annotations

import statistics
import time
from random import Random
from typing import TYPE_CHECKING

from agents.numbers.edges import Edges, TickRange
from agents.numbers.inventory import SwapTerms, allocate_inventory
from agents.numbers.outlook import PoolMarket, Stake, look_at
from agents.numbers.regime import STRESSES
from agents.numbers.survival import stress_buffers, stress_buffers_of, survival
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

POSITIONS = 10_000
SAMPLE = 200
"""Bisection is measured on so many and scaled: all of them would take seconds."""
ROUNDS = 7
BISECTIONS = 45


def run() -> Iterable[str]:
    random = Random(7)
    ranges = [
        (random.uniform(10, 4_000), random.uniform(10, 4_000), random.uniform(50, 600))
        for _ in range(POSITIONS)
    ]
    stress_buffers_of(ranges[:1])
    many = _median_milliseconds(lambda: stress_buffers_of(ranges))
    bisected = _median_milliseconds(lambda: _by_bisection(ranges[:SAMPLE]), rounds=1)
    bisected *= POSITIONS / SAMPLE
    amount = f"{POSITIONS:,} positions × {len(STRESSES)} stresses"
    yield f"{amount}, bisection  {bisected:9.1f} ms   baseline (measured on {SAMPLE}, scaled)"
    yield f"{amount}, table      {many:9.1f} ms   {bisected / many:,.0f} × as fast, asked: 50 ms"
    worst = max(
        abs(table / searched - 1)
        for (below, above, ticks), row in zip(ranges, _by_bisection(ranges[:SAMPLE]), strict=False)
        for table, searched in zip(stress_buffers(Edges(below, above), ticks), row, strict=True)
    )
    yield f"largest difference between the two{worst:27.1e}"
    yield f"one candidate, every number of its card{_one_candidate():19.3f} ms"
    yield f"one allocation, swap solved in whole units{_one_allocation():16.3f} ms"


def _by_bisection(ranges: Iterable[tuple[float, float, float]]) -> list[list[float]]:
    """The same buffers by searching the survival function anew for each volatility."""
    return [
        [_search(Edges(below, above), stress * ticks) for stress in STRESSES]
        for below, above, ticks in ranges
    ]


def _search(edges: Edges, daily_ticks: float) -> float:
    low, high = 0.0, 24 * edges.below * edges.above / daily_ticks**2
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if survival(edges, daily_ticks, middle) > 0.95:
            low = middle
        else:
            high = middle
    return high


def _one_candidate() -> float:
    market = PoolMarket(-196_256.3, 0.03, 1.2, 1.3e-4, 4e7, 4e7, 1e-6)
    stake = Stake(TickRange(-196_860, -195_660), 10**16)
    return _median_milliseconds(lambda: [look_at(market, stake) for _ in range(100)]) / 100


def _one_allocation() -> float:
    sqrt_price = sqrt_price_at_tick(-196_256)
    ticks, terms = TickRange(-196_860, -195_660), SwapTerms(500, 500, 10**17)
    held, fees = Amounts(10**18, 10**6), Amounts(10**15, 10**6)
    return (
        _median_milliseconds(
            lambda: [allocate_inventory(sqrt_price, ticks, held, fees, terms) for _ in range(20)]
        )
        / 20
    )


def _median_milliseconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)
