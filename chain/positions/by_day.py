"""What a range earned and lost on each of the last days, from the pool's swaps alone."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.history.flows import FeeTerms
from chain.history.ranges import LiquidityRange, range_fees, realised_lvr
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.daily import DAY, hourly_closes
from chain.positions.since_entry import worth

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from chain.history.swaps import SwapHistory
    from chain.positions.snapshot import PositionSnapshot


@dataclass(frozen=True, slots=True)
class DayOfRange:
    """In units of currency1 at the present price, at the position's present liquidity."""

    begin: int
    fees: Fraction
    lvr: int


def days_of_range(
    snapshot: PositionSnapshot, swaps: SwapHistory, since: int
) -> tuple[DayOfRange, ...]:
    """Whole days back from the snapshot, as far as the swaps and the position go, oldest first."""
    identity = snapshot.identity
    held = LiquidityRange(
        sqrt_price_at_tick(identity.tick_lower),
        sqrt_price_at_tick(identity.tick_upper),
        snapshot.liquidity,
    )
    first = max(since, swaps.first.timestamp)
    return tuple(
        _day(snapshot, swaps, held, begin) for begin in _begins(snapshot.block.timestamp, first)
    )


def _begins(until: int, first: int) -> Iterator[int]:
    days = max(0, until - first) // DAY
    return (until - back * DAY for back in range(days, 0, -1))


def _day(
    snapshot: PositionSnapshot, swaps: SwapHistory, held: LiquidityRange, begin: int
) -> DayOfRange:
    times = [timed.time for timed in swaps.swaps]
    start, end = bisect_right(times, begin), bisect_right(times, begin + DAY)
    # The last swap before the day only says where its path begins.
    path = [timed.swap for timed in swaps.swaps[max(0, start - 1) : end]]
    terms = FeeTerms(snapshot.pool.key.fee, snapshot.pool.protocol_fee)
    fees = range_fees(path, held, terms, included=True)
    opening = path[0].sqrt_price_x96 if path else snapshot.pool.sqrt_price_x96
    closes = hourly_closes(swaps, opening, begin, begin + DAY)
    price = snapshot.pool.sqrt_price_x96
    return DayOfRange(
        begin, worth(Amounts(fees.fees0, fees.fees1), price), realised_lvr(closes, held)
    )
