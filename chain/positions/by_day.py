"""What became of a position since it was opened, and by the day: against holding, by the hour."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import DAY, HOUR, Known, Quantity, Unknown, combine
from chain.contracts.networks import Network
from chain.history.fee_rate import LiquidityRange, realised_lvr
from chain.history.hours import HourRow, PoolHours, PoolMoment, growth_inside, paid_fees
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.prices.price import WorthUnit
from chain.protocols.past import NOT_ADDED_UP, LiquidityChange, total
from chain.protocols.reference import PositionRef, older_name
from chain.protocols.registry import manager_of
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot
from chain.protocols.v4.storage import STORAGE

_PRICE_DENOMINATOR = 1 << 192


class SinceEntry(Struct, frozen=True):
    """All worth is in units of currency1 at the pool's present price, so that it can be summed."""

    ref: PositionRef
    changes: tuple[LiquidityChange, ...]
    age_seconds: Quantity[int]
    deposited: Quantity[Amounts]
    withdrawn: Quantity[Amounts]
    """Liquidity only: fees that were paid out with it are in `fees_collected`."""
    fees_collected: Quantity[Amounts]
    fees_earned: Quantity[Amounts]
    """Collected and uncollected."""
    held_instead: Quantity[Amounts]
    """What would lie in the wallet had it never been provided: deposits less withdrawals."""
    against_holding: Quantity[Fraction]
    """How much more the position and its fees are worth than that."""
    impermanent_loss: Quantity[Fraction]
    """The same without fees, as a part of what was deposited; a loss is negative.

    (V + withdrawn − deposited) / deposited, all at the present price; without withdrawals this is
    V(P₁)/(x₀·P₁ + y₀) − 1.
    """
    gas: Quantity[int]
    """Spent on these changes, in the smallest unit of the network's coin."""


def since_entry(snapshot: PositionSnapshot, changes: tuple[LiquidityChange, ...]) -> SinceEntry:
    """The account of a position at the snapshot's block."""
    if not changes or sum(change.liquidity_delta for change in changes) != snapshot.liquidity:
        return unknown_entry(snapshot, NOT_ADDED_UP)
    return _account(snapshot, changes)


def worth(amounts: Amounts, sqrt_price_x96: int) -> Fraction:
    """Units of currency1 that both amounts are worth at a price."""
    return amounts.amount1 + Fraction(amounts.amount0 * sqrt_price_x96**2, _PRICE_DENOMINATOR)


def _account(snapshot: PositionSnapshot, changes: tuple[LiquidityChange, ...]) -> SinceEntry:
    price = snapshot.pool.sqrt_price_x96
    block = snapshot.block
    read = (STORAGE, block.number, float(block.timestamp))
    principal = Known(Amounts(snapshot.amount0, snapshot.amount1), *read)
    uncollected = snapshot.fees
    deposited = total([change.amounts for change in changes if change.liquidity_delta > 0])
    withdrawn = total([change.amounts for change in changes if change.liquidity_delta < 0])
    collected = total([change.fees for change in changes])
    earned = total([collected, uncollected])

    def gain(now: Amounts, fees: Amounts, put_in: Amounts, taken_out: Amounts) -> Fraction:
        return (
            worth(now, price) + worth(fees, price) + worth(taken_out, price) - worth(put_in, price)
        )

    def loss(now: Amounts, put_in: Amounts, taken_out: Amounts) -> Fraction:
        without_fees = gain(now, Amounts(0, 0), put_in, taken_out)
        return without_fees / worth(put_in, price)

    return SinceEntry(
        ref=snapshot.ref,
        changes=changes,
        age_seconds=Known(
            block.timestamp - changes[0].timestamp,
            "block times",
            block.number,
            float(block.timestamp),
        ),
        deposited=deposited,
        withdrawn=withdrawn,
        fees_collected=collected,
        fees_earned=earned,
        held_instead=combine(Amounts.less, deposited, withdrawn),
        against_holding=combine(gain, principal, earned, deposited, withdrawn),
        impermanent_loss=combine(loss, principal, deposited, withdrawn),
        gas=combine(lambda *parts: sum(parts), *(change.gas for change in changes)),
    )


def unknown_entry(snapshot: PositionSnapshot, reason: Unknown) -> SinceEntry:
    return SinceEntry(
        ref=snapshot.ref,
        changes=(),
        age_seconds=reason,
        deposited=reason,
        withdrawn=reason,
        fees_collected=reason,
        fees_earned=reason,
        held_instead=reason,
        against_holding=reason,
        impermanent_loss=reason,
        gas=reason,
    )


# From the pool's hours and the liquidity the position had in each of them. A day is UTC's.
SETTLED_SECONDS = HOUR
"""So long after its end a day is final: by then no block of it is replaced any more."""

_NAMESPACE = "position days"


class DayOfRange(Struct, frozen=True, array_like=True):
    """In units of currency1 at the prices of the day, so that no later price changes it."""

    begin: int
    fees: int
    lvr: int
    """Lost to those who trade against a stale price, by hourly prices."""
    usd: tuple[float, float] | None = None
    """Fees and LVR in dollars, each hour at its own price; None where none was known."""
    eth: tuple[float, float] | None = None

    def worth_in(self, unit: WorthUnit) -> tuple[float, float] | None:
        return self.usd if unit is WorthUnit.USD else self.eth


class HourPrices(NamedTuple):
    """What the smallest unit of currency1 was worth at the end of each hour, by its begin."""

    by_hour: Mapping[int, float]
    otherwise: float | None = None
    """For hours that no pool tells of; None leaves their day without a worth."""

    def at(self, hour: int) -> float | None:
        return self.by_hour.get(hour, self.otherwise)


class HourlyPrices(NamedTuple):
    usd: HourPrices = HourPrices({})
    eth: HourPrices = HourPrices({})


NO_PRICES = HourlyPrices()


class HourOfRange(NamedTuple):
    """In units of currency1 at the price the hour ended with."""

    begin: int
    sqrt_price: int
    """Of the pool, when it ended."""
    fees: int
    lvr: int
    tokens: Amounts
    """The fees as they were paid."""


_Days: TypeAlias = tuple[DayOfRange, ...]


class DayMemory:
    """The days of positions that are over: what was told of them once is told again."""

    def __init__(self, store: Store, network: Network, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._network = network

    def load(self, ref: PositionRef) -> _Days:
        kept = self._store.read(_Days, _NAMESPACE, self._key(ref))
        if kept is None:
            v4_manager = self._network.contracts.position_manager
            older = f"{self._network.chain_id}/{v4_manager}/{older_name(ref)}"
            kept = self._store.read(_Days, _NAMESPACE, older)
        return kept or ()

    def save(self, ref: PositionRef, days: _Days) -> None:
        self._store.put(_NAMESPACE, self._key(ref), to_builtins(days), now=self._clock())

    def _key(self, ref: PositionRef) -> str:
        manager = manager_of(ref, self._network)
        return f"{self._network.chain_id}/{manager}/{ref.token_id}"


def settled_days(
    identity: PositionIdentity,
    account: SinceEntry,
    hours: PoolHours,
    memory: DayMemory,
    prices: HourlyPrices = NO_PRICES,
) -> _Days:
    """Every day that is known, oldest first; the last may still go on, the others never change."""
    known = memory.load(identity.ref)
    now = hours.last.timestamp
    found = {day.begin: day for day in days_of_range(identity, account, hours, prices)}
    days = found | {
        day.begin: _with_worth_of(day, found.get(day.begin)) for day in known if day.begin < now
    }
    over = tuple(days[begin] for begin in sorted(days) if begin + DAY + SETTLED_SECONDS <= now)
    if len(over) >= len(known) and over != known:
        memory.save(identity.ref, over)
    return tuple(days[begin] for begin in sorted(days))


def _with_worth_of(day: DayOfRange, other: DayOfRange | None) -> DayOfRange:
    """A day that was written down without its worth gets it once."""
    if other is None:
        return day
    return replace(day, usd=day.usd or other.usd, eth=day.eth or other.eth)


def days_of_range(
    identity: PositionIdentity,
    account: SinceEntry,
    hours: PoolHours,
    prices: HourlyPrices = NO_PRICES,
) -> _Days:
    """The days since it was opened that the hours cover from their beginning."""
    if not account.changes:
        return ()
    opened = account.changes[0].timestamp
    first = _day(max(opened, hours.since))
    if hours.since > max(first, opened):
        first += DAY
    earned: dict[int, list[HourOfRange]] = {
        begin: [] for begin in range(first, hours.last.timestamp, DAY)
    }
    for hour in hours_of_range(identity, account, hours):
        if _day(hour.begin) in earned:
            earned[_day(hour.begin)].append(hour)
    return tuple(
        DayOfRange(
            begin,
            sum(hour.fees for hour in found),
            sum(hour.lvr for hour in found),
            _worth_of_hours(found, prices.usd),
            _worth_of_hours(found, prices.eth),
        )
        for begin, found in earned.items()
    )


def _worth_of_hours(hours: Sequence[HourOfRange], prices: HourPrices) -> tuple[float, float] | None:
    fees = lvr = 0.0
    for hour in hours:
        price = prices.at(hour.begin)
        if price is None:
            return None
        fees, lvr = fees + hour.fees * price, lvr + hour.lvr * price
    return fees, lvr


def hours_of_range(
    identity: PositionIdentity, account: SinceEntry, hours: PoolHours, *, as_paid: bool = True
) -> Iterator[HourOfRange]:
    """Each hour in which anybody swapped, with what the range earned and lost in it.

    Where the hours reach back to its beginning their fees come to just what the contract paid;
    not `as_paid` they are the same whatever was read before them.
    """
    ticks = identity.tick_lower, identity.tick_upper
    edges = sqrt_price_at_tick(ticks[0]), sqrt_price_at_tick(ticks[1])
    changes = account.changes
    payouts = _payouts(account, hours) if as_paid else (_Payout(None, None, None),)
    parts = [_paid_in(identity, changes, payouts, hours, row) for row in hours.rows]
    exact = _as_paid(parts, payouts)
    for (opening, row), fees in zip(_with_openings(hours), exact, strict=True):
        end = min(row.hour + HOUR, hours.last.timestamp)
        held = LiquidityRange(*edges, liquidity_in(changes, row.hour, end))
        lvr = realised_lvr((opening, row.close), held)
        yield HourOfRange(row.hour, row.close, round(worth(fees, row.close)), lvr, fees)


class _Payout(NamedTuple):
    """What the contract paid for the time up to a change, or what waits since the last."""

    after: LiquidityChange | None
    until: LiquidityChange | None
    fees: Amounts | None
    """None where it is not known."""


def _payouts(account: SinceEntry, hours: PoolHours) -> tuple[_Payout, ...]:
    earned, found = account.fees_earned, []
    after, left = None, None if isinstance(earned, Unknown) else earned.value
    whole = bool(account.changes) and hours.since <= account.changes[0].timestamp
    for change in account.changes:
        fees = change.fees
        if isinstance(fees, Unknown) or left is None or not whole:
            return (_Payout(None, None, None),)
        if any(fees.value):
            found.append(_Payout(after, change, fees.value))
            after, left = change, left.less(fees.value)
    return (*found, _Payout(after, None, left))


def _paid_in(
    identity: PositionIdentity,
    changes: Sequence[LiquidityChange],
    payouts: Sequence[_Payout],
    hours: PoolHours,
    row: HourRow,
) -> list[tuple[float, float]]:
    """Of one hour what belongs to each payout: by its swaps where they are kept, else by time."""
    end = min(row.hour + HOUR, hours.last.timestamp)
    moved = any(row.hour <= change.timestamp < end for change in changes)
    if moved and row.hour >= hours.recent_since and hours.terms is not None:
        return _paid_by_swap(identity, changes, payouts, hours, row.hour)
    growth = growth_inside(row.path, identity.tick_lower, identity.tick_upper)
    parts = []
    for payout in payouts:
        begin = row.hour if payout.after is None else max(row.hour, payout.after.timestamp)
        until = end if payout.until is None else min(end, payout.until.timestamp)
        share = max(0, until - begin) / max(1, end - row.hour)
        held = liquidity_in(changes, begin, until) * share if share else 0.0
        parts.append((growth[0] * held, growth[1] * held))
    return parts


def _as_paid(
    parts: Sequence[Sequence[tuple[float, float]]], payouts: Sequence[_Payout]
) -> list[Amounts]:
    """Each payout's hours, brought to what was paid: hours that are all its own hardly move."""
    sums = [[0, 0] for _ in parts]
    for place, payout in enumerate(payouts):
        for token in (0, 1):
            told = [hour[place][token] for hour in parts]
            whole = None if payout.fees is None else payout.fees[token]
            for hour, units in enumerate(_brought_to(told, _shared(parts, place), whole)):
                sums[hour][token] += units
    return [Amounts(*each) for each in sums]


def _shared(parts: Sequence[Sequence[tuple[float, float]]], place: int) -> list[bool]:
    """The hours that a payout shares with another: what was estimated is estimated there."""
    return [any(any(part) for other, part in enumerate(hour) if other != place) for hour in parts]


def _brought_to(told: Sequence[float], shared: Sequence[bool], whole: int | None) -> list[int]:
    """Whole units that sum to what was paid."""
    units = [round(each) for each in told]
    if whole is None or not units:
        return units
    # First from the hours that were estimated, as far as they go, then from all.
    for places in ([place for place, each in enumerate(shared) if each], range(len(told))):
        missing, held = whole - sum(units), sum(units[place] for place in places)
        if missing and held + missing >= 0 and held:
            for place in places:
                units[place] += missing * units[place] // held
            units[max(places, key=lambda place: units[place])] += whole - sum(units)
    if sum(units) != whole:
        units[-1] += whole - sum(units)
    return units


def _paid_by_swap(
    identity: PositionIdentity,
    changes: Sequence[LiquidityChange],
    payouts: Sequence[_Payout],
    hours: PoolHours,
    hour: int,
) -> list[tuple[float, float]]:
    """What each swap of an hour paid to the liquidity that was there then, by payout."""
    assert hours.terms is not None
    parts = [(0.0, 0.0) for _ in payouts]
    earlier = (row.close for row in reversed(hours.rows) if row.hour < hour)
    before = PoolMoment(next(earlier, hours.opening))
    for swap in hours.recent:
        if hour <= swap.time < hour + HOUR:
            liquidity = sum(
                change.liquidity_delta
                for change in changes
                if change.place.block_number <= swap.block_number
            )
            path = tuple(paid_fees(swap, hours.terms, before).path)
            growth = growth_inside(path, identity.tick_lower, identity.tick_upper)
            place = sum(
                payout.until is not None and payout.until.place.block_number <= swap.block_number
                for payout in payouts
            )
            fees0, fees1 = parts[place]
            parts[place] = fees0 + growth[0] * liquidity, fees1 + growth[1] * liquidity
            before = before.after(swap)
    return parts


def liquidity_in(changes: Sequence[LiquidityChange], begin: int, end: int) -> int:
    """What a position had on average between two times."""
    if end <= begin:
        return sum(change.liquidity_delta for change in changes if change.timestamp <= begin)
    weighted = sum(
        change.liquidity_delta * (end - max(begin, change.timestamp))
        for change in changes
        if change.timestamp < end
    )
    return weighted // (end - begin)


def _with_openings(hours: PoolHours) -> Iterator[tuple[int, HourRow]]:
    """Each row with the price before its first swap; where that of the first of all is not known,
    no loss is told of it."""
    for row in hours.rows[:1]:
        yield hours.opening or row.close, row
    for before, row in pairwise(hours.rows):
        yield before.close, row


def _day(time: int) -> int:
    return time - time % DAY


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
    if not changes or any(isinstance(change.amounts, Unknown) for change in changes):
        return ()
    past = [
        hour
        for hour in hours_of_range(snapshot.identity, account, hours)
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
    before = [change for change in changes if change.timestamp <= time]
    liquidity = sum(change.liquidity_delta for change in before)
    edges = sqrt_price_at_tick(identity.tick_lower), sqrt_price_at_tick(identity.tick_upper)
    inside = amounts_for_liquidity(sqrt_price, *edges, max(0, liquidity), round_up=False)
    result = worth(inside, sqrt_price)
    for past_change in before:
        amounts = (
            Amounts(0, 0) if isinstance(past_change.amounts, Unknown) else past_change.amounts.value
        )
        moved = worth(amounts, sqrt_price)
        result += -moved if past_change.liquidity_delta > 0 else moved
    return result
