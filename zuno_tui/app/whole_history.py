"""The whole life of several wallets on several networks, read beside what they are worth."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.bookkeeping.wallet_history import read_wallet_history
from chain.execution.outbox.outbox import Outbox
from chain.positions.wallet_worth import read_worths
from chain.prices.price import WorthUnit
from chain.rpc.errors import RpcError
from zuno_tui.app.read_portfolio import portfolio_entries, portfolio_targets, unread_entries
from zuno_tui.present.whole_history import HistoryChapter, HistoryFilter, WholeHistory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chain.contracts.networks import Address
    from chain.positions.overview import Sources
    from chain.read.logs import ScanProgress
    from zuno_tui.app.session import Session
    from zuno_tui.app.watchlist import Target
    from zuno_tui.present.whole_portfolio import PortfolioEntry

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
    chapters = await asyncio.gather(*(_chapters(session, one, plans, watch) for one in watched))
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
    session: Session,
    target: Target,
    plans: SentPlans,
    watch: Callable[[ScanProgress], None],
) -> list[HistoryChapter]:
    try:
        async with replace(session, network=target.network).sources() as sources:
            worths = await read_worths(sources, target.wallets, WorthUnit.USD)
            entries = portfolio_entries(session, target, worths)
            return [await _chapter(sources, one, plans, watch) for one in entries]
    except RpcError as error:
        unread = unread_entries(session, target, error)
        return [HistoryChapter(one, None) for one in unread]


async def _chapter(
    sources: Sources,
    entry: PortfolioEntry,
    plans: SentPlans,
    watch: Callable[[ScanProgress], None],
) -> HistoryChapter:
    if entry.worth is None:
        return HistoryChapter(entry, None)
    sent: Mapping[str, str] = plans.get(_place(sources, entry.wallet), {})
    try:
        history = await read_wallet_history(sources, entry.worth, sent, watch=watch)
    except RpcError as error:
        return HistoryChapter(entry, None, error.sentence)
    return HistoryChapter(entry, history)


def _place(sources: Sources, wallet: Address) -> tuple[int, str]:
    return sources.network.chain_id, wallet
