"""What positions earned in a period: fees, and what is left of them after LVR."""

from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from typing import Literal, TypeAlias

from msgspec import Struct

from chain.base.units import Quantity, Unknown
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, position_label, position_name
from zuno_tui.present.pages.cells import bar_parts, gain_cell, money_cell, money_head
from zuno_tui.present.pages.page import (
    DayBars,
    Page,
    PageCell,
    PageHeadline,
    PageTable,
    Words,
    next_steps,
    page_columns,
)
from zuno_tui.present.words import signed_money, worth

EarningPeriod: TypeAlias = Literal["today", "yesterday", "week", "month", "all"]

_NAMES: dict[EarningPeriod, str] = {
    "today": "today",
    "yesterday": "yesterday",
    "week": "in 7 days",
    "month": "in 30 days",
    "all": "since they were opened",
}


class PositionEarned(Struct, frozen=True):
    """In the unit a person counts in, at the prices of each hour."""

    token_id: PositionRef
    pool: str
    fees: Quantity[Fraction]
    net: Quantity[Fraction]
    """Fees less LVR."""
    days: int
    """How many days of the period are known."""

    @property
    def why_unknown(self) -> str:
        parts = (self.fees, self.net)
        return next((part.reason for part in parts if isinstance(part, Unknown)), "")


class DayEarned(Struct, frozen=True):
    """All positions together, of those whose day is known and priced."""

    day: str
    """In UTC, as 2026-01-31."""
    fees: float
    lvr: float


class EarnedReport(Struct, frozen=True):
    network: str
    chain_id: int
    block: int
    period: EarningPeriod
    unit: WorthUnit
    fees: Quantity[Fraction]
    net: Quantity[Fraction]
    vs_hold: Quantity[Fraction] | None
    """Since they were opened; None of another period."""
    missing: tuple[str, ...]
    """What is not in the sums, and why."""
    by_day: tuple[DayEarned, ...]
    positions: tuple[PositionEarned, ...]
    closed: tuple[PositionEarned, ...]
    closed_fees: Quantity[Fraction]
    closed_net: Quantity[Fraction]


def closed_words(count: int) -> str:
    return f"{count} closed or moved"


def earned_page(earned: EarnedReport, title: str) -> Page:
    unit = earned.unit
    against = "" if earned.vs_hold is None else f" · vs hold {signed_money(earned.vs_hold, unit)}"
    lost = not isinstance(earned.net, Unknown) and earned.net.value < 0
    return Page(
        "Earned",
        (
            (
                PageHeadline(
                    f"net {signed_money(earned.net, unit)} {_NAMES[earned.period]}",
                    f"fees {worth(earned.fees, unit)}{against}",
                    "bad" if lost else "good",
                ),
                *(Words(f"! Not in the sum: {words}", "warn") for words in earned.missing),
            ),
            (_table(earned),),
            _days(earned),
            (
                Words("net = fees − LVR (what arbitrage took), by UTC day"),
                Words(f"{title}, block {earned.block:,} · each hour at its own prices"),
                *_next(earned),
            ),
        ),
    )


def _next(earned: EarnedReport) -> Iterator[Words]:
    """Why the worst did badly, where one lost more to arbitrage than it was paid."""
    known = [row for row in earned.positions if not isinstance(row.net, Unknown)]
    worst = min(known, key=lambda row: _size(row.net), default=None)
    if worst is not None:
        name = position_name(worst.token_id)
        asks = f"zuno recommend {name}" if _size(worst.net) < 0 else f"zuno inspect {name}"
        yield next_steps(f"{asks} (earned least)", "since entry, with costs: zuno history")


def _days(earned: EarnedReport) -> tuple[DayBars, ...]:
    days = earned.by_day
    if len(days) < 2:
        return ()
    unit = "" if earned.unit is WorthUnit.USD else earned.unit.value.upper()
    named = ((f"{date.fromisoformat(day.day):%d %b}", day.fees, day.lvr) for day in days)
    return (DayBars(tuple(named), unit),)


def _table(earned: EarnedReport) -> PageTable:
    unit = earned.unit
    rows = [*earned.positions]
    ranked = sorted(rows, key=lambda row: _size(row.net), reverse=True)
    parts = bar_parts([row.net for row in ranked])
    columns = page_columns(
        "#>", "POOL", "DAYS>@72", money_head("FEES", unit), money_head("NET", unit)
    )
    cells = [
        (
            PageCell(position_name(row.token_id)),
            PageCell(row.pool),
            PageCell(str(row.days), "dim"),
            money_cell(row.fees, unit),
            gain_cell(row.net, unit, part),
        )
        for row, part in zip(ranked, parts, strict=True)
    ]
    known = [row for row in earned.closed if not row.why_unknown]
    blank = PageCell("")
    if known:
        closed = money_cell(earned.closed_fees, unit), gain_cell(earned.closed_net, unit)
        cells.append((blank, PageCell(closed_words(len(known)), "dim"), blank, *closed))
    sums = (
        blank,
        PageCell("all"),
        blank,
        money_cell(earned.fees, unit),
        gain_cell(earned.net, unit),
    )
    return PageTable(columns, tuple(cells), (sums,) if len(cells) > 1 else ())


def _size(value: Quantity[Fraction]) -> Fraction:
    return Fraction(-(10**18)) if isinstance(value, Unknown) else value.value


def missing_words(row: PositionEarned) -> str:
    return f"{position_label(row.token_id)} ({row.why_unknown})"
