"""What positions did since they were opened and do a day: fees against loss-versus-rebalancing."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chain.base.quantity import Known, Quantity, Unknown, combine
from chain.base.units import DAY, HOUR
from chain.contracts.storage import decode_slot0
from chain.history.block_times import first_block_since, read_headers
from chain.history.events import FeeTerms, InitializeEvent, PricedSwap, SwapEvent
from chain.history.fee_rate import LiquidityRange, range_fees, realised_lvr
from chain.history.hour_reader import HourMemory, read_hours
from chain.history.volatility import PricePoint, price_path
from chain.math.fees import FeeGrowth, fee_growth_inside, fees_owed
from chain.math.liquidity import Amounts
from chain.positions.change_reader import ChangeMemory, ChangeReader
from chain.positions.circumstances import find_last_price, read_past_words
from chain.positions.identity import PositionLayout, layout_of
from chain.positions.profit import SinceEntry, worth
from chain.read.block_reader import sound_answers

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network
    from chain.contracts.pool_key import PoolId
    from chain.history.hours import PoolHours
    from chain.positions.overview import Sources
    from chain.positions.snapshot import PositionSnapshot
    from chain.prices.price import PriceBook, WorthUnit
    from chain.rpc.client import RpcClient
    from chain.rpc.records import Block
    from chain.tokens import Token


# Measured over the last day, or since the position was opened when that is shorter, at its
# present liquidity, and told as a rate per day.
async def read_daily_results(
    client: RpcClient,
    network: Network,
    snapshots: Sequence[PositionSnapshot],
    accounts: Mapping[int, SinceEntry],
    *,
    memory: HourMemory,
) -> dict[int, DailyResult]:
    """The daily result of each position, all of one snapshot, by token id."""
    if not snapshots:
        return {}
    with sound_answers():
        return await _read(client, network, snapshots, accounts, memory)


async def _read(
    client: RpcClient,
    network: Network,
    snapshots: Sequence[PositionSnapshot],
    accounts: Mapping[int, SinceEntry],
    memory: HourMemory,
) -> dict[int, DailyResult]:
    manager = network.contracts.position_manager
    head = snapshots[0].block
    day_ago = await first_block_since(client, network, head.timestamp - DAY, head)
    begins = {
        snapshot.token_id: max(day_ago, earning_since(accounts[snapshot.token_id]) or day_ago)
        for snapshot in snapshots
    }
    wanted: dict[int, dict[int, None]] = defaultdict(dict)
    for snapshot in snapshots:
        slots = layout_of(snapshot.identity, manager).slots
        wanted[begins[snapshot.token_id]].update(dict.fromkeys(slots))
    words = await read_past_words(client, network, {at: list(some) for at, some in wanted.items()})
    headers = {header.number: header for header in await read_headers(client, sorted(wanted))}
    terms = {
        snapshot.pool.pool_id: FeeTerms(snapshot.pool.key.fee, snapshot.pool.protocol_fee)
        for snapshot in snapshots
    }
    hours = await read_hours(client, network, terms, DAY, memory=memory, head=head)
    without_words = {
        snapshot.pool.pool_id
        for snapshot in snapshots
        if isinstance(words[begins[snapshot.token_id]], Unknown)
    }
    earlier = {
        pool_id: await find_last_price(client, network, pool_id, day_ago - 1)
        for pool_id in sorted(without_words)
    }
    results: dict[int, DailyResult] = {}
    paths: dict[tuple[PoolId, int], tuple[PricePoint, ...]] = {}
    for snapshot in snapshots:
        begin, pool_id = begins[snapshot.token_id], snapshot.pool.pool_id
        start = DayStart(headers[begin], words[begin], earlier.get(pool_id))
        result = daily_result(snapshot, manager, start, hours[pool_id])
        if (pool_id, begin) not in paths:
            paths[pool_id, begin] = _path(snapshot, manager, start, hours[pool_id])
        results[snapshot.token_id] = replace(result, path=paths[pool_id, begin])
    return results


T = TypeVar("T")

PATH_STEP = 15 * 60
"""Seconds between two prices of the last day's path."""


class DailyResult(Struct, frozen=True):
    token_id: int
    measured_seconds: int
    fees: Quantity[Amounts]
    lvr: Quantity[Fraction]
    """Units of currency1 lost to those who trade against a stale price."""
    net: Quantity[Fraction]
    """Fees less LVR, in units of currency1 at the present price."""
    path: tuple[PricePoint, ...] = ()
    """Where the pool's price stood through the last day, oldest first."""


class DayStart(Struct, frozen=True):
    """The block the measurement of one position begins after."""

    block: Block
    words: Quantity[Mapping[int, int]]
    """What the PoolManager had stored then."""
    earlier: SwapEvent | InitializeEvent | None
    """What set the pool's price before all swaps that were read, where it had to be looked for."""


def earning_since(account: SinceEntry) -> int | None:
    """The block since which the position has had liquidity without a break."""
    liquidity, since = 0, None
    for change in account.changes:
        if liquidity == 0:
            since = change.place.block_number
        liquidity += change.liquidity_delta
    return since


def daily_result(
    snapshot: PositionSnapshot, position_manager: Address, start: DayStart, hours: PoolHours
) -> DailyResult:
    seconds = snapshot.block.timestamp - start.block.timestamp
    if seconds <= 0:
        reason = Unknown("the position was opened in this very block")
        return DailyResult(snapshot.token_id, 0, reason, reason, reason)
    layout = layout_of(snapshot.identity, position_manager)
    held = LiquidityRange(layout.sqrt_price_lower, layout.sqrt_price_upper, snapshot.liquidity)
    fees = _fees_by_growth(snapshot, position_manager, start)
    if isinstance(fees, Unknown):
        fees = _fees_by_swaps(snapshot, held, start, hours)
    fees_a_day = fees.map(lambda earned: _a_day(earned, seconds))
    lost = realised_lvr(_hourly_prices(snapshot, layout, start, hours), held)
    lvr_a_day = _by_swaps(Fraction(lost * DAY, seconds), hours)
    price = snapshot.pool.sqrt_price_x96
    return DailyResult(
        token_id=snapshot.token_id,
        measured_seconds=seconds,
        fees=fees_a_day,
        lvr=lvr_a_day,
        net=combine(lambda earned, loss: worth(earned, price) - loss, fees_a_day, lvr_a_day),
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

    if isinstance(start.words, Unknown):
        return start.words
    source = f"fee growth since block {start.block.number}"
    block = snapshot.block
    return Known(earned(start.words.value), source, block.number, float(block.timestamp))


def _pair(words: Mapping[int, int], slot: int) -> FeeGrowth:
    """The two accumulators stand in neighbouring slots."""
    return FeeGrowth(words[slot], words[slot + 1])


def _fees_by_swaps(
    snapshot: PositionSnapshot, held: LiquidityRange, start: DayStart, hours: PoolHours
) -> Quantity[Amounts]:
    """Estimated: the position's share of each swap's fee."""
    terms = FeeTerms(snapshot.pool.key.fee, snapshot.pool.protocol_fee)
    number = start.block.number
    before: list[PricedSwap] = [swap for swap in hours.recent if swap.block_number <= number]
    if not before and isinstance(start.earlier, SwapEvent):
        before = [start.earlier]
    since = [swap for swap in hours.recent if swap.block_number > number]
    fees = range_fees([*before[-1:], *since], held, terms, included=True)
    return _by_swaps(Amounts(fees.fees0, fees.fees1), hours)


def _opening_price(
    snapshot: PositionSnapshot, layout: PositionLayout, start: DayStart, hours: PoolHours
) -> int:
    if not isinstance(start.words, Unknown):
        return decode_slot0(start.words.value[layout.pool.slot0]).sqrt_price_x96
    if start.earlier is not None:
        return start.earlier.sqrt_price_x96
    return hours.recent[0].sqrt_price_x96 if hours.recent else snapshot.pool.sqrt_price_x96


def _hourly_prices(
    snapshot: PositionSnapshot, layout: PositionLayout, start: DayStart, hours: PoolHours
) -> list[int]:
    """The square-root prices at the start, at each full hour back from the end, and at the end."""
    opening = _opening_price(snapshot, layout, start, hours)
    begin, until = start.block.timestamp, snapshot.block.timestamp
    times = [swap.time for swap in hours.recent]
    prices = [opening, *(swap.sqrt_price_x96 for swap in hours.recent)]
    back = range((until - begin - 1) // HOUR, -1, -1)
    moments = [begin, *(until - count * HOUR for count in back)]
    return [prices[bisect_right(times, at)] for at in moments]


def _path(
    snapshot: PositionSnapshot, position_manager: Address, start: DayStart, hours: PoolHours
) -> tuple[PricePoint, ...]:
    """As the swaps tell, and before the first of them by the price at the start."""
    path, begin = price_path(hours), start.block.timestamp
    if not path.points or begin < path.points[0].time:
        layout = layout_of(snapshot.identity, position_manager)
        opening = PricePoint(begin, _opening_price(snapshot, layout, start, hours))
        path = replace(path, points=(opening, *path.points))
    return path.steps(PATH_STEP, DAY // PATH_STEP)


def _by_swaps(value: T, hours: PoolHours) -> Known[T]:
    last = hours.last
    return Known(value, f"{len(hours.last_day())} pool swaps", last.number, float(last.timestamp))


def _a_day(amounts: Amounts, seconds: int) -> Amounts:
    return Amounts(amounts.amount0 * DAY // seconds, amounts.amount1 * DAY // seconds)


class Performance(Struct, frozen=True):
    accounts: Mapping[int, SinceEntry]
    daily: Mapping[int, DailyResult]


class Gains(Struct, frozen=True):
    """In the unit a person counts in, at present prices."""

    against_holding: Quantity[Fraction]
    fees_a_day: Quantity[Fraction]
    lvr_a_day: Quantity[Fraction]
    net_a_day: Quantity[Fraction]


async def read_performance(sources: Sources, snapshots: Sequence[PositionSnapshot]) -> Performance:
    client, network, store = sources.client, sources.network, sources.store
    changes = ChangeMemory(store, network, sources.clock)
    accounts = await ChangeReader(client, network, sources.memory, changes).since_entry(snapshots)
    hours = HourMemory(store, network, sources.clock)
    daily = await read_daily_results(client, network, snapshots, accounts, memory=hours)
    return Performance(accounts, daily)


def gains(
    account: SinceEntry, daily: DailyResult, token1: Token, prices: PriceBook, unit: WorthUnit
) -> Gains:
    """Everything a position won or lost is told in currency1; this is what that is worth."""

    def valued(amount: Quantity[Fraction]) -> Quantity[Fraction]:
        if token1.decimals is None:
            return Unknown(f"{token1.label} gives no usable decimals")
        whole = Fraction(1, 10**token1.decimals)
        price = prices.price(token1.address, unit)
        return combine(lambda units, each: units * each * whole, amount, price)

    return Gains(
        against_holding=valued(account.against_holding),
        fees_a_day=valued(combine(lambda net, lvr: net + lvr, daily.net, daily.lvr)),
        lvr_a_day=valued(daily.lvr),
        net_a_day=valued(daily.net),
    )
