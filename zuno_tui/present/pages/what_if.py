"""What every position would be at another price."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from chain.base.units import Quantity, Unknown, combine
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, position_name
from chain.tokens import Token
from zuno_tui.present.charts import DrawnTone, figure
from zuno_tui.present.document import Units
from zuno_tui.present.pages.cells import (
    amounts_text,
    bar_parts,
    gain_cell,
    money_cell,
    money_head,
    total,
)
from zuno_tui.present.pages.page import (
    Block,
    Page,
    PageCell,
    PageHeadline,
    PageTable,
    Words,
    next_steps,
    page_columns,
)
from zuno_tui.present.words import signed_money, worth

StateThen = Literal["in range", "out of range", "leaves it", "enters it", "empty"]
_TONES: dict[StateThen, DrawnTone] = {
    "in range": "good",
    "enters it": "good",
    "out of range": "dim",
    "leaves it": "bad",
    "empty": "dim",
}


class PositionAtPrice(Struct, frozen=True):
    """One position after a price has changed, its fees left as they are."""

    token_id: PositionRef
    pool: str
    price_then: float | None
    in_range_now: bool
    in_range_then: bool
    token0: Token
    token1: Token
    amount0_then: Units
    """With what waits to be collected, as what it is worth is."""
    amount1_then: Units
    now: Quantity[Fraction]
    then: Quantity[Fraction]

    @property
    def change(self) -> Quantity[Fraction]:
        return combine(Fraction.__sub__, self.then, self.now)

    @property
    def state(self) -> StateThen:
        if not (self.amount0_then or self.amount1_then):
            return "empty"
        if self.in_range_then:
            return "in range" if self.in_range_now else "enters it"
        return "leaves it" if self.in_range_now else "out of range"


class WhatIfReport(Struct, frozen=True):
    network: str
    chain_id: int
    block: int
    symbol: str
    change_percent: float
    unit: WorthUnit
    now: Quantity[Fraction]
    then: Quantity[Fraction]
    positions: tuple[PositionAtPrice, ...]


def what_if_page(asked: WhatIfReport, title: str) -> Page:
    unit = asked.unit
    change = combine(Fraction.__sub__, asked.then, asked.now)
    left = sum(row.in_range_now and not row.in_range_then for row in asked.positions)
    came = sum(row.in_range_then and not row.in_range_now for row in asked.positions)
    moved = ", ".join(
        words
        for count, words in (
            (left, f"{left} would leave the range"),
            (came, f"{came} would enter it"),
        )
        if count
    )
    return Page(
        "What if",
        (
            (
                PageHeadline(
                    f"{asked.symbol} {asked.change_percent:+.4g}%: {signed_money(change, unit)}",
                    f"{worth(asked.now, unit)} now, {worth(asked.then, unit)} then",
                ),
                Words(f"{moved or 'No position crosses an edge'} · other prices stay as they are"),
            ),
            (_table(asked),),
            (
                Words(f"{title}, block {asked.block:,} · fees and idle tokens as they are now"),
                *_next(asked),
            ),
        ),
    )


def _next(asked: WhatIfReport) -> Iterator[Words]:
    """What helps the position that would lose most."""
    losses = {
        position_name(row.token_id): row.change.value
        for row in asked.positions
        if not isinstance(row.change, Unknown) and row.change.value < 0
    }
    if losses:
        name = min(losses, key=lambda each: losses[each])
        side = "below" if asked.change_percent < 0 else "above"
        yield next_steps(
            f"short what the worst holds: zuno hedge {name}",
            f"leave it in time: zuno order close {name} {side} PRICE",
        )


def _table(asked: WhatIfReport) -> Block:
    unit = asked.unit
    changes = [row.change for row in asked.positions]
    parts = bar_parts(changes)
    columns = page_columns(
        "#>",
        "POOL",
        "PRICE THEN>@100",
        "RANGE THEN",
        "HOLDS THEN@140",
        money_head("NOW", unit),
        money_head("THEN", unit),
        money_head("CHANGE", unit),
    )
    rows = tuple(
        (
            PageCell(position_name(row.token_id)),
            PageCell(row.pool),
            PageCell("–" if row.price_then is None else figure(row.price_then)),
            PageCell(row.state, _TONES[row.state]),
            PageCell(
                amounts_text((row.amount0_then, row.token0), (row.amount1_then, row.token1)), "dim"
            ),
            money_cell(row.now, unit),
            money_cell(row.then, unit),
            gain_cell(row.change, unit, part),
        )
        for row, part in zip(asked.positions, parts, strict=True)
    )
    blank = PageCell("")
    sums = (
        blank,
        PageCell("all positions"),
        blank,
        blank,
        blank,
        money_cell(asked.now, unit),
        money_cell(asked.then, unit),
        gain_cell(total(changes), unit),
    )
    return PageTable(columns, rows, (sums,) if len(rows) > 1 else ())
