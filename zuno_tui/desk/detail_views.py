"""One position with everything that is known of it, in words and in points to draw."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick
from chain.quantity import Unknown
from zuno_tui.desk.views import ChartView
from zuno_tui.words import UNKNOWN, amount_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chain.history.swaps import SwapHistory
    from chain.math.liquidity import Amounts
    from chain.pair import Pair
    from chain.pools.depth import Depth
    from chain.positions.by_day import DayOfRange
    from chain.positions.changes import LiquidityChange
    from chain.positions.snapshot import PositionSnapshot
    from chain.prices.price import PriceBook, Unit
    from chain.quantity import Quantity

T = TypeVar("T")

_MOST_POINTS = 240
_STRETCHES = 96


def chart_view(pair: Pair, snapshot: PositionSnapshot, swaps: SwapHistory) -> ChartView | None:
    """The pool's price through time with the range across it; None without decimals or swaps."""
    identity = snapshot.identity
    ticks = (identity.tick_lower, identity.tick_upper)
    edges = [_figure(pair, sqrt_price_at_tick(tick)) for tick in ticks]
    known = sorted(edge for edge in edges if edge is not None)
    if len(known) != len(ticks) or not swaps.swaps:
        return None
    last = snapshot.block.timestamp, snapshot.pool.sqrt_price_x96
    points = [(one.time, one.swap.sqrt_price_x96) for one in _thinned(swaps.swaps)]
    points = [point for point in points if point[0] <= last[0]] + [last]
    return ChartView(
        times=tuple(float(time) for time, _ in points),
        prices=tuple(_figure(pair, price) or 0.0 for _, price in points),
        low=known[0],
        high=known[1],
    )


def liquidity_view(pair: Pair, depth: Depth, reach: int) -> tuple[tuple[float, float], ...]:
    """Price and the liquidity active there, the lowest price first."""
    tick = depth.state.tick
    lowest = max(tick - reach, depth.lowest, MIN_TICK)
    highest = min(tick + reach, depth.highest, MAX_TICK)
    steps = list(depth.steps())
    points = []
    for place in range(_STRETCHES + 1):
        at = lowest + (highest - lowest) * place // _STRETCHES
        price = _figure(pair, sqrt_price_at_tick(at))
        if price is None:
            return ()
        points.append((price, float(_active(steps, at))))
    return tuple(sorted(points))


def days_view(
    days: Sequence[DayOfRange], pair: Pair, prices: PriceBook, unit: Unit
) -> tuple[tuple[str, float, float], ...]:
    """Day, fees and LVR in the unit the desk counts in; nothing where it cannot be priced."""
    token1 = pair.token1
    price = prices.price(token1.address, unit)
    if isinstance(price, Unknown) or token1.decimals is None:
        return ()
    each = price.value * Fraction(1, 10**token1.decimals)
    return tuple(
        (
            f"{datetime.fromtimestamp(day.begin, UTC):%d %b}",
            float(day.fees * each),
            float(day.lvr * each),
        )
        for day in days
    )


def history_lines(changes: Sequence[LiquidityChange], pair: Pair) -> Iterator[str]:
    """What was put in and taken out, the newest first."""
    for change in reversed(changes):
        when = datetime.fromtimestamp(change.timestamp, UTC)
        verb = "put in" if change.liquidity_delta > 0 else "took out"
        told = [f"{verb} {_both(change.amounts, pair)}"] if change.liquidity_delta else []
        if isinstance(change.fees, Unknown) or any(change.fees.value):
            told.append(f"collected {_both(change.fees, pair)}")
        yield f"{when:%Y-%m-%d %H:%M} · {', '.join(told) or 'nothing moved'}"


def _both(amounts: Quantity[Amounts], pair: Pair) -> str:
    if isinstance(amounts, Unknown):
        return f"{UNKNOWN}: {amounts.reason}"
    tokens = zip(amounts.value, (pair.token0, pair.token1), strict=True)
    return " + ".join(f"{amount_of(amount, token)} {token.label}" for amount, token in tokens)


def _figure(pair: Pair, sqrt_price: int) -> float | None:
    price = pair.price(sqrt_price)
    return None if price is None else price.value


def _active(steps: Sequence[tuple[int, int, int]], tick: int) -> int:
    return next((liquidity for start, end, liquidity in steps if start <= tick < end), 0)


def _thinned(swaps: Sequence[T]) -> Sequence[T]:
    """At most so many, evenly chosen, the last one always."""
    if len(swaps) <= _MOST_POINTS:
        return swaps
    last = len(swaps) - 1
    return [swaps[place * last // (_MOST_POINTS - 1)] for place in range(_MOST_POINTS)]
