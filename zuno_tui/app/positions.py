"""`zuno positions`: every position of a wallet, counted, at one block; how far a reading is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from chain.contracts.addresses import shorten_address
from chain.positions.overview import Overview, Sources, read_overview
from chain.protocols.reference import PositionRef, position_name
from chain.protocols.v4.memory import SearchProgress
from chain.read.logs import ScanProgress
from zuno_tui.app.feature import attachments
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.charts import range_gauge
from zuno_tui.present.output import table
from zuno_tui.present.position import (
    Won,
    position_rows,
    state_words,
    wallet_document,
    won_by_position,
)
from zuno_tui.present.search_words import search_words
from zuno_tui.present.terminal import columns, terminal_of
from zuno_tui.present.views import PositionRow
from zuno_tui.present.words import money
from zuno_tui.settings.monitor import monitor_settings

if TYPE_CHECKING:
    from chain.positions.performance import Performance

_BETWEEN_TELLINGS = 2.0
_COLUMNS = columns(
    *("#>", "POOL", "FEE>", "FROM>", "RANGE", "TO"),
    *("NOW>", "STATE", "SHARE>", "VALUE>", "UNCOLLECTED>"),
)
_NARROW = columns("#>", "POOL", "STATE", "RANGE", "VALUE>", "FEES>")
_WIDE_FROM = 120
"""Cells of a terminal from which on the prices of a range have columns of their own."""
_PERFORMANCE_COLUMNS = columns("APR 24H>", "VS HOLD>", "NET 24H>")


async def wallet_positions(session: Session, *, since_entry: bool) -> CommandAnswer:
    async with session.sources() as sources:
        overview = await wallet_overview(session, sources)
        performance = await _performance(sources, overview) if since_entry else None
        attached = await attachments(session, sources, [overview])
    held = bool(overview.wallet.positions)
    return CommandAnswer(
        heading=_headline(session, overview),
        lines=(
            *(_table(session, overview, performance) if held else ()),
            *(line for attachment in attached for line in attachment.lines),
        ),
        document={
            **wallet_document(session.network, overview, performance),
            **{attachment.name: attachment.document for attachment in attached},
        },
    )


async def _performance(sources: Sources, overview: Overview) -> Performance:
    # 10 ms of pools' past that the plain list does not pay for.
    from chain.positions.performance import read_performance

    return await read_performance(sources, overview.wallet.positions)


async def wallet_overview(session: Session, sources: Sources) -> Overview:
    """What the wallet holds now, those of v3 too."""
    unit, watch = session.settings.unit, telling_progress(session)
    return await read_overview(sources, session.address, unit, watch=watch, every_protocol=True)


def telling_progress(session: Session) -> Callable[[SearchProgress], None]:
    """Now and then: a search may take thousands of steps."""
    told: list[float] = []

    def tell(progress: SearchProgress) -> None:
        now = time.monotonic()
        if not told or now - told[-1] >= _BETWEEN_TELLINGS:
            told.append(now)
            session.narrate(search_words(progress))

    return tell


def _headline(session: Session, overview: Overview) -> tuple[str, ...]:
    wallet, total = overview.wallet, overview.portfolio
    unit = session.settings.unit
    lines = [
        f"{session.network.title} · block {wallet.block.number:,} · {shorten_address(wallet.owner)}"
        f" · {wallet.found_count} of {wallet.balance_of} found",
        f"Total {money(total.total, unit)}, {money(total.fees, unit)} of it uncollected fees"
        + (f", {money(total.withdrawn, unit)} withdrawn" if total.withdrawn else "")
        + (f", {money(total.undivided, unit)} waiting" if total.undivided else ""),
    ]
    if wallet.shortfall:
        lines.append(wallet.shortfall)
    lines += [
        f"Not in the sum: {amount.token.label} ({amount.reason})"
        for amount in overview.portfolio.unpriced
    ]
    lines += overview.prices.dispute_words(overview.tokens)
    lines += [
        f"Anyone at {shorten_address(operator)} may move every position of this wallet."
        for operator in wallet.operators
    ]
    if wallet.positions and wallet.approvals_from is not None:
        lines.append(
            "Who was allowed to move every position of this wallet before block"
            f" {wallet.approvals_from:,} is not known: the endpoint serves few blocks per call."
        )
    return tuple(lines)


def _table(session: Session, overview: Overview, performance: Performance | None) -> list[str]:
    won: dict[PositionRef, Won] = {}
    if performance is not None:
        won = won_by_position(overview, performance, session.settings.unit)
    watching = monitor_settings(session.settings)
    rows = position_rows(session.network, overview, won, watching)
    width, unit, whole = terminal_of(sys.stdout).width, session.settings.unit, overview.portfolio
    wide = width is None or width >= _WIDE_FROM
    cells = [_cells(row) if wide else _narrow_cells(row) for row in rows]
    columns = _COLUMNS if wide else _NARROW
    total = ("", "all", *[""] * (len(columns) - 4), money(whole.principal, unit))
    cells.append((*total, money(whole.fees, unit)))
    if performance is not None:
        columns = (*columns, *_PERFORMANCE_COLUMNS)
        figures = [(row.fee_apr, row.against_holding, row.net_a_day) for row in rows]
        cells = [(*row, *won) for row, won in zip(cells, (*figures, ("", "", "")), strict=True)]
    return table(columns, cells)


def _narrow_cells(row: PositionRow) -> tuple[str, ...]:
    """One line of 80 cells."""
    state = {"in range": "in", "near edge": "near edge", "out of range": "out", "empty": "empty"}
    return (
        position_name(row.ref),
        f"{row.pair} {row.fee}",
        " · ".join((state[row.standing], *row.notes)),
        range_gauge(None if row.standing == "empty" else row.progress),
        row.value,
        row.fees,
    )


def _cells(row: PositionRow) -> tuple[str, ...]:
    return (
        position_name(row.ref),
        row.pair,
        row.fee,
        row.low,
        range_gauge(None if row.standing == "empty" else row.progress),
        row.high,
        row.price,
        state_words(row.standing, row.notes),
        row.share,
        row.value,
        row.fees,
    )


BETWEEN_SECONDS = 5.0
"""A read that is over sooner is not spoken of."""


def reading_progress(
    tell: Callable[[str], None],
    clock: Callable[[], float] = monotonic,
    *,
    what: str = "the pool's swaps",
) -> Callable[[ScanProgress], None]:
    """Tells now and then how far the reading is; what is read in parts never runs back."""
    told_at, part, found = clock(), 0.0, 0

    def hear(progress: ScanProgress) -> None:
        nonlocal told_at, part, found
        part, found = max(part, progress.fraction), max(found, progress.found)
        if clock() - told_at >= BETWEEN_SECONDS:
            told_at = clock()
            tell(f"Reading {what}: {part:.0%}, {found:,} so far. Progress is saved.")

    return hear
