"""`zuno earned [PERIOD]`: what positions earned and lost by day, each and summed."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import DAY, Known, Quantity, Unknown, combine
from chain.history.events import fee_terms
from chain.history.hour_reader import HourMemory, read_given_hours
from chain.history.hours import PoolHours
from chain.positions.by_day import DayMemory, DayOfRange, ResultPoint, result_path, settled_days
from chain.positions.circumstances import LiquidityChange
from chain.positions.overview import Overview, Sources, read_worths
from chain.positions.performance import Performance, read_performance
from chain.positions.reference import PositionRef, position_label, position_name
from chain.positions.snapshot import PositionSnapshot
from chain.prices.price import WorthUnit
from chain.read.logs import ScanProgress
from chain.rpc.errors import RpcError
from chain.tokens import Token
from chain.tokens.pair import pair_of
from zuno_tui.app.portfolio import portfolio_entries, portfolio_targets, unread_entries
from zuno_tui.app.positions import reading_progress, wallet_overview
from zuno_tui.app.session import Session
from zuno_tui.app.watchlist import Target
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import table
from zuno_tui.present.portfolio import PortfolioEntry
from zuno_tui.present.terminal import columns
from zuno_tui.present.words import number, signed_money, worth

Watch = Callable[[ScanProgress], None]

EarningsTold = Callable[["WalletEarnings"], None]
_NO_DAY = Unknown("no full day is known yet")


class PeriodEarned(NamedTuple):
    """In the unit a person counts in, at present prices."""

    fees: Quantity[Fraction]
    result: Quantity[Fraction]
    """Fees less LVR."""
    days: int
    """How many days of the period are known."""


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
    hours: PoolHours
    changes: tuple[LiquidityChange, ...]
    unread: str = ""
    """Why the logs that days are made of were not told; empty where they were."""

    def earned(self, count: int) -> PeriodEarned:
        """Of the last so many UTC days, the present one included."""
        fees, lvr, known = earned_in(self.days, self.now, count)
        if not known:
            unknown = Unknown(self.unread) if self.unread else _NO_DAY
            return PeriodEarned(unknown, unknown, 0)
        return PeriodEarned(
            self.unit1.map(lambda each: fees * each),
            self.unit1.map(lambda each: (fees - lvr) * each),
            known,
        )


class WalletEarnings(Struct, frozen=True):
    """One wallet on one network: what it is worth, and what its positions earned."""

    entry: PortfolioEntry
    positions: tuple[PositionEarnings, ...] | None = None
    """None until they were read, or where they could not be: then the entry says why."""
    days: int = 0
    """How far back was read."""
    trouble: str = ""
    """Why what was earned could not be read though the worth could."""


async def read_whole_earnings(
    session: Session, stretches: Sequence[int], tell: EarningsTold, watch: Watch
) -> None:
    """Every wallet on every network: told with its worth, and again for each stretch of days.

    Networks are read at once, as each has its own endpoints; one that cannot be read says so.
    """
    found = await portfolio_targets(session, ())
    await asyncio.gather(
        *(_of_network(session, earnings, stretches, tell, watch) for earnings in found)
    )


async def _of_network(
    session: Session, target: Target, stretches: Sequence[int], tell: EarningsTold, watch: Watch
) -> None:
    unit = session.settings.unit
    try:
        async with replace(session, network=target.network).sources() as sources:
            worths = await read_worths(sources, target.wallets, unit, with_v3=True)
            entries = portfolio_entries(session, target, worths)
            for entry in entries:
                tell(WalletEarnings(entry))
            for days in stretches:
                for entry in entries:
                    tell(await _of_wallet(sources, entry, unit, days, watch))
    except RpcError as error:
        for entry in unread_entries(session, target, error):
            tell(WalletEarnings(entry, trouble=error.sentence))


async def _of_wallet(
    sources: Sources, entry: PortfolioEntry, unit: WorthUnit, days: int, watch: Watch
) -> WalletEarnings:
    """What was earned, or why it cannot be told; the wallet's worth is known either way."""
    if entry.worth is None:
        return WalletEarnings(entry)
    try:
        positions = await read_earnings(sources, entry.worth.overview, unit, days, watch)
    except RpcError as error:
        return WalletEarnings(entry, trouble=error.sentence)
    return WalletEarnings(entry, positions, days)


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
    memory = DayMemory(sources.store, network, sources.clock)
    telling = _Telling(sources, overview, performance, unit, memory)
    return tuple(telling.of(snapshot, hours[snapshot.pool.pool_id]) for snapshot in held)


def earned_in(days: Sequence[DayOfRange], now: int, count: int) -> tuple[int, int, int]:
    """Fees, LVR and how many of the last so many UTC days are known, the present one included."""
    first = now - now % DAY - (count - 1) * DAY
    inside = [day for day in days if first <= day.begin <= now]
    return sum(day.fees for day in inside), sum(day.lvr for day in inside), len(inside)


def fees_by_day(positions: Sequence[PositionEarnings], begin: int) -> tuple[tuple[str, float], ...]:
    """Of all of them together, by UTC day from then on; what nobody prices is left out."""
    sums: dict[int, float] = {}
    for position in positions:
        for day in position.days:
            if day.begin >= begin and isinstance(position.unit1, Known):
                sums[day.begin] = sums.get(day.begin, 0.0) + float(day.fees * position.unit1.value)
    return tuple(
        (f"{datetime.fromtimestamp(day, UTC):%d %b}", fees) for day, fees in sorted(sums.items())
    )


def fees_since_entry(
    days: Sequence[DayOfRange],
    unit1: Quantity[Fraction],
    opened: int,
    at_present: Quantity[Fraction],
) -> Quantity[Fraction]:
    """All days at their own prices, as every shorter period counts them.

    Where days before those are not known, all that was paid counts at present prices, and never
    less than the days that are known.
    """
    by_day = unit1.map(lambda each: sum(day.fees for day in days) * each)
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

    def of(self, snapshot: PositionSnapshot, hours: PoolHours) -> PositionEarnings:
        overview, key = self.overview, snapshot.pool.key
        token0, token1 = overview.tokens[key.currency0], overview.tokens[key.currency1]
        account = self.performance.accounts[snapshot.ref]
        pair = pair_of(self.sources.network, token0, token1, snapshot.pool.sqrt_price_x96)
        won = self.performance.gains(snapshot.ref, token1, overview.prices, self.unit)
        worths = {each.ref: each.total for each in overview.portfolio.positions}
        earned, unit1 = account.fees_earned, self._unit1(token1)
        days = settled_days(snapshot.identity, account.changes, hours, self.memory)
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
            now=hours.last.timestamp,
            # Without its changes nobody knows since when the days that are known are all of them.
            fees=fees_since_entry(days, unit1, opened, at_present)
            if account.changes
            else at_present,
            against_holding=won.against_holding,
            path=result_path(snapshot, account, hours),
            hours=hours,
            changes=account.changes,
            unread=hours.unread or (earned.reason if isinstance(earned, Unknown) else ""),
        )

    def _unit1(self, token1: Token) -> Quantity[Fraction]:
        if token1.decimals is None:
            return Unknown(f"{token1.label} gives no usable decimals")
        whole = 10**token1.decimals
        return self.overview.prices.price(token1.address, self.unit).map(
            lambda price: price / whole
        )


EarningPeriod: TypeAlias = Literal["today", "week", "month", "all"]

_DAYS: dict[EarningPeriod, int] = {"today": 1, "week": 7, "month": 30}
_MOST_DAYS = 30
_COLUMNS = columns("#>", "POOL", "FEES>", "RESULT>", "DAYS>")
_BY_DAY = "result: fees less LVR, by the UTC days that are known"
_SINCE_ENTRY = "result: against holding what was put in, since each position was opened"


class PositionEarned(Struct, frozen=True):
    """In the unit a person counts in, at present prices."""

    ref: PositionRef
    pair: str
    fees: Quantity[Fraction]
    result: Quantity[Fraction]
    days: int | None
    """How many days of the period are known; None since the position was opened."""


async def wallet_earned(session: Session, period: EarningPeriod) -> CommandAnswer:
    unit = session.settings.unit
    async with session.sources() as sources:
        overview = await wallet_overview(session, sources)
        watch = reading_progress(session.narrate)
        found = await read_earnings(sources, overview, unit, _DAYS.get(period, _MOST_DAYS), watch)
    rows = [_row(earnings, period) for earnings in found]
    fees, result = known_sum([row.fees for row in rows]), known_sum([row.result for row in rows])
    missing = [f"{position_label(row.ref)} ({why})" for row in rows if (why := _unknown(row))]
    basis = _SINCE_ENTRY if period == "all" else _BY_DAY
    return CommandAnswer(
        heading=(
            f"{session.network.title} · {period} · fees {worth(fees, unit)}, "
            f"result {signed_money(result, unit)}",
            basis,
            *(f"Not in the sum: {words}" for words in missing),
        ),
        lines=tuple(table(_COLUMNS, [_cells(row, unit) for row in rows])) if rows else (),
        document={
            "network": session.network.name,
            "chainId": session.network.chain_id,
            "block": overview.wallet.block.number,
            "period": period,
            "basis": basis,
            "unit": unit.value,
            "fees": number(fees),
            "result": number(result),
            "missing": list(missing),
            "positions": [
                {
                    "tokenId": position_name(row.ref),
                    "pair": row.pair,
                    "fees": number(row.fees),
                    "result": number(row.result),
                    "days": row.days,
                }
                for row in rows
            ],
        },
    )


def _row(earnings: PositionEarnings, period: EarningPeriod) -> PositionEarned:
    ref = earnings.snapshot.ref
    if period == "all":
        return PositionEarned(ref, earnings.pair, earnings.fees, earnings.against_holding, None)
    return PositionEarned(ref, earnings.pair, *earnings.earned(_DAYS[period]))


def _unknown(row: PositionEarned) -> str:
    parts = (row.fees, row.result)
    return next((part.reason for part in parts if isinstance(part, Unknown)), "")


def _cells(row: PositionEarned, unit: WorthUnit) -> tuple[str, ...]:
    days = "" if row.days is None else str(row.days)
    return (
        position_name(row.ref),
        row.pair,
        worth(row.fees, unit),
        signed_money(row.result, unit),
        days,
    )
