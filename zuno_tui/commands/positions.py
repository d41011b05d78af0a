"""`zuno positions`: every position of a wallet, counted, at one block."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from chain.contracts.checksum import shortened
from chain.positions.overview import Overview, read_overview
from chain.positions.performance import Performance, gains, read_performance
from chain.positions.snapshot import RangeStatus
from chain.tokens.pair import pair_of
from zuno_tui.session.session import Session, say
from zuno_tui.shown.drawing.pieces import range_gauge
from zuno_tui.shown.output import OutputColumn, print_json, print_lines, table
from zuno_tui.shown.position_document import wallet_document
from zuno_tui.shown.words import fee_text, money, percent, signed_money, worth

if TYPE_CHECKING:
    from argparse import Namespace

    from chain.positions.portfolio import Worth
    from chain.positions.snapshot import PositionSnapshot
    from chain.read.logs import ScanProgress

_COLUMNS = (
    OutputColumn("#", "right"),
    OutputColumn("POOL"),
    OutputColumn("FEE", "right"),
    OutputColumn("FROM", "right"),
    OutputColumn("RANGE"),
    OutputColumn("TO"),
    OutputColumn("NOW", "right"),
    OutputColumn("STATE"),
    OutputColumn("SHARE", "right"),
    OutputColumn("VALUE", "right"),
    OutputColumn("UNCOLLECTED", "right"),
)
_PERFORMANCE_COLUMNS = (
    OutputColumn("VS HOLDING", "right"),
    OutputColumn("FEES−LVR A DAY", "right"),
)


def run(arguments: Namespace) -> int:
    return asyncio.run(_positions(Session.start(arguments), deep=arguments.since_entry))


async def _positions(session: Session, *, deep: bool) -> int:
    async with session.sources() as sources:
        overview = await read_overview(
            sources, session.address, session.settings.unit, watch=say_progress
        )
        performance = await read_performance(sources, overview.wallet.positions) if deep else None
    if session.as_json:
        print_json(wallet_document(session.network, overview, performance))
        return 0
    say(_headline(session, overview))
    if overview.wallet.positions:
        print_lines(_table(session, overview, performance))
    return 0


def say_progress(progress: ScanProgress) -> None:
    say(f"Reading logs: {percent(progress.fraction)}, {progress.found} positions so far")


def _headline(session: Session, overview: Overview) -> str:
    wallet, total = overview.wallet, overview.portfolio
    unit = session.settings.unit
    lines = [
        f"{session.network.title} · block {wallet.block.number:,} · {shortened(wallet.owner)}"
        f" · {wallet.found} of {wallet.balance_of} found",
        f"Together {money(total.total, unit)}, of it {money(total.fees, unit)} uncollected fees",
    ]
    if wallet.missing:
        lines.append(wallet.missing)
    lines += [
        f"Not in the sum: {one.token.label} ({one.reason})" for one in overview.portfolio.unpriced
    ]
    lines += [
        f"Anyone at {shortened(operator)} may move every position of this wallet."
        for operator in wallet.operators
    ]
    return "\n".join(lines)


def _table(session: Session, overview: Overview, performance: Performance | None) -> list[str]:
    columns = _COLUMNS if performance is None else (*_COLUMNS, *_PERFORMANCE_COLUMNS)
    worths = {one.token_id: one for one in overview.portfolio.positions}
    rows = []
    for position in overview.wallet.positions:
        row = _row(session, overview, position, worths[position.token_id])
        if performance is not None:
            row += _gains(session, overview, position, performance)
        rows.append(row)
    return table(columns, rows)


def _gains(
    session: Session, overview: Overview, position: PositionSnapshot, performance: Performance
) -> tuple[str, ...]:
    won = gains(
        performance.accounts[position.token_id],
        performance.daily[position.token_id],
        overview.tokens[position.pool.key.currency1],
        overview.prices,
        session.settings.unit,
    )
    unit = session.settings.unit
    return signed_money(won.against_holding, unit), signed_money(won.net_a_day, unit)


def _row(
    session: Session, overview: Overview, position: PositionSnapshot, value: Worth
) -> tuple[str, ...]:
    pool, ticks = position.pool, (position.identity.tick_lower, position.identity.tick_upper)
    tokens, unit = overview.tokens, session.settings.unit
    pair = pair_of(
        session.network,
        tokens[pool.key.currency0],
        tokens[pool.key.currency1],
        pool.sqrt_price_x96,
    )
    low, high = pair.bounds(*ticks)
    return (
        str(position.token_id),
        pair.name,
        fee_text(pool.lp_fee) + ("*" if pool.key.has_dynamic_fee else ""),
        low,
        range_gauge(pair.progress(pool.tick, *ticks)),
        high,
        pair.price_text(pool.sqrt_price_x96),
        state_words(position),
        percent(position.share) if position.share else "–",
        worth(value.principal, unit),
        worth(value.fees, unit),
    )


def state_words(position: PositionSnapshot) -> str:
    """The state in words: colour never carries it alone."""
    if position.liquidity == 0:
        return "empty"
    words = "in range" if position.status is RangeStatus.IN_RANGE else "out of range"
    if position.pool.hook.danger.value == "dangerous":
        words += ", hook"
    if position.custody.approved:
        words += ", approved"
    if position.custody.subscriber:
        words += ", subscribed"
    return words
