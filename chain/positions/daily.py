"""What a position earns and loses a day: fees against loss-versus-rebalancing (LVR).

Measured over the last day, or since the position was opened when that is shorter, at its present
liquidity, and told as a rate per day.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from chain.history.flows import FeeTerms
from chain.history.path import HOUR, PricePath, price_path
from chain.history.ranges import LiquidityRange, range_fees, realised_lvr
from chain.math.fee_growth import FeeGrowth, fee_growth_inside, fees_owed
from chain.math.liquidity import Amounts
from chain.positions.identity import layout_of
from chain.positions.since_entry import worth
from chain.quantity import Quantity, Unknown, combine
from chain.storage import decode_slot0

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.history.swaps import SwapHistory
    from chain.networks import Address
    from chain.positions.since_entry import SinceEntry
    from chain.positions.snapshot import PositionSnapshot
    from chain.rpc.types import Block

DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class DailyResult:
    token_id: int
    measured_seconds: int
    fees: Quantity[Amounts]
    lvr: Quantity[Fraction]
    """Units of currency1 lost to those who trade against a stale price."""
    net: Quantity[Fraction]
    """Fees less LVR, in units of currency1 at the present price."""


@dataclass(frozen=True, slots=True)
class DayStart:
    """The block the measurement of one position begins at, and the words stored then."""

    block: Block
    words: Quantity[Mapping[int, int]]


def earning_since(account: SinceEntry) -> int | None:
    """The block since which the position has had liquidity without a break."""
    liquidity, since = 0, None
    for change in account.changes:
        if liquidity == 0:
            since = change.place.block_number
        liquidity += change.liquidity_delta
    return since


def daily_result(
    snapshot: PositionSnapshot,
    position_manager: Address,
    start: DayStart,
    swaps: Quantity[SwapHistory],
) -> DailyResult:
    seconds = snapshot.block.timestamp - start.block.timestamp
    if seconds <= 0:
        reason = Unknown("the position was opened in this very block")
        return DailyResult(snapshot.token_id, 0, reason, reason, reason)
    layout = layout_of(snapshot.identity, position_manager)
    held = LiquidityRange(layout.sqrt_price_lower, layout.sqrt_price_upper, snapshot.liquidity)
    fees = _fees_by_growth(snapshot, position_manager, start)
    if isinstance(fees, Unknown):
        fees = _fees_by_swaps(snapshot, held, swaps, start)
    lvr = swaps.map(lambda history: realised_lvr(_hourly(price_path(history), start), held))
    fees_a_day = fees.map(lambda earned: _a_day(earned, seconds))
    lvr_a_day = lvr.map(lambda lost: Fraction(lost * DAY, seconds))
    price = snapshot.pool.sqrt_price_x96
    return DailyResult(
        token_id=snapshot.token_id,
        measured_seconds=seconds,
        fees=fees_a_day,
        lvr=lvr_a_day,
        net=combine(lambda earned, lost: worth(earned, price) - lost, fees_a_day, lvr_a_day),
    )


def _fees_by_growth(
    snapshot: PositionSnapshot, position_manager: Address, start: DayStart
) -> Quantity[Amounts]:
    """Exact: what the range earned per unit of liquidity, times the liquidity."""
    identity = snapshot.identity
    layout = layout_of(identity, position_manager)

    def earned(words: Mapping[int, int]) -> Amounts:
        inside = fee_growth_inside(
            decode_slot0(words[layout.pool.slot0]).tick,
            identity.tick_lower,
            identity.tick_upper,
            global_growth=_pair(words, layout.pool.fee_growth_global0),
            outside_lower=_pair(words, layout.lower.fee_growth_outside0),
            outside_upper=_pair(words, layout.upper.fee_growth_outside0),
        )
        return Amounts(*fees_owed(snapshot.fee_growth_inside, inside, snapshot.liquidity))

    return start.words.map(earned)


def _pair(words: Mapping[int, int], slot: int) -> FeeGrowth:
    """The two accumulators stand in neighbouring slots."""
    return FeeGrowth(words[slot], words[slot + 1])


def _fees_by_swaps(
    snapshot: PositionSnapshot,
    held: LiquidityRange,
    swaps: Quantity[SwapHistory],
    start: DayStart,
) -> Quantity[Amounts]:
    terms = FeeTerms(snapshot.pool.key.fee, snapshot.pool.protocol_fee)

    def earned(history: SwapHistory) -> Amounts:
        events = [timed.swap for timed in history.swaps if timed.time >= start.block.timestamp]
        fees = range_fees(events, held, terms, included=True)
        return Amounts(fees.fees0, fees.fees1)

    return swaps.map(earned)


def _hourly(path: PricePath, start: DayStart) -> list[int]:
    """The prices at the start, at each full hour back from the end, and at the end."""
    times = [point.time for point in path.points]
    if not times:
        return []
    begin = start.block.timestamp
    hours = range((path.until - begin - 1) // HOUR, -1, -1)
    moments = [begin, *(path.until - back * HOUR for back in hours)]
    return [path.points[max(0, bisect_right(times, at) - 1)].sqrt_price_x96 for at in moments]


def _a_day(amounts: Amounts, seconds: int) -> Amounts:
    return Amounts(amounts.amount0 * DAY // seconds, amounts.amount1 * DAY // seconds)
