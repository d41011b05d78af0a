"""`zuno earned [PERIOD]`: what positions earned and lost by day, each and summed."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import DAY, Known, Quantity, Unknown, combine
from chain.bookkeeping.facts import PositionLife
from chain.bookkeeping.wallet_history import read_closed_lives
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolId
from chain.history.events import fee_terms
from chain.history.hour_reader import HourMemory, read_given_hours
from chain.history.hours import PoolHours
from chain.positions.by_day import (
    DayMemory,
    DayOfRange,
    ResultPoint,
    SinceEntry,
    result_path,
    settled_days,
    since_entry,
    unknown_entry,
)
from chain.positions.overview import (
    Overview,
    Sources,
    currencies,
    pricing_keys,
    read_worths,
    tokens_at,
)
from chain.positions.performance import DailyResult, Performance, read_performance
from chain.prices.ladder import read_prices
from chain.prices.price import PriceBook, WorthUnit
from chain.protocols.custody import Custody
from chain.protocols.past import NOT_ADDED_UP
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot
from chain.protocols.v4.storage import layout_of, pool_snapshot, position_snapshot
from chain.read.block_reader import OneBlock, read_slots
from chain.read.logs import LOGS_NOT_GIVEN, ScanProgress, why_not_given
from chain.rpc.errors import RpcError
from chain.tokens import Token
from chain.tokens.pair import pair_of
from zuno_tui.app.portfolio import portfolio_entries, portfolio_targets, unread_entries
from zuno_tui.app.positions import reading_progress, wallet_overview
from zuno_tui.app.session import Session
from zuno_tui.app.watchlist import Target
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document
from zuno_tui.present.pages.cells import fee_words
from zuno_tui.present.pages.earned import (
    DayEarned,
    EarnedReport,
    EarningPeriod,
    PositionEarned,
    earned_page,
    missing_words,
)
from zuno_tui.present.past_day import PastPrices, past_prices
from zuno_tui.present.portfolio import PortfolioEntry

Watch = Callable[[ScanProgress], None]

EarningsTold = Callable[["WalletEarnings"], None]
_NO_DAY = Unknown("no full day is known yet")
_GIVEN = Unknown("it came from another wallet or left for one")
_CLOSED = Unknown("it is closed")
_NOTHING: Quantity[Fraction] = Known(Fraction(0), "it was closed before")
_CENT = Fraction(1, 100)


class PeriodEarned(NamedTuple):
    """In the unit a person counts in, at present prices."""

    fees: Quantity[Fraction]
    net: Quantity[Fraction]
    """Fees less LVR."""
    days: int
    """How many days of the period are known."""


class DayWorth(NamedTuple):
    """As it is shown, in the unit a person counts in."""

    fees: Quantity[Fraction]
    lvr: Quantity[Fraction]


class PositionEarnings(Struct, frozen=True):
    snapshot: PositionSnapshot
    pair: str
    unit1: Quantity[Fraction]
    """What one smallest unit of currency1 is worth now, in the unit a person counts in."""
    worth: Quantity[Fraction]
    """With its uncollected fees."""
    opened: int
    days: tuple[DayOfRange, ...]
    now: int
    fees: Quantity[Fraction]
    """Since it was opened, collected or not."""
    against_holding: Quantity[Fraction]
    path: tuple[ResultPoint, ...]
    """How it stood against holding, hour by hour, in units of currency1."""
    hours: PoolHours | None
    """None of one that was closed before the days that were read."""
    account: SinceEntry
    unit: WorthUnit
    unread: str = ""
    """Why the logs that days are made of were not told; empty where they were."""
    closed: int | None = None
    """When it was closed, or moved into another; None while it is held."""

    def in_period(self, count: int, *, without: int = 0) -> PeriodEarned:
        """Of the last so many UTC days, the present one included; without the newest of them."""
        days = days_in(self.days, self.now, count, without=without)
        if not self.counts_in(count):
            return PeriodEarned(_NOTHING, _NOTHING, 0)
        if not days:
            unknown = Unknown(self.unread) if self.unread else _NO_DAY
            return PeriodEarned(unknown, unknown, 0)
        fees, lvr = (
            combine(lambda *parts: sum(parts, Fraction(0)), *parts)
            for parts in zip(*(self.worth_of(day) for day in days), strict=True)
        )
        return PeriodEarned(fees, combine(Fraction.__sub__, fees, lvr), len(days))

    def worth_of(self, day: DayOfRange) -> DayWorth:
        return day_worth(day, self.unit1, self.unit)

    def counts_in(self, count: int | None) -> bool:
        """Whether it was there in the last so many UTC days; None is all days there were."""
        if self.closed is None or count is None:
            return True
        return self.closed >= first_day(self.now, count)


class ClosedEarnings(Struct, frozen=True):
    """Positions that are closed or were moved into others: what they earned stays earned."""

    positions: tuple[PositionEarnings, ...] = ()
    unread: str = ""
    """Why they could not be read."""


class WalletEarnings(Struct, frozen=True):
    """One wallet on one network: what it is worth, and what its positions earned."""

    entry: PortfolioEntry
    positions: tuple[PositionEarnings, ...] | None = None
    """None until they were read, or where they could not be: then the entry says why."""
    days: int = 0
    """How far back was read."""
    trouble: str = ""
    """Why what was earned could not be read though the worth could."""
    closed: ClosedEarnings | None = None
    """Those it had once; None until they were read."""


async def read_whole_earnings(
    session: Session,
    named: Sequence[str],
    stretches: Sequence[int],
    tell: EarningsTold,
    watch: Watch,
) -> None:
    """The wallets that are named, or all, on every network: told with its worth, again for each
    stretch of days, and with what is closed by now.

    Networks are read at once, as each has its own endpoints; one that cannot be read says so.
    """
    found = await portfolio_targets(session, named)
    await asyncio.gather(
        *(_of_network(session, earnings, stretches, tell, watch) for earnings in found)
    )


async def _of_network(
    session: Session, target: Target, stretches: Sequence[int], tell: EarningsTold, watch: Watch
) -> None:
    unit = session.settings.unit
    try:
        async with replace(session, network=target.network).sources() as sources:
            worths = await read_worths(sources, target.wallets, unit, every_protocol=True)
            entries = portfolio_entries(session, target, worths)
            for entry in entries:
                tell(WalletEarnings(entry))
            for days in stretches:
                for entry in entries:
                    tell(
                        await _of_wallet(
                            sources, entry, unit, days, watch, with_closed=days == stretches[-1]
                        )
                    )
    except RpcError as error:
        for entry in unread_entries(session, target, error):
            tell(WalletEarnings(entry, trouble=error.sentence))


async def _of_wallet(
    sources: Sources,
    entry: PortfolioEntry,
    unit: WorthUnit,
    days: int,
    watch: Watch,
    *,
    with_closed: bool,
) -> WalletEarnings:
    """What was earned, or why it cannot be told; the wallet's worth is known either way."""
    if entry.worth is None:
        return WalletEarnings(entry)
    overview = entry.worth.overview
    try:
        positions = await read_earnings(sources, overview, unit, days, watch)
    except RpcError as error:
        return WalletEarnings(entry, trouble=error.sentence)
    told = WalletEarnings(entry, positions, days)
    if not with_closed:
        return told
    try:
        return replace(
            told, closed=await read_closed(sources, overview, unit, days, watch, held=positions)
        )
    except RpcError as error:
        return replace(told, closed=ClosedEarnings(unread=error.sentence))


async def read_earnings(
    sources: Sources, overview: Overview, unit: WorthUnit, days: int, watch: Watch
) -> tuple[PositionEarnings, ...]:
    """Of every position, by so many UTC days, the present one included, and since it was opened."""
    held = overview.wallet.positions
    if not held:
        return ()
    performance = await read_performance(sources, held)
    network = sources.network
    hours = await read_given_hours(
        sources.client,
        network,
        {snapshot.pool.pool_id: fee_terms(snapshot.pool) for snapshot in held},
        (days + 1) * DAY,
        memory=HourMemory(sources.store, network, sources.clock),
        head=overview.wallet.block,
        watch=watch,
    )
    return _earnings_of(sources, overview, performance, hours, unit)


def remembered_earnings(
    sources: Sources, overview: Overview, performance: Performance, unit: WorthUnit, since: int
) -> tuple[PositionEarnings, ...] | None:
    """The same, asking nothing: by the hours that were read with the performance, and those that
    are kept of the time before; None where they do not reach back so far."""
    memory = HourMemory(sources.store, sources.network, sources.clock)
    hours: dict[PoolId, PoolHours] = {}
    for snapshot in overview.wallet.positions:
        pool, terms = snapshot.pool.pool_id, fee_terms(snapshot.pool)
        now, kept = performance.hours.get(pool), memory.load(pool, terms)
        if now is None or now.unread or kept is None:
            return None
        if kept.since > since or kept.last.number < now.last.number:
            return None
        hours[pool] = kept.hours(pool, now.last, terms)
    return _earnings_of(sources, overview, performance, hours, unit)


def _earnings_of(
    sources: Sources,
    overview: Overview,
    performance: Performance,
    hours: Mapping[PoolId, PoolHours],
    unit: WorthUnit,
) -> tuple[PositionEarnings, ...]:
    held, network = overview.wallet.positions, sources.network
    memory = DayMemory(sources.store, network, sources.clock)
    prices = past_prices(
        network,
        overview.prices,
        overview.wallet.block.timestamp,
        [(snapshot, hours[snapshot.pool.pool_id]) for snapshot in held],
    )
    telling = _Telling(sources, overview, performance, unit, memory, prices)
    return tuple(telling.of(snapshot, hours[snapshot.pool.pool_id]) for snapshot in held)


async def read_closed(
    sources: Sources,
    overview: Overview,
    unit: WorthUnit,
    days: int,
    watch: Watch,
    *,
    held: Sequence[PositionEarnings] = (),
) -> ClosedEarnings:
    """The same of the positions that the wallet had once; hours of pools that it left before these
    days are not read. The pools of those that are held tell past prices, too."""
    wallet, network = overview.wallet, sources.network
    try:
        lives = await read_closed_lives(sources, wallet, watch=watch)
    except LOGS_NOT_GIVEN as error:
        return ClosedEarnings(unread=why_not_given(error))
    if not lives:
        return ClosedEarnings()
    identities = [life.identity for life in lives]
    snapshots = await _as_they_are(sources, overview, identities)
    first = first_day(wallet.block.timestamp, days)
    recent = {life.identity.ref for life in lives if life.changes and _closed_at(life) >= first}
    hours = await read_given_hours(
        sources.client,
        network,
        {each.pool.pool_id: fee_terms(each.pool) for each in snapshots if each.ref in recent},
        (days + 1) * DAY,
        memory=HourMemory(sources.store, network, sources.clock),
        head=wallet.block,
        watch=watch,
    )
    accounts = {
        each.ref: unknown_entry(each, NOT_ADDED_UP if life.left_out else _GIVEN)
        if life.left_out or life.given
        else since_entry(each, life.changes)
        for each, life in zip(snapshots, lives, strict=True)
    }
    daily = {ref: DailyResult(ref, 0, _CLOSED, _CLOSED, _CLOSED) for ref in accounts}
    memory = DayMemory(sources.store, network, sources.clock)
    priced = await _with_prices_of(sources, overview, identities)
    prices = past_prices(
        network,
        priced.prices,
        wallet.block.timestamp,
        [
            *((each.snapshot, each.hours) for each in held if each.hours is not None),
            *((each, hours[each.pool.pool_id]) for each in snapshots if each.ref in recent),
        ],
    )
    telling = _Telling(sources, priced, Performance(accounts, daily), unit, memory, prices)
    return ClosedEarnings(
        tuple(
            replace(
                telling.of(each, hours[each.pool.pool_id] if each.ref in recent else None),
                worth=_NOTHING,
                closed=_closed_at(life) if life.changes else wallet.block.timestamp,
            )
            for each, life in zip(snapshots, lives, strict=True)
        )
    )


def _closed_at(life: PositionLife) -> int:
    return life.changes[-1].timestamp


async def _as_they_are(
    sources: Sources, overview: Overview, identities: Sequence[PositionIdentity]
) -> list[PositionSnapshot]:
    """Ranges without liquidity, in pools that go on."""
    block, manager = overview.wallet.block, sources.network.contracts.position_manager
    here = OneBlock(sources.client, sources.network, block.hash)
    slots = (slot for each in identities for slot in layout_of(each, manager).slots)
    words = (await read_slots(here, sources.network, slots)).words
    nobody = Custody(NATIVE, None, None)
    return [
        position_snapshot(
            each,
            manager,
            words,
            block=block,
            pool=pool_snapshot(each, manager, words, None),
            custody=nobody,
        )
        for each in identities
    ]


async def _with_prices_of(
    sources: Sources, overview: Overview, identities: Sequence[PositionIdentity]
) -> Overview:
    """With tokens that no position holds by now."""
    known, at = overview.prices, overview.wallet.block.hash
    missing = [token for token in currencies(identities) if token not in overview.tokens]
    if not missing:
        return overview
    tokens, prices = await asyncio.gather(
        tokens_at(sources, missing, at),
        read_prices(
            sources.client,
            sources.network,
            missing,
            coingecko=sources.coingecko,
            at=at,
            also=pricing_keys(identities),
        ),
    )
    book = PriceBook({**prices.prices, **known.prices}, prices.ether)
    return replace(overview, tokens={**tokens, **overview.tokens}, prices=book)


def first_day(now: int, count: int) -> int:
    """When the first of the last so many UTC days began, the present one included."""
    return now - now % DAY - (count - 1) * DAY


def days_in(
    days: Sequence[DayOfRange], now: int, count: int, *, without: int = 0
) -> list[DayOfRange]:
    """Those of the last so many UTC days that are known, the present one included.

    The newest of them may be left out.
    """
    first, last = first_day(now, count), first_day(now, 1 + without)
    return [day for day in days if first <= day.begin <= last]


def as_shown(value: Fraction, unit: WorthUnit) -> Fraction:
    """In cents from a cent on: a reader who adds up days comes to the sums that are shown."""
    if unit is not WorthUnit.USD or abs(value) < _CENT:
        return value
    return Fraction(round(100 * value), 100)


def day_fees(
    days: Sequence[DayOfRange], unit1: Quantity[Fraction], unit: WorthUnit
) -> Quantity[Fraction]:
    """Each day as it is shown, added up."""
    parts = (day_worth(day, unit1, unit).fees for day in days)
    return combine(lambda _, *fees: sum(fees, Fraction(0)), unit1, *parts)


def day_worth(day: DayOfRange, unit1: Quantity[Fraction], unit: WorthUnit) -> DayWorth:
    """Each hour at its own price where one was known, else at the price of now."""
    valued = day.worth_in(unit)

    def as_money(place: int, units: int) -> Quantity[Fraction]:
        return unit1.map(
            lambda each: as_shown(units * each if valued is None else Fraction(valued[place]), unit)
        )

    return DayWorth(as_money(0, day.fees), as_money(1, day.lvr))


def fees_by_day(positions: Sequence[PositionEarnings], begin: int) -> tuple[tuple[str, float], ...]:
    """Of all of them together, by UTC day from then on; what nobody prices is left out."""
    sums: dict[int, float] = {}
    for position in positions:
        for day in position.days:
            fees = day_fees([day], position.unit1, position.unit)
            if day.begin >= begin and isinstance(fees, Known):
                sums[day.begin] = sums.get(day.begin, 0.0) + float(fees.value)
    return tuple(
        (f"{datetime.fromtimestamp(day, UTC):%d %b}", fees) for day, fees in sorted(sums.items())
    )


def fees_since_entry(
    days: Sequence[DayOfRange],
    unit1: Quantity[Fraction],
    opened: int,
    at_present: Quantity[Fraction],
    unit: WorthUnit,
) -> Quantity[Fraction]:
    """All days at their own prices, as every shorter period counts them.

    Where days before those are not known, all that was paid counts at present prices, and never
    less than the days that are known.
    """
    by_day = day_fees(days, unit1, unit)
    if days and days[0].begin <= opened:
        return by_day
    return combine(max, by_day, at_present)


def known_sum(values: Sequence[Quantity[Fraction]]) -> Quantity[Fraction]:
    """What is known of them, summed; unknown where nothing is."""
    known = [value for value in values if not isinstance(value, Unknown)]
    if values and not known:
        return Unknown("it is not known for any position")
    return combine(lambda *parts: sum(parts, Fraction(0)), Known(Fraction(0), "days"), *known)


class _Telling(Struct, frozen=True):
    sources: Sources
    overview: Overview
    performance: Performance
    unit: WorthUnit
    memory: DayMemory
    prices: PastPrices

    def of(self, snapshot: PositionSnapshot, hours: PoolHours | None) -> PositionEarnings:
        overview, key = self.overview, snapshot.pool.key
        token0, token1 = overview.tokens[key.currency0], overview.tokens[key.currency1]
        account = self.performance.accounts[snapshot.ref]
        pair = pair_of(self.sources.network, token0, token1, snapshot.pool.sqrt_price_x96)
        won = self.performance.gains(snapshot.ref, token1, overview.prices, self.unit)
        worths = {each.ref: each.total for each in overview.portfolio.positions}
        earned, unit1 = account.fees_earned, self._unit1(token1)
        days = (
            self.memory.load(snapshot.ref)
            if hours is None
            else settled_days(
                snapshot.identity, account, hours, self.memory, self.prices.of(token1)
            )
        )
        opened = account.changes[0].timestamp if account.changes else snapshot.block.timestamp
        at_present: Quantity[Fraction] = (
            earned
            if isinstance(earned, Unknown)
            else known_sum(
                [
                    overview.prices.value(token, amount, self.unit)
                    for token, amount in zip((token0, token1), earned.value, strict=True)
                ]
            )
        )
        return PositionEarnings(
            snapshot=snapshot,
            pair=pair.name,
            unit1=unit1,
            worth=worths.get(snapshot.ref, Unknown("its value could not be read")),
            opened=opened,
            days=days,
            now=snapshot.block.timestamp,
            # Without its changes nobody knows since when the days that are known are all of them.
            fees=fees_since_entry(days, unit1, opened, at_present, self.unit)
            if account.changes
            else at_present,
            against_holding=won.against_holding,
            path=() if hours is None else result_path(snapshot, account, hours),
            hours=hours,
            account=account,
            unit=self.unit,
            unread=(hours.unread if hours else "")
            or (earned.reason if isinstance(earned, Unknown) else ""),
        )

    def _unit1(self, token1: Token) -> Quantity[Fraction]:
        if token1.decimals is None:
            return Unknown(f"{token1.label} gives no usable decimals")
        whole = 10**token1.decimals
        return self.overview.prices.price(token1.address, self.unit).map(
            lambda price: price / whole
        )


_DAYS: dict[EarningPeriod, int] = {"today": 1, "yesterday": 2, "week": 7, "month": 30}
"""How far back each begins, in UTC days with the present one."""
_MOST_DAYS = 30


async def wallet_earned(session: Session, period: EarningPeriod) -> CommandAnswer:
    unit = session.settings.unit
    async with session.sources() as sources:
        overview = await wallet_overview(session, sources)
        watch = reading_progress(session.narrate)
        days = _DAYS.get(period, _MOST_DAYS)
        found = await read_earnings(sources, overview, unit, days, watch)
        closed = await read_closed(sources, overview, unit, days, watch, held=found)
    network = session.network
    rows = [_row(earnings, period) for earnings in found]
    gone = [each for each in closed.positions if each.counts_in(_DAYS.get(period))]
    over = [_row(each, period) for each in gone]
    missing = [missing_words(row) for row in (*rows, *over) if row.why_unknown]
    if closed.unread:
        missing.append(f"closed positions ({closed.unread})")
    against = known_sum([each.against_holding for each in (*found, *closed.positions)])
    earned = EarnedReport(
        network=network.name,
        chain_id=network.chain_id,
        block=overview.wallet.block.number,
        period=period,
        unit=unit,
        fees=known_sum([row.fees for row in (*rows, *over)]),
        net=known_sum([row.net for row in (*rows, *over)]),
        vs_hold=against if period == "all" else None,
        missing=tuple(missing),
        by_day=tuple(_by_day([*found, *gone], period)),
        positions=tuple(rows),
        closed=tuple(over),
        closed_fees=known_sum([row.fees for row in over]),
        closed_net=known_sum([row.net for row in over]),
    )
    return CommandAnswer((), document(earned), view=earned_page(earned, network.title))


def _by_day(positions: Sequence[PositionEarnings], period: EarningPeriod) -> Iterator[DayEarned]:
    """Each day as its positions show it, added up."""
    sums: dict[int, tuple[Fraction, Fraction]] = {}
    for position in positions:
        if isinstance(position.unit1, Unknown):
            continue
        without = 1 if period == "yesterday" else 0
        count = _DAYS.get(period, _MOST_DAYS)
        for day in days_in(position.days, position.now, count, without=without):
            fees, lvr = sums.get(day.begin, (Fraction(0), Fraction(0)))
            worth = position.worth_of(day)
            if isinstance(worth.fees, Known) and isinstance(worth.lvr, Known):
                sums[day.begin] = fees + worth.fees.value, lvr + worth.lvr.value
    for begin, (fees, lvr) in sorted(sums.items()):
        yield DayEarned(f"{datetime.fromtimestamp(begin, UTC):%Y-%m-%d}", float(fees), float(lvr))


def _row(earnings: PositionEarnings, period: EarningPeriod) -> PositionEarned:
    snapshot = earnings.snapshot
    pool = f"{earnings.pair} {fee_words(snapshot.pool.key)}"
    if period == "all":
        # All fees since it was opened; the net of the days that are known.
        known = earnings.in_period(_MOST_DAYS)
        return PositionEarned(snapshot.ref, pool, earnings.fees, known.net, known.days)
    of_today = 1 if period == "yesterday" else 0
    return PositionEarned(snapshot.ref, pool, *earnings.in_period(_DAYS[period], without=of_today))
