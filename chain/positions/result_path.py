"""How a position stood against holding what was put in, hour by hour."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chain.base.quantity import Unknown
from chain.base.units import HOUR
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.by_day import hours_of_range
from chain.positions.profit import SinceEntry, worth

if TYPE_CHECKING:
    from chain.history.hours import PoolHours
    from chain.positions.circumstances import LiquidityChange
    from chain.positions.snapshot import PositionSnapshot


class ResultPoint(NamedTuple):
    time: int
    result: Fraction
    """Against holding, fees included, in units of currency1 at the price of that time."""


def result_path(
    snapshot: PositionSnapshot, account: SinceEntry, hours: PoolHours
) -> tuple[ResultPoint, ...]:
    """From the first hour that is known to now, oldest first; nothing where nothing is known.

    Fees of a past hour are those of today less what was earned since: the logs of hours begin
    later than many a position.
    """
    earned, now = account.fees_earned, account.against_holding
    changes = account.changes
    if isinstance(earned, Unknown) or isinstance(now, Unknown):
        return ()
    if not changes or any(isinstance(one.amounts, Unknown) for one in changes):
        return ()
    past = [
        hour
        for hour in hours_of_range(snapshot.identity, changes, hours)
        if hour.begin + HOUR > changes[0].timestamp and hour.begin + HOUR < hours.last.timestamp
    ]
    fees = worth(earned.value, snapshot.pool.sqrt_price_x96)
    points = [ResultPoint(snapshot.block.timestamp, now.value)]
    for hour in reversed(past):
        end = hour.begin + HOUR
        without = _without_fees(snapshot, changes, end, hour.sqrt_price)
        points.append(ResultPoint(end, without + max(Fraction(0), fees)))
        fees -= hour.fees
    # Until somebody swapped nothing changed: it is known from where the hours begin.
    known_since = max(changes[0].timestamp, hours.since)
    if known_since < points[-1].time:
        points.append(ResultPoint(known_since, points[-1].result))
    return tuple(reversed(points))


def _without_fees(
    snapshot: PositionSnapshot, changes: Sequence[LiquidityChange], time: int, sqrt_price: int
) -> Fraction:
    identity = snapshot.identity
    before = [one for one in changes if one.timestamp <= time]
    liquidity = sum(one.liquidity_delta for one in before)
    edges = sqrt_price_at_tick(identity.tick_lower), sqrt_price_at_tick(identity.tick_upper)
    inside = amounts_for_liquidity(sqrt_price, *edges, max(0, liquidity), round_up=False)
    result = worth(inside, sqrt_price)
    for one in before:
        amounts = Amounts(0, 0) if isinstance(one.amounts, Unknown) else one.amounts.value
        moved = worth(amounts, sqrt_price)
        result += -moved if one.liquidity_delta > 0 else moved
    return result
