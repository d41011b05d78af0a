"""A pool's past prices with the range of a position, its fees and its changes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from msgspec.structs import replace

from chain.history.hours import PoolHours
from chain.history.volatility import price_path
from chain.positions.by_day import SinceEntry, hours_of_range
from chain.protocols.snapshot import PositionSnapshot
from chain.tokens.pair import Pair
from zuno_tui.present.charts import range_chart
from zuno_tui.present.views import ChartView

T = TypeVar("T")

_MOST_POINTS = 240


def past_chart(
    pair: Pair,
    snapshot: PositionSnapshot,
    hours: PoolHours,
    account: SinceEntry,
    each: Fraction | None,
) -> ChartView | None:
    """With what each hour earned, and when liquidity came and went.

    None without decimals or swaps; without fees where nobody prices currency1.
    """
    chart = chart_view(pair, snapshot, hours)
    if chart is None:
        return None
    earned = hours_of_range(snapshot.identity, account, hours)
    moved = [change for change in account.changes if change.liquidity_delta]
    return replace(
        chart,
        fees=()
        if each is None
        else tuple((float(hour.begin), float(hour.fees * each)) for hour in earned),
        changes=tuple(
            (float(change.timestamp), 1 if change.liquidity_delta > 0 else -1) for change in moved
        ),
    )


def chart_view(pair: Pair, snapshot: PositionSnapshot, hours: PoolHours) -> ChartView | None:
    """The pool's price through time with the range across it; None without decimals or swaps."""
    last = snapshot.block.timestamp, snapshot.pool.sqrt_price_x96
    points = [(point.time, point.sqrt_price_x96) for point in _thinned(price_path(hours).points)]
    if not points:
        return None
    return range_chart(pair, snapshot.identity, [p for p in points if p[0] <= last[0]] + [last])


def _thinned(swaps: Sequence[T]) -> Sequence[T]:
    """At most so many, evenly chosen, the last one always."""
    if len(swaps) <= _MOST_POINTS:
        return swaps
    last = len(swaps) - 1
    return [swaps[place * last // (_MOST_POINTS - 1)] for place in range(_MOST_POINTS)]
