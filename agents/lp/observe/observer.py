"""Reading what a debate may reason from: a position with its pool, or the pools for a new one."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeVar

from agents.bus.envelope import FailureCause
from agents.bus.worker import StageFailedError
from agents.lp.facts import (
    CreateContext,
    CreateGoal,
    GasFacts,
    IntoGoal,
    MarketContext,
    ObservedPositionFacts,
    PastChange,
    PastFacts,
)
from agents.lp.observe.pool_facts import (
    COIN_DECIMALS,
    MOST_STEPS,
    figure,
    source_words,
    usd_per_unit,
)
from agents.lp.observe.pool_reading import SeenPool, observed_pool, read_pools, swap_pools
from agents.numbers.costs import CostedRecipe, gas_units
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import MAX_SURVEYED_POOLS
from chain.base.errors import Failure, ZunoError
from chain.base.store import StoreError
from chain.base.units import Known, Quantity, Unknown
from chain.contracts.abi import AbiError
from chain.contracts.delegation import delegate_in, delegate_named
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolKey
from chain.math.liquidity import Amounts
from chain.pools.depth import read_states
from chain.positions.batch_reader import AlsoWords, BatchReader, read_positions
from chain.positions.by_day import SinceEntry, worth
from chain.positions.overview import (
    Sources,
    currencies,
    price_question,
    price_words,
    pricing_keys,
    tokens_at,
)
from chain.positions.performance import read_accounts
from chain.prices.ladder import market_prices, price_book
from chain.prices.price import PriceBook
from chain.protocols.pool import is_pair_of
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.protocols.registry import protocol_of
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot
from chain.protocols.v4.storage import pool_state_slots, pool_states
from chain.read.block_reader import OneBlock
from chain.read.gas import GasCost, Weight, read_gas_cost
from chain.read.logs import ScanProgress
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import ErrorKind, RpcError
from chain.rpc.records import Block
from chain.survey.discovery import SurveyedPool, SurveyPlan, survey_pools


class ObservationError(StageFailedError):
    """There are no facts to argue from; a handler may let it through as it is."""


class NoSuchPositionError(ZunoError, ObservationError):
    failure = Failure.REFUSED

    def __init__(self, ref: PositionRef, network: Network) -> None:
        super().__init__(
            f"There is no position {position_name(ref)} on {network.title}: it was burned, or "
            "never minted."
            " See which there are: zuno positions"
        )


class NoFittingPoolError(ObservationError):
    def __init__(self, network: Network, *, pair_named: bool, fee_named: bool) -> None:
        named = [word for word, given in (("pair", pair_named), ("fee", fee_named)) if given]
        wanted = f", with the {' and the '.join(named)} that was named," if named else ""
        super().__init__(
            f"No pool found on {network.title}{wanted} can hold this capital."
            " Name other tokens or another fee; see what there is: zuno pools"
        )


class NoPoolElsewhereError(ZunoError, ObservationError):
    failure = Failure.REFUSED

    def __init__(self, ref: PositionRef, into: IntoGoal) -> None:
        if into.protocol == ref.protocol:
            super().__init__(
                f"{position_label(ref)} is on Uniswap {ref.protocol} already. To move it there: "
                f"zuno recommend {position_name(ref)}"
            )
            return
        where = "No other protocol" if into.protocol is None else f"Uniswap {into.protocol}"
        verb = "has" if into.protocol is None else "has no"
        which = "" if into.fee is None else f" at {into.fee / 10_000:g}%"
        pool = "a pool" if into.protocol is None else "pool"
        super().__init__(
            f"{where} {verb} {pool} of this pair{which} that holds anything. "
            f"{position_label(ref)} stays where it is. See pools: zuno pools"
        )


class GasUnknownError(ZunoError, ObservationError):
    failure = Failure.NETWORK

    cause = FailureCause.UNREADABLE

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"What a move would cost is unknown: {reason}."
            " Set another endpoint: zuno --network NAME --rpc URL"
        )


class ChainUnreadableError(ZunoError, ObservationError):
    """The chain did not answer, or not with what the contracts answer."""

    failure = Failure.NETWORK

    cause = FailureCause.UNREADABLE


@contextmanager
def chain_faults_told(network: Network) -> Iterator[None]:
    """Whatever a read of the chain can raise, as an error that a person may be shown."""
    try:
        yield
    except RpcError as error:
        told = " ".join(part for part in (error.sentence, error.next_step) if part)
        raise ChainUnreadableError(told) from error
    except StoreError as error:
        raise ChainUnreadableError(str(error)) from error
    except AbiError as error:
        raise ChainUnreadableError(
            f"{network.title} answered with what no Uniswap v4 contract answers: {error}"
            " See what answers and what does not: zuno doctor"
        ) from error


_MOST_CHANGES = 20


async def read_position_past(sources: Sources, ref: PositionRef) -> PastFacts:
    network = sources.network
    found = await read_positions(sources.client, network, sources.memory, [ref])
    snapshot = found.get(ref)
    if snapshot is None:
        raise NoSuchPositionError(ref, network)
    account = (await read_accounts(sources, [snapshot]))[ref]
    return past_facts(account, snapshot.block.timestamp, snapshot.pool.sqrt_price_x96)


def past_facts(account: SinceEntry, now: int, sqrt_price_x96: int) -> PastFacts:
    def value(amounts: Quantity[Amounts]) -> float | None:
        return figure(amounts.map(lambda known: worth(known, sqrt_price_x96)))

    age = account.age_seconds
    return PastFacts(
        changes=tuple(
            PastChange(age_seconds=now - change.timestamp, liquidity_delta=change.liquidity_delta)
            for change in account.changes[-_MOST_CHANGES:]
        ),
        changes_in_all=len(account.changes),
        age_seconds=None if isinstance(age, Unknown) else age.value,
        deposited=value(account.deposited),
        withdrawn=value(account.withdrawn),
        fees_collected=value(account.fees_collected),
        fees_earned=value(account.fees_earned),
        against_holding=figure(account.against_holding),
        impermanent_loss=figure(account.impermanent_loss),
    )


# Where data is paid for on a parent chain, every move is charged as the longest: two approvals,
# an exit, a swap and a mint, a little over three thousand bytes together.
LONGEST_MOVE = Weight(gas=gas_units("v4", CostedRecipe.RERANGE_WITH_SWAP, as_one=False), size=3_200)


async def read_gas(client: RpcClient, network: Network, block: Block) -> Known[GasCost]:
    """The cost of the longest move after this block."""
    cost = await read_gas_cost(client, network, [LONGEST_MOVE], block.number)
    if isinstance(cost, Unknown):
        raise GasUnknownError(cost.reason)
    return cost


def gas_facts(cost: GasCost, usd_per_wei: Quantity[Fraction], *, as_one: bool = False) -> GasFacts:
    return GasFacts(
        wei_per_gas=cost.execution // LONGEST_MOVE.gas,
        l1_data_fee_wei=cost.data_fee + cost.operator_fee,
        usd_per_wei=figure(usd_per_wei),
        as_one=as_one,
    )


def fitting_pools(
    goal: CreateGoal, pools: Iterable[SurveyedPool], wrapped_native: Address | None
) -> list[SurveyedPool]:
    """Those that fit, in their order; pools that need the coin wrapped first come after the others.

    Who says ETH is offered the coin's pools and those of its wrapped form; who says WETH is not
    offered the coin's, since nobody asked to unwrap it.
    """
    fitting = [pool for pool in pools if _fits(goal, pool.key, wrapped_native)]
    return sorted(fitting, key=lambda pool: not _fits(goal, pool.key, None))


def goal_tokens(goal: CreateGoal) -> tuple[Address, ...]:
    """Every token the person named, each once."""
    capital = (amount.token for amount in goal.capital)
    return tuple(dict.fromkeys((*capital, *(goal.pair or ()))))


def _fits(goal: CreateGoal, key: PoolKey, wrapped: Address | None) -> bool:
    if goal.fee is not None and key.fee != goal.fee:
        return False
    if goal.protocol not in (None, key.protocol):
        return False
    capital = [amount.token for amount in goal.capital]
    return _holds(key, capital, wrapped) and (
        goal.pair is None or _holds(key, list(goal.pair), wrapped)
    )


def _holds(key: PoolKey, asked: list[Address], wrapped: Address | None) -> bool:
    """Whether each token asked for is a currency of the pool of its own."""
    currencies = (key.currency0, key.currency1)
    if len(asked) > len(currencies):
        return False
    return any(
        all(_stands_for(wanted, held, wrapped) for wanted, held in zip(asked, order, strict=False))
        for order in (currencies, currencies[::-1])
    )


def _stands_for(asked: Address, held: Address, wrapped: Address | None) -> bool:
    return held == asked or (asked == NATIVE and held == wrapped)


T = TypeVar("T")
_LEAST_STEPS = 80
"""Of the last day in each pool, however many are surveyed."""


def _steps(pools: int) -> int:
    return max(_LEAST_STEPS, MOST_STEPS // pools)


_LARGEST_TOKEN_ID = 2**256 - 1
_REPLACED = frozenset((ErrorKind.REORGED, ErrorKind.STATE_PRUNED, ErrorKind.BLOCK_MISSING))
"""What a node says of a head that was replaced while it was read: the new one will do."""


class ChainObserver:
    """The deterministic half of Scout: the same chain and clock give the same bytes."""

    def __init__(
        self, sources: Sources, watch: Callable[[ScanProgress], None] = lambda _: None
    ) -> None:
        self._sources = sources
        self._network = sources.network
        self._watch = watch

    async def observe_position(
        self, ref: PositionRef, profile: RiskProfile, into: IntoGoal | None = None
    ) -> MarketContext:
        """A position, its pool and its market at the newest block, still without a summary."""
        if ref.token_id > _LARGEST_TOKEN_ID:
            raise NoSuchPositionError(ref, self._network)
        return await self._at_one_block(lambda: self._position(ref, profile, into))

    async def survey(self, goal: CreateGoal, owner: Address, profile: RiskProfile) -> CreateContext:
        """The pools that can hold the capital, the deepest first, still without a summary."""
        return await self._at_one_block(lambda: self._survey(goal, owner, profile))

    async def position_past(self, ref: PositionRef) -> PastFacts:
        """What became of a position since it was opened."""
        return await self._at_one_block(lambda: read_position_past(self._sources, ref))

    async def _at_one_block(self, read: Callable[[], Awaitable[T]]) -> T:
        with chain_faults_told(self._network):
            try:
                return await read()
            except RpcError as error:
                if error.kind not in _REPLACED:
                    raise
            return await read()

    async def _elsewhere(
        self, here: OneBlock, position: PositionSnapshot, into: IntoGoal
    ) -> list[SeenPool]:
        """Pools of the same pair of other protocols, the deepest first."""
        network, own = self._network, position.pool.key
        tokens = (own.currency0, own.currency1)
        found = await survey_pools(self._sources, SurveyPlan(tokens=tokens, every_protocol=True))
        hooks = {
            pool.key: pool.hook
            for pool in found.pools
            if is_pair_of(own, pool.key, network.wrapped_native)
            and pool.key.protocol != own.protocol
            and into.protocol in (None, pool.key.protocol)
            and into.fee in (None, pool.key.fee)
        }
        states = (await read_states(here, network, list(hooks)[:MAX_SURVEYED_POOLS])).states
        pools = [SeenPool(state, hooks[state.key]) for state in states if state.liquidity]
        if not pools:
            raise NoPoolElsewhereError(position.ref, into)
        return pools

    async def _position(
        self, ref: PositionRef, profile: RiskProfile, into: IntoGoal | None
    ) -> MarketContext:
        sources, network = self._sources, self._network
        here = OneBlock(sources.client, network)
        gathering = BatchReader(here, network, sources.memory, _words_beside(network))
        await gathering.complete([ref])
        snapshot = gathering.snapshots().get(ref)
        if snapshot is None:
            raise NoSuchPositionError(ref, network)
        block, words = here.block, gathering.words
        state = snapshot.pool.state
        elsewhere = [] if into is None else await self._elsewhere(here, snapshot, into)
        seen = [SeenPool(state, snapshot.pool.hook), *elsewhere]
        others = swap_pools(network, [each.state.key for each in seen])
        if protocol_of(ref).in_pool_manager and not elsewhere:
            beside = pool_states(others, words)
        else:
            beside = (await read_states(here, network, others)).states
        pair = [token for each in elsewhere for token in each.state.key.values[:2]]
        question = price_question(network, [snapshot.identity], (NATIVE, *pair))
        readings, cost, account, tokens, market, pools = await asyncio.gather(
            read_pools(sources, block, seen, beside, self._watch),
            read_gas(sources.client, network, block),
            sources.client.ask(requests.code(snapshot.custody.owner, block.hash)),
            tokens_at(sources, {*currencies([snapshot.identity]), *pair}, block.hash),
            market_prices(sources.coingecko, network, question.wanted),
            question.read(words, here, block),
        )
        prices = price_book(network, market, pools)
        told, *others_told = [
            observed_pool(network, reading, tokens, prices, _steps(len(seen)))
            for reading in readings.observed
        ]
        gas, gas_sources = self._gas(cost, prices, account)
        apart = snapshot.withdrawn
        withdrawn = Amounts(0, 0) if isinstance(apart, Unknown) else apart.value
        return MarketContext(
            chain_id=network.chain_id,
            block=block.number,
            block_hash=block.hash,
            time=block.timestamp,
            profile=profile,
            gas=gas,
            sources={
                "position": f"{' and '.join(snapshot.contracts)}, block {block.number}",
                **told.sources,
                **{
                    f"pool {index}: {group}": words
                    for index, each in enumerate(others_told, 1)
                    for group, words in each.sources.items()
                },
                **gas_sources,
            },
            summary="",
            swap_pools=readings.swap_pools,
            observed=told.pool,
            into=tuple(each.pool for each in others_told),
            position=ObservedPositionFacts(
                token_id=snapshot.ref,
                owner=snapshot.custody.owner,
                tick_lower=snapshot.identity.tick_lower,
                tick_upper=snapshot.identity.tick_upper,
                liquidity=snapshot.liquidity,
                amount0=snapshot.amount0,
                amount1=snapshot.amount1,
                fees0=snapshot.fees0,
                fees1=snapshot.fees1,
                withdrawn0=withdrawn.amount0,
                withdrawn1=withdrawn.amount1,
                has_subscriber=snapshot.custody.subscriber is not None,
            ),
        )

    async def _survey(
        self, goal: CreateGoal, owner: Address, profile: RiskProfile
    ) -> CreateContext:
        sources, network = self._sources, self._network
        elsewhere = goal.protocol is not None
        plan = SurveyPlan(tokens=goal_tokens(goal), every_protocol=elsewhere)
        found = await survey_pools(sources, plan)
        pools = fitting_pools(goal, found.pools, network.wrapped_native)[:MAX_SURVEYED_POOLS]
        if not pools:
            raise NoFittingPoolError(
                network, pair_named=goal.pair is not None, fee_named=goal.fee is not None
            )
        block, prices = found.block, found.prices
        seen = [SeenPool(pool.state, pool.hook) for pool in pools]
        others = swap_pools(network, (pool.key for pool in pools))
        beside = [pool.state for pool in found.pools if pool.key in others]
        readings, cost, account = await asyncio.gather(
            read_pools(sources, block, seen, beside, self._watch),
            read_gas(sources.client, network, block),
            sources.client.ask(requests.code(owner, block.hash)),
        )
        tokens = {token.address: token for pool in pools for token in (pool.token0, pool.token1)}
        told = [
            observed_pool(network, reading, tokens, prices, _steps(len(pools)))
            for reading in readings.observed
        ]
        gas, gas_sources = self._gas(cost, prices, account)
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
                    for index, sourced in enumerate(told)
                    for group, words in sourced.sources.items()
                },
                **gas_sources,
            },
            summary="",
            swap_pools=readings.swap_pools,
            goal=goal,
            owner=owner,
            wrapped_native=network.wrapped_native,
            surveyed_pools=tuple(survey.pool for survey in told),
        )

    def _gas(
        self, cost: Known[GasCost], prices: PriceBook, account: bytes
    ) -> tuple[GasFacts, dict[str, str]]:
        coin = usd_per_unit(self._network, NATIVE, COIN_DECIMALS, prices)
        told = {"gas": source_words(cost), "price of the coin": source_words(coin)}
        as_one = delegate_named(self._network, delegate_in(account)) is not None
        return gas_facts(cost.value, coin, as_one=as_one), told


def _words_beside(network: Network) -> AlsoWords:
    """What prices a position's tokens, and the pools that its swaps may go through."""
    prices = price_words(network, (NATIVE,))

    def words(
        identities: Collection[PositionIdentity], tokens: Sequence[Address]
    ) -> tuple[int, ...]:
        keys = swap_pools(network, pricing_keys(identities))
        return (*prices(identities, tokens), *pool_state_slots(keys))

    return words
