"""Reading wallets for the watch: few requests a poll, and what changes slowly not every time."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct, field

from agents.monitor.alerts.store_page import WatchCursor
from agents.monitor.rules.baseline import DepthReference, read_reference_depths
from agents.monitor.rules.thresholds import still_fresh
from agents.monitor.rules.worth_risks import Losses, LossReader
from agents.numbers.costs import CostedRecipe, gas_units, unwritten_fees
from chain.base.units import HOUR, Known, Unknown
from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import PoolId
from chain.history.block_times import interpolate_time, pick_evenly, read_headers
from chain.history.end_ticks import EndTicks, read_end_ticks
from chain.history.events import fee_terms
from chain.history.hour_reader import HourMemory, read_hours
from chain.history.volatility import (
    DAY_HOURS,
    Volatility,
    VolatilityStep,
    price_path,
    read_volatility,
)
from chain.math.liquidity import Amounts
from chain.pools.state import passes_calls_on, read_hook_targets
from chain.positions.discovery import Discovery
from chain.positions.overview import Sources, price_words, read_values
from chain.positions.search import WalletPositions
from chain.prices.price import PriceBook
from chain.protocols.custody import OWNER, about, decode_owner
from chain.protocols.pool import PoolSnapshot
from chain.protocols.reference import PositionRef
from chain.protocols.registry import manager_of, protocol_of
from chain.protocols.snapshot import PositionSnapshot
from chain.read.block_reader import OneBlock, sound_answers
from chain.read.gas import GasCost, Weight, read_gas_cost
from chain.rpc import requests
from chain.rpc.errors import LogsLeftOut, LogsTooNarrow, RpcError, RpcRefused, StaleHead
from chain.rpc.records import Block
from chain.tokens import Token
from chain.tokens.token import listed_token

GAS_KEPT_SECONDS = HOUR / 2
LOGS_KEPT_SECONDS = 600.0
"""Between two looks at all logs of the wallets; what leaves them is asked for at every poll."""
VOLATILITY_KEPT_SECONDS = HOUR
MOST_TIMES = 100
"""Blocks whose time is asked for; between them it is interpolated."""

# Of a v3 position with fees in both tokens, the dearest; it fits into few bytes of calldata.
_COLLECTING = Weight(gas=gas_units("v3", CostedRecipe.COLLECT, as_one=False), size=600)
_COIN = (NATIVE,)


class Reading(Struct, frozen=True):
    """A wallet at its newest block, and what happened in its pools since the cursor."""

    wallet: WalletPositions
    tokens: Mapping[Address, Token]
    prices: PriceBook
    ticks: EndTicks | None
    """None where there is no cursor of this chain to go on from."""
    owners_of_gone: Mapping[PositionRef, Address | None]
    """Of positions that were watched and are not here any more; None for what was burned."""
    volatilities: Mapping[PoolId, Volatility]
    collect_usd: Mapping[PositionRef, float]
    """By position, where it is known."""
    losses: Losses
    reference_depths: Mapping[PositionRef, int | None] = field(default_factory=dict)
    """By position, where its pool looks drained: the others' liquidity where the price was."""
    hook_targets: Mapping[Address, tuple[Address, ...]] = field(default_factory=dict)
    """Of hooks whose code only passes calls on: where to."""

    @property
    def block(self) -> Block:
        return self.wallet.block

    @property
    def trouble(self) -> str | None:
        """What could not be seen, though the rest could."""
        unknown = self.losses.unknown
        held = (position.ref for position in self.wallet.positions)
        return self.wallet.shortfall or next((unknown[ref] for ref in held if ref in unknown), None)

    def hook_code(self, position: PositionSnapshot) -> str | None:
        """What runs as the hook of a position's pool, as a text that changes when that does."""
        hook = position.pool.hook
        if hook.code is None:
            return None
        return " ".join((hook.code.code_hash, *self.hook_targets.get(hook.address, ())))


class Sought(Struct, frozen=True):
    """A wallet to be read, and what was known of it before."""

    owner: Address
    cursor: WatchCursor | None
    watched: Collection[PositionRef]
    """Positions whose whereabouts are asked for should they be gone."""
    depths: Mapping[PositionRef, DepthReference] = field(default_factory=dict)
    """By position: where its pool's depth was measured."""

    @property
    def landmarks(self) -> tuple[tuple[int, str], ...]:
        """Blocks by number and hash from which its pools can be followed, newest first."""
        if self.cursor is None:
            return ()
        return ((self.cursor.block, self.cursor.block_hash), *self.cursor.earlier)


class SeenPools(Struct, frozen=True):
    """The pools of the last poll, as its head had them."""

    head: Block
    pools: Mapping[PoolId, PoolSnapshot]

    def is_at(self, landmark: tuple[int, str]) -> bool:
        return landmark == (self.head.number, self.head.hash)


class WatchReader:
    """Reads wallets of one network again and again, remembering what never or slowly changes."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._memory = sources.memory
        self._volatilities: dict[PoolId, Volatility] = {}
        self._unmeasured: set[PoolId] = set()
        """Pools whose swaps no endpoint gives: within the hour they are not asked for again."""
        self._volatilities_read: float | None = None
        self._collecting: GasCost | None = None
        self._gas_read: float | None = None
        self._losses = LossReader(sources, self._memory)
        self._seen: SeenPools | None = None

    async def read(
        self, sought: Sequence[Sought], with_loss: Callable[[PositionRef], bool], now: float
    ) -> tuple[Reading, ...]:
        """All of the wallets at one block; raises `RpcError` when any of it cannot be seen.

        What several of them need is asked once, so that many take as many requests as one.
        """
        sources, network, client = self.sources, self.sources.network, self.sources.client
        discovery = Discovery(
            client,
            network,
            self._memory,
            also=price_words(network, _COIN),
            between_logs=LOGS_KEPT_SECONDS,
            follow_leaving=True,
            every_protocol=True,
        )
        wallets = await discovery.read_all([wallet.owner for wallet in sought])
        head, words = wallets[0].block, wallets[0].words
        positions = [position for wallet in wallets for position in wallet.positions]
        provided = [position for position in positions if position.liquidity]
        tokens, prices = await read_values(sources, positions, words, beside=_COIN)
        with_depth = [each for each in provided if protocol_of(each.ref).in_pool_manager]
        pools = {position.pool.pool_id: position.pool for position in provided}
        ticks = await self._end_ticks(sought, wallets, head)
        self._seen = SeenPools(head, pools)
        gone = [
            set(request.watched) - {each.ref for each in wallet.positions}
            for request, wallet in zip(sought, wallets, strict=True)
        ]
        hooks = {
            position.pool.hook.address
            for position in provided
            if passes_calls_on(position.pool.hook)
        }
        await self._renew_volatilities(pools, head, now)
        await self._renew_gas(now)
        owners = await self._owners(head, sorted(set().union(*gone)))
        losses = await self._losses.read(
            [position for position in provided if with_loss(position.ref)], now
        )
        references = {ref: depth for wallet in sought for ref, depth in wallet.depths.items()}
        depths = await read_reference_depths(client, network, head, with_depth, references)
        hook_targets = await read_hook_targets(client.at(head), sorted(hooks))
        return tuple(
            Reading(
                wallet=wallet,
                tokens=tokens,
                prices=prices,
                ticks=ticks[wallet.owner],
                owners_of_gone={ref: owners[ref] for ref in missed},
                volatilities=self._volatilities,
                collect_usd=self._collect_usd(wallet.positions, prices),
                losses=losses,
                reference_depths=depths,
                hook_targets=hook_targets,
            )
            for wallet, missed in zip(wallets, gone, strict=True)
        )

    async def _end_ticks(
        self, sought: Sequence[Sought], wallets: Sequence[WalletPositions], head: Block
    ) -> dict[Address, EndTicks | None]:
        """By wallet; those that were read up to the same block are asked about together."""
        found: dict[Address, EndTicks | None] = {wallet.owner: None for wallet in sought}
        groups: dict[tuple[int, str], list[Sought]] = defaultdict(list)
        for request in sought:
            if request.landmarks:
                groups[request.landmarks[0]].append(request)
        pools = {
            wallet.owner: {
                position.pool.pool_id for position in wallet.positions if position.liquidity
            }
            for wallet in wallets
        }
        now = {
            position.pool.pool_id: position.pool
            for wallet in wallets
            for position in wallet.positions
        }
        for newest, group in groups.items():
            wanted = set().union(*(pools[wallet.owner] for wallet in group))
            seen = self._seen if self._seen is not None and self._seen.is_at(newest) else None
            if seen is not None:
                wanted = {
                    pool_id
                    for pool_id in wanted
                    if not _untouched(seen.pools.get(pool_id), now[pool_id])
                }
            ticks: EndTicks | None
            if seen is not None and not wanted:
                ticks = EndTicks({}, seen.head)
            else:
                landmarks = max((wallet.landmarks for wallet in group), key=len)
                ticks = await self._ticks_since(
                    {pool_id: now[pool_id] for pool_id in wanted}, landmarks, head
                )
            for looked_for in group:
                # A wallet that came later was not watched at every block the others were.
                if (
                    ticks is not None
                    and (ticks.since.number, ticks.since.hash) in looked_for.landmarks
                ):
                    found[looked_for.owner] = ticks
        return found

    async def _ticks_since(
        self,
        pools: Mapping[PoolId, PoolSnapshot],
        landmarks: Sequence[tuple[int, str]],
        head: Block,
    ) -> EndTicks | None:
        """From an endpoint that gives no logs the ticks at the head alone."""
        client, network = self.sources.client, self.sources.network
        try:
            return await read_end_ticks(client, network, pools, landmarks, head)
        except RpcRefused:
            number, block_hash = landmarks[0]
            since = await client.ask(requests.block(number))
            if since is None or since.hash != block_hash:
                return None
            at_head = {key: [(head.number, pool.tick)] for key, pool in pools.items()}
            return EndTicks(at_head, since)

    async def times(
        self, blocks: Iterable[int], known: Sequence[tuple[int, int]]
    ) -> dict[int, int]:
        """When these blocks were made, given the times of two that enclose them all."""
        times = dict(known)
        missing = sorted(set(blocks) - times.keys())
        asked = pick_evenly(missing, MOST_TIMES)
        for block in await read_headers(self.sources.client, asked) if asked else ():
            times[block.number] = block.timestamp
        anchors = sorted(times.items())
        return times | {
            number: interpolate_time(anchors, number) for number in missing if number not in times
        }

    async def _owners(
        self, block: Block, gone: Sequence[PositionRef]
    ) -> dict[PositionRef, Address | None]:
        if not gone:
            return {}
        network = self.sources.network
        here = OneBlock(self.sources.client, network, block.hash)
        answers = await here.read(
            [about(manager_of(ref, network), OWNER, ref.token_id) for ref in gone]
        )
        with sound_answers():
            owners = map(decode_owner, answers.outcomes)
            return dict(zip(gone, owners, strict=True))

    async def _renew_volatilities(
        self, pools: Mapping[PoolId, PoolSnapshot], head: Block, now: float
    ) -> None:
        """Hourly: a day's volatility does not change within a poll."""
        unknown = {
            pool: snapshot for pool, snapshot in pools.items() if pool not in self._volatilities
        }
        if not still_fresh(self._volatilities_read, VOLATILITY_KEPT_SECONDS, now):
            unknown = dict(pools)
            self._unmeasured.clear()
            self._volatilities_read = now
        unknown = {
            pool: snapshot for pool, snapshot in unknown.items() if pool not in self._unmeasured
        }
        if not unknown:
            return
        # A rule that lacks it stays silent; what is certain must not wait for it.
        try:
            self._volatilities |= await self._read_volatilities(unknown, head, now)
        except (LogsLeftOut, LogsTooNarrow, RpcRefused):
            self._unmeasured |= unknown.keys()
        except RpcError:
            return

    async def _read_volatilities(
        self, pools: Mapping[PoolId, PoolSnapshot], head: Block, now: float
    ) -> dict[PoolId, Volatility]:
        sources, network = self.sources, self.sources.network
        found = {
            pool: await read_volatility(sources.coingecko, network, snapshot.key, None, now=now)
            for pool, snapshot in pools.items()
        }
        unmarketed = [
            pool
            for pool, volatility in found.items()
            if volatility.step is not VolatilityStep.MARKET
        ]
        if unmarketed:
            hours = await read_hours(
                sources.client,
                network,
                {pool: fee_terms(pools[pool]) for pool in unmarketed},
                DAY_HOURS * HOUR,
                memory=HourMemory(sources.store, network, sources.clock),
                head=head,
            )
            for pool in unmarketed:
                path = price_path(hours[pool])
                found[pool] = await read_volatility(None, network, pools[pool].key, path, now=now)
        return found

    async def _renew_gas(self, now: float) -> None:
        if still_fresh(self._gas_read, GAS_KEPT_SECONDS, now):
            return
        self._gas_read = now
        self._collecting = None
        with suppress(RpcError):
            cost = await read_gas_cost(self.sources.client, self.sources.network, [_COLLECTING])
            self._collecting = None if isinstance(cost, Unknown) else cost.value

    def _collect_usd(
        self, positions: Iterable[PositionSnapshot], prices: PriceBook
    ) -> dict[PositionRef, float]:
        coin, cost = listed_token(self.sources.network, NATIVE), self._collecting
        if cost is None or coin is None:
            return {}
        gas = {position.ref: _collect_gas(position) for position in positions}
        # A few ways to collect cost thousands of positions the same.
        usd = {
            units: prices.value(
                coin.token, cost.execution * units // _COLLECTING.gas + cost.total - cost.execution
            )
            for units in set(gas.values())
        }
        told = {ref: usd[units] for ref, units in gas.items()}
        return {ref: float(each.value) for ref, each in told.items() if isinstance(each, Known)}


def _collect_gas(position: PositionSnapshot) -> int:
    apart = position.withdrawn
    withdrawn = Amounts(0, 0) if isinstance(apart, Unknown) else apart.value
    unwritten = unwritten_fees(Amounts(position.fees0, position.fees1), withdrawn)
    return gas_units(position.ref.protocol, CostedRecipe.COLLECT, unwritten, as_one=False)


def _untouched(before: PoolSnapshot | None, now: PoolSnapshot) -> bool:
    """Whether no swap can have touched any liquidity since: each would have paid a fee."""
    if before is None or now.key.has_dynamic_fee:
        return False
    charged = before.lp_fee > 0 and now.lp_fee > 0
    unmoved = (before.sqrt_price_x96, before.fee_growth) == (now.sqrt_price_x96, now.fee_growth)
    return charged and unmoved


def refuse_the_past(head: Block, cursor: WatchCursor | None, *, live: bool) -> None:
    """A live network does not shrink: a head before the cursor is a node that lags."""
    if live and cursor is not None and head.number < cursor.block:
        age = float(cursor.time - head.timestamp)
        raise StaleHead(head.number, age, 0.0, endpoint="the RPC")
