"""Pools with their depth, their week of swaps and their market, all up to one block."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from agents.lp.facts import MarketFacts, ObservedPool
from agents.lp.observe.earnings import UnitPrices, earnings
from agents.lp.observe.movement import MarketCloses, movement, read_market_closes
from agents.lp.observe.path_facts import MOST_STEPS, day_path, week_path
from agents.lp.observe.pool_facts import REACH, figure, pool_facts, said, valued_token
from agents.numbers.rounding import significant
from chain.base.units import HOUR
from chain.history.candle_volatility import class_of
from chain.history.flows import FeeTerms
from chain.history.hour_memory import HourMemory
from chain.history.hour_reader import read_hours
from chain.history.path import price_path
from chain.history.volatility import DAY, WEEK
from chain.pools.depth import read_depths
from chain.read.block_reader import OneBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chain.contracts.hooks import HookPassport
    from chain.contracts.networks import Address, Network
    from chain.contracts.pool_key import PoolId
    from chain.history.hours import PoolHours
    from chain.pools.depth import Depth
    from chain.pools.state import PoolState
    from chain.positions.overview import Sources
    from chain.prices.price import PriceBook
    from chain.read.logs import ScanProgress
    from chain.rpc.records import Block
    from chain.tokens import Token

_READ_SECONDS = (WEEK + DAY) * HOUR
"""A week, and a day more so that the week's first hour has a price before it."""


class SeenPool(Struct, frozen=True):
    state: PoolState
    hook: HookPassport


class PoolReading(Struct, frozen=True):
    """One pool, with all that was read of it."""

    seen: SeenPool
    depth: Depth
    hours: PoolHours
    market: MarketCloses


class SourcedPoolFacts(NamedTuple):
    """Facts of a pool, and who said each group of them."""

    pool: ObservedPool
    sources: dict[str, str]


async def read_pools(
    sources: Sources,
    block: Block,
    seen: Sequence[SeenPool],
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> list[PoolReading]:
    """All of these pools, whose states were read at this block."""
    here = OneBlock(sources.client, sources.network, block.hash)
    states = [one.state for one in seen]
    depths, hours, markets = await asyncio.gather(
        read_depths(here, sources.network, states, reach=REACH),
        _read_week(sources, block, states, watch),
        _read_markets(sources, states),
    )
    return [
        PoolReading(one, depths[pool], hours[pool], markets[pool])
        for one, pool in ((one, one.state.pool_id) for one in seen)
    ]


def observed_pool(
    network: Network,
    reading: PoolReading,
    tokens: Mapping[Address, Token],
    prices: PriceBook,
    most_steps: int = MOST_STEPS,
) -> SourcedPoolFacts:
    seen, block = reading.seen, reading.hours.last
    key = seen.state.key
    token0 = valued_token(network, tokens[key.currency0], prices)
    token1 = valued_token(network, tokens[key.currency1], prices)
    path = price_path(reading.hours)
    moved = movement(reading.market, path, class_of(network, key.currency0, key.currency1))
    units = UnitPrices(token0.usd_per_unit, token1.usd_per_unit)
    earned = earnings(reading.hours, seen.state, units)
    market = MarketFacts(
        sigma=moved.sigma,
        sigma_source=moved.sigma_source,
        sigma_assumed=moved.assumed,
        sigma_24h=figure(moved.sigma_24h),
        sigma_7d=figure(moved.sigma_7d),
        path_efficiency=figure(moved.path_efficiency),
        fees_24h_usd=figure(earned.fees_24h_usd),
        implied_sigma_24h=figure(earned.implied_sigma_24h),
        implied_sigma_7d=figure(earned.implied_sigma_7d),
        fee_rate_24h=figure(earned.fee_rate_24h),
        fee_rate_7d=figure(earned.fee_rate_7d),
        edge_7d=figure(earned.edge_7d),
        fee_low_factor=significant(earned.spread.low),
        fee_high_factor=significant(earned.spread.high),
    )
    terms = FeeTerms(key.fee, seen.state.protocol_fee)
    observed = ObservedPool(
        token0=token0.facts,
        token1=token1.facts,
        pool=pool_facts(reading.depth, seen.hook),
        market=market,
        regime=moved.regime.regime,
        regime_reason=moved.regime.reason,
        day_path=day_path(reading.hours, terms, seen.state.sqrt_price_x96, most_steps),
        week_path=week_path(reading.hours, seen.state.sqrt_price_x96),
    )
    told = {
        "pool": f"PoolManager storage, block {block.number}",
        "hook": f"code at its address, block {block.number}" if seen.hook.present else "no hook",
        "price of token0": said(token0.usd_per_unit),
        "price of token1": said(token1.usd_per_unit),
        "volatility": moved.source,
        "volatility of 24 h": said(moved.sigma_24h),
        "volatility of 7 d": said(moved.sigma_7d),
        "path efficiency": said(moved.path_efficiency),
        "fees of 24 h": said(earned.fees_24h_usd),
        "implied volatility of 24 h": said(earned.implied_sigma_24h),
        "implied volatility of 7 d": said(earned.implied_sigma_7d),
        "fee rate of 24 h": said(earned.fee_rate_24h),
        "fee rate of 7 d": said(earned.fee_rate_7d),
        "edge of 7 d": said(earned.edge_7d),
        "spread of daily fees": earned.spread.source,
    }
    return SourcedPoolFacts(observed, told)


async def _read_week(
    sources: Sources,
    block: Block,
    states: Sequence[PoolState],
    watch: Callable[[ScanProgress], None],
) -> dict[PoolId, PoolHours]:
    return await read_hours(
        sources.client,
        sources.network,
        {state.pool_id: FeeTerms(state.key.fee, state.protocol_fee) for state in states},
        _READ_SECONDS,
        memory=HourMemory(sources.store, sources.network, sources.clock),
        head=block,
        watch=watch,
    )


async def _read_markets(
    sources: Sources, states: Sequence[PoolState]
) -> dict[PoolId, MarketCloses]:
    """One pool after the other, because a coin that was just asked for is not asked for again."""
    now = sources.clock()
    return {
        state.pool_id: await read_market_closes(
            sources.coingecko, sources.network, state.key, now=now
        )
        for state in states
    }
