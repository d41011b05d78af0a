"""The pools a position could be opened in, the most valuable first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.survey.discovery import SurveyedPool, discover_pools
from zuno_tui.app.pool_edges import read_edges
from zuno_tui.app.pools import PoolWords, pool_words
from zuno_tui.desk.events import PoolsReady
from zuno_tui.present.views import PoolRow

if TYPE_CHECKING:
    from zuno_tui.desk.context import DeskContext

_PATIENCE = 180.0


class Pools:
    def __init__(self, desk_context: DeskContext) -> None:
        self._desk_context = desk_context

    def show(self) -> None:
        self._desk_context.jobs.start(
            "pools", "Looking for pools", lambda _: self._read(), seconds=_PATIENCE
        )

    async def _read(self) -> None:
        sources = self._desk_context.sources
        survey = await discover_pools(
            sources.client,
            sources.network,
            sources.store,
            clock=sources.clock,
            coingecko=sources.coingecko,
        )
        edges = await read_edges(sources, (pool.state for pool in survey.pools), unread=False)
        rows = tuple(_row(pool, pool_words(survey, pool, edges)) for pool in survey.pools)
        self._desk_context.tell(PoolsReady(rows))


def _row(pool: SurveyedPool, told: PoolWords) -> PoolRow:
    return PoolRow(
        pool_id=pool.state.pool_id,
        pair=told.pair,
        fee=told.fee,
        price=told.price,
        liquidity=told.depth,
        pays=told.pays,
        hook=told.hook,
        phrase=_phrase(pool, told),
    )


def _phrase(pool: SurveyedPool, told: PoolWords) -> str:
    """Something to go on from; nothing where a token has no name to be trusted."""
    if not (pool.token0.verified and pool.token1.verified):
        return ""
    fee = "" if pool.key.has_dynamic_fee else f" {told.fee}"
    return f"create 1 {told.pair}{fee}"
