"""Reading what a debate may reason from: a position with its pool, or the pools for a new one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from agents.facts import CreateContext, MarketContext, PositionFacts
from agents.numbers.shapes import MAX_SURVEYED_POOLS
from agents.observing.errors import NoFittingPoolError, NoSuchPositionError, chain_faults_told
from agents.observing.figures import said
from agents.observing.fitting import fitting_pools, goal_tokens
from agents.observing.gas import gas_facts, read_gas
from agents.observing.pool_reading import SeenPool, observed_pool, read_pools
from agents.observing.worth import COIN_DECIMALS, usd_per_unit
from chain.networks import NATIVE
from chain.overview import tokens_at
from chain.pools.discovery import SurveyPlan, discover_pools
from chain.pools.state import pool_states
from chain.positions.gathering import Gathering
from chain.positions.portfolio import currencies
from chain.prices.ladder import market_prices, price_book, with_ether
from chain.prices.pool_prices import ask_pool_prices
from chain.reading.one_block import OneBlock
from chain.rpc.errors import ErrorKind, RpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from agents.facts import CreateGoal, GasFacts
    from agents.numbers.profiles import RiskProfile
    from chain.gas import GasCost
    from chain.networks import Address
    from chain.overview import Sources
    from chain.positions.identity import PositionIdentity
    from chain.positions.snapshot import PositionSnapshot
    from chain.prices.pool_prices import PoolPriceQuestion
    from chain.prices.price import PriceBook
    from chain.quantity import Known

T = TypeVar("T")
_LARGEST_TOKEN_ID = 2**256 - 1
_REPLACED = frozenset((ErrorKind.REORGED, ErrorKind.STATE_PRUNED, ErrorKind.BLOCK_MISSING))
"""What a node says of a head that was replaced while it was read: the new one will do."""


class ChainObserver:
    """The deterministic half of Scout: the same chain and clock give the same bytes."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._network = sources.network

    async def observe_position(self, token_id: int, profile: RiskProfile) -> MarketContext:
        """A position, its pool and its market at the newest block, still without a summary."""
        if not 0 <= token_id <= _LARGEST_TOKEN_ID:
            raise NoSuchPositionError(token_id, self._network)
        return await self._at_one_block(lambda: self._position(token_id, profile))

    async def survey(self, goal: CreateGoal, owner: Address, profile: RiskProfile) -> CreateContext:
        """The pools that can hold the capital, the deepest first, still without a summary."""
        return await self._at_one_block(lambda: self._survey(goal, owner, profile))

    async def _at_one_block(self, read: Callable[[], Awaitable[T]]) -> T:
        with chain_faults_told(self._network):
            try:
                return await read()
            except RpcError as error:
                if error.kind not in _REPLACED:
                    raise
            return await read()

    async def _position(self, token_id: int, profile: RiskProfile) -> MarketContext:
        sources, network = self._sources, self._network
        here = OneBlock(sources.client, network)
        gathering = Gathering(
            here, network, sources.memory, lambda identities: self._priced_by(identities).slots
        )
        await gathering.complete([token_id])
        snapshot = gathering.snapshots().get(token_id)
        if snapshot is None:
            raise NoSuchPositionError(token_id, network)
        block, words = here.block, gathering.words
        (state,) = pool_states([snapshot.pool.key], words)
        question = self._priced_by([snapshot.identity])
        (reading,), cost, tokens, market, pools = await asyncio.gather(
            read_pools(sources, block, [SeenPool(state, snapshot.pool.hook)]),
            read_gas(sources.client, network, block),
            tokens_at(sources, currencies([snapshot.identity]), block.hash),
            market_prices(sources.coingecko, network, question.wanted),
            question.read(words, here, block),
        )
        prices = price_book(network, market, pools)
        told = observed_pool(network, reading, tokens, prices)
        gas, gas_sources = self._gas(cost, prices)
        return MarketContext(
            chain_id=network.chain_id,
            block=block.number,
            block_hash=block.hash,
            time=block.timestamp,
            profile=profile,
            gas=gas,
            sources={
                "position": f"PoolManager storage and PositionManager, block {block.number}",
                **told.sources,
                **gas_sources,
            },
            summary="",
            observed=told.pool,
            position=_position_facts(snapshot),
        )

    async def _survey(
        self, goal: CreateGoal, owner: Address, profile: RiskProfile
    ) -> CreateContext:
        sources, network = self._sources, self._network
        found = await discover_pools(
            sources.client,
            network,
            sources.store,
            clock=sources.clock,
            coingecko=sources.coingecko,
            plan=SurveyPlan(tokens=goal_tokens(goal)),
        )
        pools = fitting_pools(goal, found.pools, network.wrapped_native)[:MAX_SURVEYED_POOLS]
        if not pools:
            raise NoFittingPoolError(
                network, pair_named=goal.pair is not None, fee_named=goal.fee is not None
            )
        block, prices = found.block, found.prices
        seen = [SeenPool(pool.state, pool.hook) for pool in pools]
        readings, cost = await asyncio.gather(
            read_pools(sources, block, seen),
            read_gas(sources.client, network, block),
        )
        tokens = {token.address: token for pool in pools for token in (pool.token0, pool.token1)}
        told = [observed_pool(network, reading, tokens, prices) for reading in readings]
        gas, gas_sources = self._gas(cost, prices)
        listed = "" if found.coverage.complete else ", not all Initialize logs could be read"
        return CreateContext(
            chain_id=network.chain_id,
            block=block.number,
            block_hash=block.hash,
            time=block.timestamp,
            profile=profile,
            gas=gas,
            sources={
                "pools": f"{found.found} pools of the network found, {len(pools)} observed{listed}",
                **{
                    f"pool {index}: {group}": words
                    for index, one in enumerate(told)
                    for group, words in one.sources.items()
                },
                **gas_sources,
            },
            summary="",
            goal=goal,
            owner=owner,
            wrapped_native=network.wrapped_native,
            surveyed_pools=tuple(one.pool for one in told),
        )

    def _priced_by(self, identities: Collection[PositionIdentity]) -> PoolPriceQuestion:
        """What prices these positions' tokens and the coin that gas is paid in."""
        wanted = with_ether(self._network, (*currencies(identities), NATIVE))
        keys = dict.fromkeys(one.pool_key for one in identities)
        return ask_pool_prices(self._network, wanted, keys)

    def _gas(self, cost: Known[GasCost], prices: PriceBook) -> tuple[GasFacts, dict[str, str]]:
        coin = usd_per_unit(self._network, NATIVE, COIN_DECIMALS, prices)
        told = {"gas": said(cost), "price of the coin": said(coin)}
        return gas_facts(cost.value, coin), told


def _position_facts(snapshot: PositionSnapshot) -> PositionFacts:
    return PositionFacts(
        token_id=snapshot.token_id,
        owner=snapshot.custody.owner,
        tick_lower=snapshot.identity.tick_lower,
        tick_upper=snapshot.identity.tick_upper,
        liquidity=snapshot.liquidity,
        amount0=snapshot.amount0,
        amount1=snapshot.amount1,
        fees0=snapshot.fees0,
        fees1=snapshot.fees1,
        has_subscriber=snapshot.custody.subscriber is not None,
    )
