"""Whether every position could be closed now, and what would come back."""

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from chain.base.units import Quantity
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.tokens import Token
from zuno_tui.present.document import Units
from zuno_tui.present.pages.cells import amounts_text, money_cell, money_head
from zuno_tui.present.pages.page import (
    Page,
    PageCell,
    PageHeadline,
    PageTable,
    Words,
    next_steps,
    page_columns,
)
from zuno_tui.present.words import short_worth


class WayOut(Struct, frozen=True):
    """One position closed in a simulation."""

    token_id: PositionRef
    pool: str
    held: bool
    """Whether there is liquidity to take out."""
    open: bool
    words: str
    """Why it is shut, or what would not arrive."""
    warnings: tuple[str, ...]
    method: str | None
    token0: Token
    token1: Token
    received0: Units | None
    received1: Units | None
    value: Quantity[Fraction]
    gas: int | None


class ExitDrillReport(Struct, frozen=True):
    network: str
    chain_id: int
    block: int
    owner: str
    unit: WorthUnit
    total: Quantity[Fraction]
    """Of what is known, gas not counted."""
    positions: tuple[WayOut, ...]

    @property
    def ways_shut(self) -> tuple[WayOut, ...]:
        return tuple(way for way in self.positions if way.held and not way.open)


def exit_drill_page(drill: ExitDrillReport, title: str) -> Page:
    held = sum(way.held for way in drill.positions)
    able = held - len(drill.ways_shut)
    good = not drill.ways_shut
    empty = len(drill.positions) - held
    beside = f", {empty} empty" * bool(empty)
    said = f"{able} of {held} positions can be closed now{beside}"
    return Page(
        "Exit drill",
        (
            (
                PageHeadline(
                    said,
                    f"would bring {short_worth(drill.total, drill.unit)} with fees, before gas",
                    "good" if good else "bad",
                ),
            ),
            (_table(drill),),
            tuple(
                Words(
                    f"! {position_label(way.token_id)} {way.words}", "warn" if way.open else "bad"
                )
                for way in drill.positions
                if way.words
            ),
            (
                Words(f"{title}, block {drill.block:,} · simulated now, nothing was sent"),
                *_next(drill),
            ),
        ),
    )


def _next(drill: ExitDrillReport) -> Iterator[Words]:
    name = next((position_name(way.token_id) for way in drill.positions if way.open), None)
    if name is not None:
        yield next_steps(
            f"close one for real: zuno close {name}",
            f"or when a price is reached: zuno order close {name} below PRICE",
        )


def _table(drill: ExitDrillReport) -> PageTable:
    unit, blank = drill.unit, PageCell("")
    columns = page_columns(
        "#>", "POOL", "WAY OUT@88", "YOU RECEIVE", money_head("WORTH", unit), "GAS>"
    )
    rows = tuple(
        (
            PageCell(position_name(way.token_id)),
            PageCell(way.pool),
            _way_cell(way),
            PageCell(
                amounts_text((way.received0 or 0, way.token0), (way.received1 or 0, way.token1))
            ),
            money_cell(way.value, unit),
            PageCell("–" if way.gas is None else _thousands(way.gas), "dim"),
        )
        for way in drill.positions
    )
    gas = sum(way.gas or 0 for way in drill.positions)
    sums = (
        blank,
        PageCell("all positions"),
        blank,
        blank,
        money_cell(drill.total, unit),
        PageCell(_thousands(gas), "dim"),
    )
    return PageTable(columns, rows, (sums,) if len(rows) > 1 else ())


def _thousands(gas: int) -> str:
    return f"{round(gas / 1_000):,}k"


def _way_cell(way: WayOut) -> PageCell:
    if not way.open:
        return PageCell("shut", "bad")
    if way.warnings:
        return PageCell("open, not all arrives", "warn")
    return PageCell("open", "good") if way.held else PageCell("empty", "dim")
