"""`zuno earned [PERIOD]`: what positions earned and lost by day, each and summed."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from chain.base.quantity import Known, Unknown, combine
from chain.base.units import DAY
from chain.history.flows import FeeTerms
from chain.history.hour_memory import HourMemory
from chain.history.hour_reader import read_hours
from chain.positions.by_day import DayMemory, settled_days
from chain.positions.overview import read_overview
from chain.positions.performance import gains, read_performance
from chain.tokens.pair import pair_of
from zuno_tui.commands.running.positions import telling_progress
from zuno_tui.session.reading_progress import reading_progress
from zuno_tui.shown.answer import CommandAnswer
from zuno_tui.shown.output import OutputColumn, table
from zuno_tui.shown.words import number, signed_money, worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.base.quantity import Quantity
    from chain.positions.by_day import DayOfRange
    from chain.positions.overview import Overview, Sources
    from chain.positions.performance import Performance
    from chain.positions.snapshot import PositionSnapshot
    from chain.prices.price import WorthUnit
    from zuno_tui.session.session import Session

EarningPeriod: TypeAlias = Literal["today", "week", "month", "all"]

_DAYS: dict[EarningPeriod, int] = {"today": 1, "week": 7, "month": 30}
_COLUMNS = (
    OutputColumn("#", "right"),
    OutputColumn("POOL"),
    OutputColumn("FEES", "right"),
    OutputColumn("RESULT", "right"),
    OutputColumn("DAYS", "right"),
)
_BY_DAY = "result: fees less LVR, by the UTC days that are known"
_SINCE_ENTRY = "result: against holding what was put in, since each position was opened"


class PositionEarned(Struct, frozen=True):
    """In the unit a person counts in, at present prices."""

    token_id: int
    pair: str
    fees: Quantity[Fraction]
    result: Quantity[Fraction]
    days: int | None
    """How many days of the period are known; None since the position was opened."""


async def wallet_earned(session: Session, period: EarningPeriod) -> CommandAnswer:
    unit = session.settings.unit
    async with session.sources() as sources:
        overview = await read_overview(
            sources, session.address, unit, watch=telling_progress(session)
        )
        held = overview.wallet.positions
        performance = await read_performance(sources, held)
        if period == "all":
            rows = [_since_entry(session, overview, performance, one) for one in held]
        else:
            rows = await _by_day(session, sources, overview, performance, _DAYS[period])
    fees, result = _sum([row.fees for row in rows]), _sum([row.result for row in rows])
    missing = [f"#{row.token_id} ({why})" for row in rows if (why := _unknown(row))]
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
                    "tokenId": str(row.token_id),
                    "pair": row.pair,
                    "fees": number(row.fees),
                    "result": number(row.result),
                    "days": row.days,
                }
                for row in rows
            ],
        },
    )


def earned_in(days: Sequence[DayOfRange], now: int, count: int) -> tuple[int, int, int]:
    """Fees, LVR and how many of the last so many UTC days are known, the present one included."""
    first = now - now % DAY - (count - 1) * DAY
    inside = [day for day in days if first <= day.begin <= now]
    return sum(day.fees for day in inside), sum(day.lvr for day in inside), len(inside)


async def _by_day(
    session: Session,
    sources: Sources,
    overview: Overview,
    performance: Performance,
    count: int,
) -> list[PositionEarned]:
    held = overview.wallet.positions
    if not held:
        return []
    terms = {one.pool.pool_id: FeeTerms(one.pool.key.fee, one.pool.protocol_fee) for one in held}
    network = sources.network
    hours = await read_hours(
        sources.client,
        network,
        terms,
        (count + 1) * DAY,
        memory=HourMemory(sources.store, network, sources.clock),
        watch=reading_progress(session.narrate),
    )
    memory = DayMemory(sources.store, network, sources.clock)
    rows = []
    for one in held:
        pool_hours = hours[one.pool.pool_id]
        changes = performance.accounts[one.token_id].changes
        days = settled_days(one.identity, changes, pool_hours, memory)
        fees, lvr, known = earned_in(days, pool_hours.last.timestamp, count)
        valued = [_in_unit(session, overview, one, units) for units in (fees, fees - lvr)]
        nothing = Unknown("no day of it is known yet")
        rows.append(
            PositionEarned(
                one.token_id,
                _pair(session, overview, one),
                valued[0] if known else nothing,
                valued[1] if known else nothing,
                known,
            )
        )
    return rows


def _since_entry(
    session: Session, overview: Overview, performance: Performance, one: PositionSnapshot
) -> PositionEarned:
    unit, key = session.settings.unit, one.pool.key
    tokens = overview.tokens[key.currency0], overview.tokens[key.currency1]
    account = performance.accounts[one.token_id]
    fees: Quantity[Fraction]
    if isinstance(account.fees_earned, Unknown):
        fees = account.fees_earned
    else:
        amounts = zip(tokens, account.fees_earned.value, strict=True)
        fees = _sum([overview.prices.value(token, amount, unit) for token, amount in amounts])
    won = gains(account, performance.daily[one.token_id], tokens[1], overview.prices, unit)
    pair = _pair(session, overview, one)
    return PositionEarned(one.token_id, pair, fees, won.against_holding, None)


def _in_unit(
    session: Session, overview: Overview, one: PositionSnapshot, units: int
) -> Quantity[Fraction]:
    token1 = overview.tokens[one.pool.key.currency1]
    return overview.prices.value(token1, units, session.settings.unit)


def _pair(session: Session, overview: Overview, one: PositionSnapshot) -> str:
    key = one.pool.key
    tokens = overview.tokens[key.currency0], overview.tokens[key.currency1]
    return pair_of(session.network, *tokens, one.pool.sqrt_price_x96).name


def _sum(values: Sequence[Quantity[Fraction]]) -> Quantity[Fraction]:
    """What is known of them, summed; unknown where nothing is."""
    known = [value for value in values if not isinstance(value, Unknown)]
    if values and not known:
        return Unknown("of none of the positions it is known")
    return combine(lambda *parts: sum(parts, Fraction(0)), Known(Fraction(0), "days"), *known)


def _unknown(row: PositionEarned) -> str:
    parts = (row.fees, row.result)
    return next((part.reason for part in parts if isinstance(part, Unknown)), "")


def _cells(row: PositionEarned, unit: WorthUnit) -> tuple[str, ...]:
    days = "" if row.days is None else str(row.days)
    return (
        str(row.token_id),
        row.pair,
        worth(row.fees, unit),
        signed_money(row.result, unit),
        days,
    )
