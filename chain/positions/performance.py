"""What positions did since they were opened, and in the last day: fees against LVR."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct, field
from msgspec.structs import replace

from chain.base.units import COIN, DAY, HOUR, Known, Quantity, Unknown, combine
from chain.contracts.pool_key import PoolId
from chain.history.events import fee_terms
from chain.history.hour_reader import HourMemory, read_given_hours
from chain.history.hours import PoolHours, hour_of
from chain.history.volatility import PricePoint, price_path
from chain.math.liquidity import Amounts
from chain.positions.by_day import (
    HourOfRange,
    SinceEntry,
    hours_of_range,
    since_entry,
    unknown_entry,
)
from chain.positions.overview import Sources
from chain.prices.price import PriceBook, WorthUnit
from chain.protocols.past import NOT_ADDED_UP, PositionPast
from chain.protocols.reference import PositionRef
from chain.protocols.registry import protocol_named
from chain.protocols.snapshot import PositionSnapshot
from chain.read.block_reader import sound_answers
from chain.tokens import Token

# Measured over the last 24 closed hours of the calendar, with the liquidity of each: what is open
# still moves, and a rate drawn from minutes would be told as a day.
PATH_STEP = 15 * 60
"""Seconds between two prices of the last day's path."""


class DailyResult(Struct, frozen=True):
    ref: PositionRef
    measured_seconds: int
    """Of the closed hours, those in which it was held; a day at most."""
    fees: Quantity[Amounts]
    lvr: Quantity[Fraction]
    """Units of currency1 lost to those who trade against a stale price."""
    net: Quantity[Fraction]
    """Fees less LVR, in units of currency1, each hour at the price it closed with."""
    closed: tuple[HourOfRange, ...] = ()
    """The closed hours in which anybody swapped."""
    path: tuple[PricePoint, ...] = ()
    """Where the pool's price stood through the last day, oldest first."""

    @property
    def whole_day(self) -> bool:
        return self.measured_seconds >= DAY


def earning_since(account: SinceEntry) -> int | None:
    """When the liquidity came that the position has had without a break since."""
    liquidity, since = 0, None
    for change in account.changes:
        if liquidity == 0:
            since = change.timestamp
        liquidity += change.liquidity_delta
    return since


def daily_result(snapshot: PositionSnapshot, account: SinceEntry, hours: PoolHours) -> DailyResult:
    path = _path(hours)
    opened = earning_since(account)
    if opened is None or hours.unread:
        reason = Unknown(hours.unread) if hours.unread else NOT_ADDED_UP
        return DailyResult(snapshot.ref, 0, reason, reason, reason, path=path)
    end = hour_of(hours.last.timestamp)
    begin = max(end - DAY, hour_of(opened), hours.since)
    if begin >= end:
        young = Unknown("no hour of it is over yet")
        return DailyResult(snapshot.ref, 0, young, young, young, path=path)
    closed = tuple(
        hour
        for hour in hours_of_range(snapshot.identity, account, hours, as_paid=False)
        if begin <= hour.begin < end
    )
    source = f"{len(closed)} closed hours with swaps", hours.last.number, float(end)
    fees, lvr = sum(hour.fees for hour in closed), sum(hour.lvr for hour in closed)
    paid = (sum(hour.tokens[place] for hour in closed) for place in (0, 1))
    return DailyResult(
        ref=snapshot.ref,
        measured_seconds=end - max(begin, opened),
        fees=Known(Amounts(*paid), *source),
        lvr=Known(Fraction(lvr), *source),
        net=Known(Fraction(fees - lvr), *source),
        closed=closed,
        path=path,
    )


def _path(hours: PoolHours) -> tuple[PricePoint, ...]:
    """As the swaps tell; where the price before the first is not known, by the one after it."""
    path, begin = price_path(hours), hours.last.timestamp - DAY
    opening = hours.opening or next((point.sqrt_price_x96 for point in path.points), 0)
    if opening and (not path.points or begin < path.points[0].time):
        path = replace(path, points=(PricePoint(begin, opening, swaps=0), *path.points))
    return path.steps(PATH_STEP, DAY // PATH_STEP)


class Gains(Struct, frozen=True):
    """In the unit a person counts in, at present prices."""

    against_holding: Quantity[Fraction]
    """Less the gas of its changes."""
    gas: Quantity[Fraction]
    fees_a_day: Quantity[Fraction]
    lvr_a_day: Quantity[Fraction]
    net_a_day: Quantity[Fraction]


class Performance(Struct, frozen=True):
    accounts: Mapping[PositionRef, SinceEntry]
    daily: Mapping[PositionRef, DailyResult]
    hours: Mapping[PoolId, PoolHours] = field(default_factory=dict)

    def gains(self, ref: PositionRef, token1: Token, prices: PriceBook, unit: WorthUnit) -> Gains:
        """Everything a position won or lost is told in currency1; this is what that is worth."""
        account, daily = self.accounts[ref], self.daily[ref]

        def value(amount: Quantity[Fraction]) -> Quantity[Fraction]:
            if token1.decimals is None:
                return Unknown(f"{token1.label} gives no usable decimals")
            whole = Fraction(1, 10**token1.decimals)
            price = prices.price(token1.address, unit)
            return combine(lambda units, each: units * each * whole, amount, price)

        ether = prices.ether if unit is WorthUnit.USD else Known(Fraction(1), "the unit itself")
        gas = combine(lambda wei, each: wei * each / COIN, account.gas, ether)
        fees = value(combine(lambda net, lvr: net + lvr, daily.net, daily.lvr))
        lvr = value(daily.lvr)
        in_cents = unit is WorthUnit.USD
        return Gains(
            against_holding=combine(Fraction.__sub__, value(account.against_holding), gas),
            gas=gas,
            fees_a_day=fees,
            lvr_a_day=lvr,
            # Of both as they are shown: a reader takes one from the other.
            net_a_day=combine(lambda *parts: _shown_less(*parts, in_cents=in_cents), fees, lvr),
        )


async def read_accounts(
    sources: Sources, snapshots: Sequence[PositionSnapshot]
) -> dict[PositionRef, SinceEntry]:
    """What became of positions since they were opened."""
    return accounts_of(snapshots, await read_past(sources, snapshots))


async def read_past(
    sources: Sources, snapshots: Iterable[PositionSnapshot]
) -> dict[PositionRef, PositionPast]:
    """What logs tell of positions, all of one block."""
    groups: dict[str, list[PositionSnapshot]] = defaultdict(list)
    for snapshot in snapshots:
        groups[snapshot.ref.protocol].append(snapshot)
    told: dict[PositionRef, PositionPast] = {}
    for name, group in groups.items():
        protocol = protocol_named(name)
        told |= await protocol.past(sources.client, sources.network, sources.memory, group)
    return told


def accounts_of(
    snapshots: Iterable[PositionSnapshot], past: Mapping[PositionRef, PositionPast]
) -> dict[PositionRef, SinceEntry]:
    accounts: dict[PositionRef, SinceEntry] = {}
    for snapshot in snapshots:
        changes = past[snapshot.ref].changes
        accounts[snapshot.ref] = (
            unknown_entry(snapshot, changes)
            if isinstance(changes, Unknown)
            else since_entry(snapshot, changes)
        )
    return accounts


async def read_performance(sources: Sources, snapshots: Sequence[PositionSnapshot]) -> Performance:
    """All of one snapshot."""
    client, network, store = sources.client, sources.network, sources.store
    if not snapshots:
        return Performance({}, {})
    accounts = await read_accounts(sources, snapshots)
    terms = {snapshot.pool.pool_id: fee_terms(snapshot.pool) for snapshot in snapshots}
    memory = HourMemory(store, network, sources.clock)
    with sound_answers():
        # The hour that goes on, and one before the day for the price it began with.
        seconds, head = DAY + 2 * HOUR, snapshots[0].block
        hours = await read_given_hours(client, network, terms, seconds, memory=memory, head=head)
    daily = {
        snapshot.ref: daily_result(snapshot, accounts[snapshot.ref], hours[snapshot.pool.pool_id])
        for snapshot in snapshots
    }
    return Performance(accounts, daily, hours)


def _shown_less(value: Fraction, taken: Fraction, *, in_cents: bool) -> Fraction:
    if not in_cents:
        return value - taken
    cents, cents_taken = ((200 * part + 1) // 2 for part in (value, taken))
    return Fraction(cents - cents_taken, 100)
