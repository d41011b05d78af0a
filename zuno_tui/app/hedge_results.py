"""Positions and their hedges as one result, for whoever lists positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from chain.exchange.orders.hedge import PositionHedge
    from chain.positions.overview import Overview, Sources
    from zuno_tui.app.hedges import HedgedResult
    from zuno_tui.app.session import Session


class HedgeResults(Struct, frozen=True):
    results: tuple[tuple[PositionHedge, HedgedResult], ...] = ()
    trouble: str = ""
    """Why they are not known."""


async def read_hedge_results(
    session: Session, sources: Sources, overviews: Sequence[Overview]
) -> HedgeResults:
    """Of positions that are held and were ever hedged; without trades nothing is asked for."""
    if not session.home.trades.exists():
        return HedgeResults()
    from chain.exchange.orders.hedge import HedgeKey
    from zuno_tui.app.hedges import hedged_result, read_hedges
    from zuno_tui.app.open_venue import CLOSED_TO_LOOKERS, VenueUnreadError, has_hedges, open_venue

    chain_id = session.network.chain_id
    results = []
    try:
        if not has_hedges(session.home):
            return HedgeResults()
        async with open_venue(session) as opened:
            hedges = await read_hedges(opened.journal, opened.venue)
            for overview in overviews:
                for snapshot in overview.wallet.positions:
                    hedge = hedges.get(HedgeKey(chain_id, snapshot.token_id))
                    if hedge is not None:
                        result = await hedged_result(
                            opened, sources, snapshot, overview.tokens, hedge
                        )
                        results.append((hedge, result))
    except (VenueUnreadError, *CLOSED_TO_LOOKERS) as error:
        return HedgeResults(trouble=str(error))
    return HedgeResults(tuple(results))
