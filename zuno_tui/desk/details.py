"""A closer look at one position: its facts at once, its pictures as they are read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chain.history.memory import SwapMemory
from chain.history.swaps import read_recent_swaps
from chain.overview import read_one
from chain.pair import pair_of
from chain.performance import read_performance
from chain.pools.depth import read_depths
from chain.pools.state import pool_state_slots, pool_states
from chain.positions.by_day import days_of_range
from chain.positions.daily import DAY
from chain.reading.one_block import OneBlock
from chain.reading.slots import read_slots
from zuno_tui.cli.inspect_position import PositionPage
from zuno_tui.desk.detail_views import chart_view, days_view, history_lines, liquidity_view
from zuno_tui.desk.events import DetailReady, Said
from zuno_tui.desk.views import DetailView

if TYPE_CHECKING:
    from chain.overview import OnePosition
    from chain.pair import Pair
    from chain.performance import Performance
    from zuno_tui.desk.bench import Bench
    from zuno_tui.desk.intents import Inspect
    from zuno_tui.desk.jobs import Progress

_PATIENCE = 120.0
_DAYS = 7
_LEAST_REACH, _MOST_REACH = 600, 12_000
"""Ticks to either side of the price whose liquidity is drawn."""


class Details:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def inspect(self, asked: Inspect) -> None:
        self._bench.jobs.start(
            "inspect",
            f"Reading position #{asked.token_id}",
            lambda progress: self._read(asked, progress),
            seconds=_PATIENCE,
        )

    async def _read(self, asked: Inspect, progress: Progress) -> None:
        bench, session = self._bench, self._bench.session
        one = await read_one(bench.sources, asked.token_id, session.settings.unit)
        if one is None:
            words = f"{session.network.title} has no position #{asked.token_id}, or it was burned."
            bench.tell(Said(words, "warn", asked.twin))
            return
        performance = await read_performance(bench.sources, [one.snapshot])
        pair = self._pair(one)
        view = self._facts(one, performance, pair)
        bench.tell(DetailReady(view))
        progress("Reading a week of swaps")
        bench.tell(DetailReady(await self._drawn(one, performance, pair, view)))

    def _pair(self, one: OnePosition) -> Pair:
        pool = one.snapshot.pool
        token0, token1 = one.tokens[pool.key.currency0], one.tokens[pool.key.currency1]
        return pair_of(self._bench.session.network, token0, token1, pool.sqrt_price_x96)

    def _facts(self, one: OnePosition, performance: Performance, pair: Pair) -> DetailView:
        token_id = one.snapshot.token_id
        (_, title), *facts = PositionPage(self._bench.session, one, performance).lines()
        return DetailView(
            token_id=token_id,
            title=f"#{token_id} {title}",
            facts=tuple(facts),
            price=None,
            liquidity=(),
            fees_by_day=(),
            history=tuple(history_lines(performance.accounts[token_id].changes, pair)),
            hook=one.snapshot.pool.hook.sentences,
        )

    async def _drawn(
        self, one: OnePosition, performance: Performance, pair: Pair, view: DetailView
    ) -> DetailView:
        sources, snapshot = self._bench.sources, one.snapshot
        memory = SwapMemory(sources.store, sources.network, sources.clock)
        swaps = await read_recent_swaps(
            sources.client, sources.network, snapshot.pool.pool_id, _DAYS * DAY, memory=memory
        )
        changes = performance.accounts[snapshot.token_id].changes
        since = changes[0].timestamp if changes else snapshot.block.timestamp
        days = days_of_range(snapshot, swaps, since)
        return replace(
            view,
            price=chart_view(pair, snapshot, swaps),
            liquidity=await self._liquidity(one, pair),
            fees_by_day=days_view(days, pair, one.prices, self._bench.session.settings.unit),
        )

    async def _liquidity(self, one: OnePosition, pair: Pair) -> tuple[tuple[float, float], ...]:
        sources, snapshot = self._bench.sources, one.snapshot
        identity, tick = snapshot.identity, snapshot.pool.tick
        farthest = max(abs(identity.tick_lower - tick), abs(identity.tick_upper - tick))
        reach = min(max(farthest * 5 // 4, _LEAST_REACH), _MOST_REACH)
        here = OneBlock(sources.client, sources.network)
        key = snapshot.pool.key
        words = (await read_slots(here, sources.network, pool_state_slots([key]))).words
        (state,) = pool_states([key], words)
        depths = await read_depths(here, sources.network, [state], reach=reach)
        return liquidity_view(pair, depths[state.pool_id], reach)
