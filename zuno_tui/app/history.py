"""`zuno history`: everything that moved, at the prices of its time."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from chain.bookkeeping.wallet_history import read_wallet_history
from chain.execution.outbox.outbox import Outbox
from chain.positions.overview import Sources, read_worths
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, position_label
from chain.read.logs import ScanProgress
from chain.rpc.errors import RpcError
from zuno_tui.app.portfolio import portfolio_entries, portfolio_targets, unread_entries
from zuno_tui.app.positions import reading_progress
from zuno_tui.app.session import Session
from zuno_tui.app.watchlist import Target
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK
from zuno_tui.present.history import (
    CsvFormat,
    HistoryChapter,
    HistoryFilter,
    WholeHistory,
    history_csv,
)
from zuno_tui.present.pages.history import history_page, history_record
from zuno_tui.present.portfolio import PortfolioEntry
from zuno_tui.settings import SettingsError

SentPlans = dict[tuple[int, str], dict[str, str]]
"""By chain and wallet: the transactions that were included, and the plan of each."""


async def read_whole_history(
    session: Session,
    named: Sequence[str] = (),
    selection: HistoryFilter | None = None,
    *,
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> WholeHistory:
    """Of the wallets that are named, or of all; in US dollars, whatever a person counts in."""
    watched = await portfolio_targets(session, named)
    plans = sent_plans(session)
    chapters = await asyncio.gather(
        *(_chapters(session, target, plans, watch) for target in watched)
    )
    every = tuple(chapter for some in chapters for chapter in some)
    return WholeHistory(every, selection or HistoryFilter())


def sent_plans(session: Session) -> SentPlans:
    """What this home sent, by its journal."""
    found: SentPlans = {}
    if not session.home.outbox.exists():
        return found
    with Outbox.open(session.home.outbox) as outbox:
        for dispatch in outbox.dispatches():
            mine = found.setdefault((dispatch.chain_id, dispatch.sender), {})
            for step in dispatch.steps:
                if step.inclusion is not None:
                    mine[step.inclusion.transaction_hash] = dispatch.hash
    return found


async def _chapters(
    session: Session, target: Target, plans: SentPlans, watch: Callable[[ScanProgress], None]
) -> list[HistoryChapter]:
    try:
        async with replace(session, network=target.network).sources() as sources:
            worths = await read_worths(sources, target.wallets, WorthUnit.USD, every_protocol=True)
            entries = portfolio_entries(session, target, worths)
            return [await _chapter(sources, entry, plans, watch) for entry in entries]
    except RpcError as error:
        unread = unread_entries(session, target, error)
        return [HistoryChapter(entry, None) for entry in unread]


async def _chapter(
    sources: Sources, entry: PortfolioEntry, plans: SentPlans, watch: Callable[[ScanProgress], None]
) -> HistoryChapter:
    if entry.worth is None:
        return HistoryChapter(entry, None)
    sent: Mapping[str, str] = plans.get((sources.network.chain_id, entry.wallet), {})
    try:
        history = await read_wallet_history(sources, entry.worth, sent, watch=watch)
    except RpcError as error:
        return HistoryChapter(entry, None, error.sentence)
    return HistoryChapter(entry, history)


def history_filter(ref: PositionRef | None, since: str | None, until: str | None) -> HistoryFilter:
    """Of one position's story, and of whole UTC days."""
    first = None if since is None else _day(since, "--from")
    end = None if until is None else _day(until, "--to") + timedelta(days=1)
    return HistoryFilter(ref, _seconds(first), _seconds(end))


async def told_history(
    session: Session, named: Sequence[str], form: CsvFormat | None, selection: HistoryFilter
) -> CommandAnswer:
    watch = reading_progress(session.narrate, what="what happened to positions")
    whole = await read_whole_history(session, named, selection, watch=watch)
    record = history_record(whole)
    seen = any(chapter.history is not None for chapter in whole.chapters)
    if form is not None:
        lines = tuple(history_csv(whole, form).removesuffix("\r\n").split("\r\n"))
        return CommandAnswer(
            lines, document(record), remarks=record.missing, code=_code(seen=seen), exact=True
        )
    ref, nobody = selection.position, ""
    if seen and ref is not None and not record.stories:
        nobody = f"None of these wallets ever held {position_label(ref)}."
    view = history_page(record, nobody, session.settings.unit)
    code = FAILED if nobody else _code(seen=seen)
    return CommandAnswer((), document(record), view=view, code=code)


def _code(*, seen: bool) -> int:
    return DONE if seen else NETWORK


def _day(text: str, flag: str) -> datetime:
    try:
        return datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise SettingsError(f"{text!r} is not a day. Write it like: {flag} 2026-01-31") from None


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())
