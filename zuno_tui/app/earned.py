"""`zuno earned [PERIOD]`: what positions earned and lost by day, each and summed."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from chain.base.quantity import Quantity, Unknown
from chain.positions.overview import read_overview
from zuno_tui.app.earnings import PositionEarnings, known_sum, read_earnings
from zuno_tui.app.positions import telling_progress
from zuno_tui.app.reading_progress import reading_progress
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import OutputColumn, table
from zuno_tui.present.words import number, signed_money, worth

if TYPE_CHECKING:
    from chain.prices.price import WorthUnit
    from zuno_tui.app.session import Session

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
        watch = reading_progress(session.narrate)
        found = await read_earnings(sources, overview, unit, _DAYS.get(period, 1), watch)
    rows = [_row(one, period) for one in found]
    fees, result = known_sum([row.fees for row in rows]), known_sum([row.result for row in rows])
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


def _row(one: PositionEarnings, period: EarningPeriod) -> PositionEarned:
    token_id = one.snapshot.token_id
    if period == "all":
        return PositionEarned(token_id, one.pair, one.fees, one.against_holding, None)
    return PositionEarned(token_id, one.pair, *one.earned(_DAYS[period]))


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
