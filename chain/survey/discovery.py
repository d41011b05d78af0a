"""Which pools there are between the tokens a network is known for, the most valuable first.

Plain pools at the usual fees are probed: their ids follow from their keys, so one read of storage
tells which exist. All others, hooked and with dynamic fees, announce themselves in Initialize logs.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from msgspec import Struct, field, to_builtins

from chain.base.store import Store
from chain.base.units import Quantity, Unknown, combine
from chain.contracts.hooks import NO_HOOK, HookPassport, hook_passport
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolId, PoolKey
from chain.math.liquidity import Amounts
from chain.pools.depth import Depth, read_depths, read_states
from chain.positions.overview import Sources
from chain.prices.coingecko import CoinGecko
from chain.prices.ladder import market_prices, price_book, with_ether
from chain.prices.pool_prices import prices_from_pools
from chain.prices.price import PriceBook
from chain.protocols.pool import PoolState
from chain.protocols.registry import all_protocols, protocol_named
from chain.protocols.v4.events import INITIALIZE, initialize_event
from chain.protocols.v4.storage import candidate_pools
from chain.read.block_reader import EventError, NoSuchBlockError, OneBlock, expect
from chain.read.logs import ScanProgress, scan_logs
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.rpc.records import Block
from chain.tokens import Token, ask_tokens, listed_tokens

_CURSORS = "initialised pools"
_SURVEYS = "pool survey"


class LogCoverage(Struct, frozen=True):
    """How much of the chain the Initialize logs were read of."""

    first: int
    through: int
    head: int
    failure: str | None = None
    """Why not more, when it is not all."""

    @property
    def complete(self) -> bool:
        return self.through >= self.head


class SurveyCursor(Struct, frozen=True):
    """The pools made up to a block that no reorganisation reaches."""

    through: int
    block_hash: str = field(name="hash")
    keys: tuple[PoolKey, ...]


_OtherRow: TypeAlias = tuple[str, PoolId, tuple[Address, Address, int, int, Address]]
"""The protocol of a pool, how it is named, and what it is made of."""


class _SeenPools(Struct, frozen=True, omit_defaults=True):
    keys: tuple[PoolKey, ...]
    others: tuple[_OtherRow, ...] | None = None


class RememberedSurvey(Struct, frozen=True):
    keys: tuple[PoolKey, ...]
    """Every pool that existed."""
    coverage: LogCoverage
    time: float
    others: tuple[PoolKey, ...] | None = None
    """Those outside the PoolManager; None where nobody looked for them."""


class PoolMemory:
    """The memory of one network's pools between one set of tokens: another set starts anew."""

    def __init__(self, store: Store, network: Network, tokens: Iterable[Address]) -> None:
        self._store = store
        named = hashlib.sha256(",".join(sorted(tokens)).encode()).hexdigest()[:16]
        self._key = f"{network.chain_id}/{network.contracts.pool_manager}/{named}"

    def cursor(self) -> SurveyCursor | None:
        return self._store.read(SurveyCursor, _CURSORS, self._key)

    def keep_cursor(self, cursor: SurveyCursor, *, now: float) -> None:
        self._store.put(_CURSORS, self._key, to_builtins(cursor), now=now)

    def survey(self) -> RememberedSurvey | None:
        written_at = self._store.written_at(_SURVEYS, self._key)
        seen = self._store.read(_SeenPools, _SURVEYS, self._key)
        coverage = self._store.read(LogCoverage, _SURVEYS, self._key)
        if seen is None or coverage is None or written_at is None:
            return None
        rows = seen.others
        others = (
            None
            if rows is None
            else tuple(protocol_named(name).key(made, at) for name, at, made in rows)
        )
        return RememberedSurvey(seen.keys, coverage, written_at, others)

    def keep_survey(self, survey: RememberedSurvey) -> None:
        others = survey.others
        rows = (
            None
            if others is None
            else tuple((key.protocol, key.pool_id, key.values) for key in others)
        )
        seen = _SeenPools(survey.keys, rows)
        value = {**to_builtins(seen), **to_builtins(survey.coverage)}
        self._store.put(_SURVEYS, self._key, value, now=survey.time)


class ScanPlan(Struct, frozen=True):
    """How a scan is to go: whom to tell of its progress, and when to stop for this time."""

    watch: Callable[[ScanProgress], None] = lambda _: None
    most_ranges: int | None = 60
    """The next run goes on from there; None reads to the head, however long that takes."""


class InitialisedPools(Struct, frozen=True):
    keys: tuple[PoolKey, ...]
    coverage: LogCoverage


async def initialised_pools(
    client: RpcClient,
    network: Network,
    tokens: Iterable[Address],
    memory: PoolMemory,
    plan: ScanPlan,
    *,
    now: float,
) -> InitialisedPools:
    """The pools made between two of these tokens; what could not be read is said, not raised."""
    scan = _Scan(network, tokens, memory, now)
    failure: str | None = None
    try:
        await scan.begin(client)
        await scan.read(client, plan)
    except RpcError as error:
        failure = error.sentence
    except (EventError, NoSuchBlockError) as error:
        failure = str(error)
    return InitialisedPools(tuple(scan.found), scan.coverage(failure))


class _Scan:
    """The pools found so far, and up to which block."""

    def __init__(
        self, network: Network, tokens: Iterable[Address], memory: PoolMemory, now: float
    ) -> None:
        self._pool_manager = network.contracts.pool_manager
        self._first = network.first_block
        words = tuple("0x" + address[2:].zfill(64) for address in sorted(tokens))
        self._topics = (INITIALIZE, None, words, words)
        self._memory = memory
        self._now = now
        self._settled: Block | None = None
        self._head = self._first
        self._through = self._first - 1
        self.found: dict[PoolKey, int] = {}
        """With the block each pool was made in."""

    async def begin(self, client: RpcClient) -> None:
        """Go on from what is remembered, unless it is of another chain."""
        cursor = self._memory.cursor()
        if cursor is not None:
            self.found = dict.fromkeys(cursor.keys, cursor.through)
            self._through = cursor.through
        landmark = [] if cursor is None else [requests.block(cursor.through)]
        asked = [requests.block("latest"), requests.block("finalized"), *landmark]
        head, settled, *landmarks = await client.settle(asked)
        if isinstance(head, RpcError):
            raise head
        if head is None:
            raise NoSuchBlockError("latest")
        self._head = head.number
        # Without a word on what is final, nothing new is remembered.
        self._settled = settled if isinstance(settled, Block) else None
        for mark in landmarks:
            if isinstance(mark, RpcError):
                raise mark
            if cursor is not None and (mark is None or mark.hash != cursor.block_hash):
                self.found, self._through = {}, self._first - 1

    async def read(self, client: RpcClient, plan: ScanPlan) -> None:
        first = self._through + 1
        ranges_left = plan.most_ranges
        ranges = scan_logs(client, self._pool_manager, [self._topics], first, self._head)
        async for part in ranges:
            for event in map(initialize_event, part.logs):
                self.found[event.key] = event.place.block_number
            self._through = part.last.number
            self._remember(part.last)
            plan.watch(ScanProgress(first, self._head, self._through, len(self.found)))
            if ranges_left is not None:
                ranges_left -= 1
                if ranges_left <= 0:
                    return

    def coverage(self, failure: str | None) -> LogCoverage:
        return LogCoverage(self._first, self._through, self._head, failure)

    def _remember(self, last: Block) -> None:
        """Keep what no reorganisation can take back."""
        if self._settled is None:
            return
        upto = last if last.number <= self._settled.number else self._settled
        keys = tuple(key for key, block in self.found.items() if block <= upto.number)
        self._memory.keep_cursor(SurveyCursor(upto.number, upto.hash, keys), now=self._now)


MOST_AGE = 1800.0
"""For this many seconds the list of pools is not looked for anew; prices are read every time."""


class SurveyedPool(Struct, frozen=True):
    state: PoolState
    token0: Token
    token1: Token
    hook: HookPassport
    depth: Depth
    depth_usd: Quantity[Fraction]
    """What it would trade within two per cent of its price, both ways together."""

    @property
    def key(self) -> PoolKey:
        return self.state.key

    @property
    def protocol(self) -> str:
        return self.key.protocol


class PoolSurvey(Struct, frozen=True):
    network: Network
    block: Block
    """Where every price, fee and liquidity was read."""
    pools: tuple[SurveyedPool, ...]
    """The most valuable first; those nobody can value last."""
    found: int
    """How many exist, shown or not."""
    listed_at: float
    """When the list of pools was made, by the wall's clock."""
    coverage: LogCoverage
    """How far the Initialize logs were read for that list, and why not further."""
    prices: PriceBook


class SurveyPlan(Struct, frozen=True):
    tokens: tuple[Address, ...] = ()
    """Looked for beside those the network is known for."""
    most_pools: int | None = None
    every_protocol: bool = False
    """Whether pools outside the PoolManager are listed beside its own."""
    most_age: float = MOST_AGE
    scan: ScanPlan = field(default_factory=ScanPlan)


async def survey_pools(sources: Sources, plan: SurveyPlan | None = None) -> PoolSurvey:
    """The pools of the network that is read."""
    return await discover_pools(
        sources.client,
        sources.network,
        sources.store,
        clock=sources.clock,
        coingecko=sources.coingecko,
        plan=plan,
    )


async def discover_pools(
    client: RpcClient,
    network: Network,
    store: Store,
    *,
    clock: Callable[[], float],
    coingecko: CoinGecko | None,
    plan: SurveyPlan | None = None,
) -> PoolSurvey:
    """The pools of this network at its newest block; the chain is asked once for a known list."""
    plan = plan or SurveyPlan()
    listed = (item.token.address for item in listed_tokens(network).tokens)
    wanted = tuple(dict.fromkeys((*listed, *plan.tokens)))
    memory = PoolMemory(store, network, wanted)
    listing = await _listing(client, network, wanted, memory, plan, now=clock())

    others = _other_keys(network, wanted, listing) if plan.every_protocol else ()
    here = OneBlock(client, network)
    question = ask_tokens(network, wanted, store)
    market, answers = await asyncio.gather(
        market_prices(coingecko, network, with_ether(network, wanted)),
        read_states(here, network, (*listing.keys, *others), question.calls),
    )
    # Decimals that only one of several endpoints told are not for keeping.
    lasting = store if len(client.endpoints) == 1 else None
    tokens = question.read_outcomes(answers.outcomes, lasting, now=clock())
    states = answers.states
    own = [state for state in states if protocol_named(state.key.protocol).in_pool_manager]
    there = tuple(state.key for state in states if state not in own)
    memory.keep_survey(
        RememberedSurvey(
            tuple(state.key for state in own),
            listing.coverage,
            listing.time,
            there if plan.every_protocol else listing.others,
        )
    )

    depths = await read_depths(here, network, states)
    nearby = {pool_id: depth.nearby() for pool_id, depth in depths.items()}
    pools = prices_from_pools(network, market, own, nearby, here.block)
    book = price_book(network, market, pools)
    values = {
        state.pool_id: _worth(nearby[state.pool_id], state.key, tokens, book) for state in states
    }
    shown = rank_pools(states, values)[: plan.most_pools]
    codes = await _hook_codes(here, shown)
    return PoolSurvey(
        network=network,
        block=here.block,
        pools=tuple(
            SurveyedPool(
                state=state,
                token0=tokens[state.key.currency0],
                token1=tokens[state.key.currency1],
                hook=hook_passport(state.key.hooks, state.key.fee, codes.get(state.key.hooks)),
                depth=depths[state.pool_id],
                depth_usd=values[state.pool_id],
            )
            for state in shown
        ),
        found=len(states),
        listed_at=listing.time,
        coverage=listing.coverage,
        prices=book,
    )


def _other_keys(
    network: Network, wanted: Sequence[Address], listing: RememberedSurvey
) -> tuple[PoolKey, ...]:
    """Those that were there, or every one that may be."""
    if listing.others is not None:
        return listing.others
    outside = (protocol for protocol in all_protocols() if not protocol.in_pool_manager)
    return tuple(key for each in outside for key in each.candidates(network, wanted))


def rank_pools(
    states: Iterable[PoolState], values: Mapping[PoolId, Quantity[Fraction]]
) -> list[PoolState]:
    """The most valuable first, those of unknown worth last."""

    def place(state: PoolState) -> tuple[bool, Fraction, PoolId]:
        value = values[state.pool_id]
        if isinstance(value, Unknown):
            return True, Fraction(0), state.pool_id
        return False, -value.value, state.pool_id

    return sorted(states, key=place)


def _worth(
    depth: Amounts, key: PoolKey, tokens: Mapping[Address, Token], book: PriceBook
) -> Quantity[Fraction]:
    return combine(
        Fraction.__add__,
        book.value(tokens[key.currency0], depth.amount0),
        book.value(tokens[key.currency1], depth.amount1),
    )


async def _listing(
    client: RpcClient,
    network: Network,
    wanted: Sequence[Address],
    memory: PoolMemory,
    plan: SurveyPlan,
    *,
    now: float,
) -> RememberedSurvey:
    """The pools to look at: those remembered, or every one that may exist."""
    remembered = memory.survey()
    if remembered is not None and remembered.coverage.complete:
        age = now - remembered.time
        if 0 <= age < plan.most_age:
            return remembered
    announced = await initialised_pools(client, network, wanted, memory, plan.scan, now=now)
    keys = dict.fromkeys((*candidate_pools(wanted), *announced.keys))
    return RememberedSurvey(tuple(keys), announced.coverage, now)


async def _hook_codes(here: OneBlock, states: Sequence[PoolState]) -> dict[Address, bytes]:
    hooks = sorted({state.key.hooks for state in states} - {NO_HOOK})
    if not hooks:
        return {}
    answers = await here.read((), [requests.code(hook, here.ref) for hook in hooks])
    codes = (expect(answer, bytes) for answer in answers.beside)
    return dict(zip(hooks, codes, strict=True))
