"""The one RPC client everything reads through: which endpoint is asked, what follows a fault."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from typing import Self, TypeVar, cast

from chain.base.clock import loop_time
from chain.base.store import Store
from chain.contracts.networks import Network
from chain.rpc.endpoint import (
    Endpoint,
    EndpointMemory,
    EndpointStatus,
    KnownRange,
    endpoints_of,
    status_of,
)
from chain.rpc.errors import (
    FutureHead,
    HttpFault,
    Malformed,
    NoEndpoint,
    RateLimited,
    RpcError,
    RpcRefused,
    SendUnclear,
    StaleHead,
    TimedOut,
    TooLarge,
    Unreachable,
)
from chain.rpc.exchange import HttpTransport, Outcome, RpcExchange, RpcTransport
from chain.rpc.failover import Failover, SlowNotice
from chain.rpc.pinned import PinnedReader, ask_held, settle_patiently
from chain.rpc.recent import RecentBlocks
from chain.rpc.records import Block
from chain.rpc.requests import Reader, Request, RequestLimits, stale_seconds
from chain.rpc.requests import block as block_at

T = TypeVar("T")
_CALLS_AT_ONCE = 10
"""Public endpoints take no more in one batch."""

_LOOKS_FOR_A_HEAD = 5
"""Load balancers say now and then that there is no newest block."""
AHEAD_SECONDS = 30.0
"""How far ahead of this machine's clock a newest block may be."""


class RpcClient(Reader):
    def __init__(
        self,
        network: Network,
        endpoints: Sequence[str],
        *,
        clock: Callable[[], float] = time.time,
        limits: RequestLimits | None = None,
        monotonic: Callable[[], float] = loop_time,
        jitter: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        transport: RpcTransport | None = None,
        store: Store | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """What is learned of the endpoints is kept in the store, or as long as the client; who is
        waited for is told."""
        if not endpoints:
            raise NoEndpoint(
                f"No RPC endpoint is set for {network.title}.",
                f"Set one: zuno --network {network.name} --rpc URL",
            )
        self.network = network
        self._tell_stale: Callable[[StaleHead], None] | None = None
        self._clock = clock
        self.monotonic = monotonic
        self._limits = limits or RequestLimits()
        self._endpoints = endpoints_of(endpoints, self._limits)
        self._memory = EndpointMemory(store, network, clock)
        self._memory.recall_batches(self._endpoints)
        self._transport = transport or HttpTransport(self._endpoints, self._limits)
        self.sleep = sleep
        self._exchange = RpcExchange(
            network,
            self._transport,
            self._limits,
            clock,
            itertools.count(1),
            RecentBlocks(network, monotonic),
            monotonic,
            sleep,
            self._memory.remember_batch,
        )
        self._failover = Failover(
            network, self._endpoints, self._limits, monotonic, jitter, sleep, SlowNotice(tell)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.close()

    @property
    def round_trips(self) -> int:
        """How many HTTP requests were made."""
        return self._transport.round_trips

    @property
    def endpoints(self) -> tuple[EndpointStatus, ...]:
        """How each endpoint is doing, in order of preference."""
        return tuple(status_of(endpoint, self.monotonic()) for endpoint in self._endpoints)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the endpoints are called, in order of preference."""
        return tuple(endpoint.label for endpoint in self._endpoints)

    @property
    def log_range(self) -> KnownRange | None:
        """Of how many blocks the endpoints were found to give the logs at once."""
        return self._memory.log_range(self._endpoints)

    def learn_log_range(self, known: KnownRange) -> None:
        self._memory.remember_log_range(self._endpoints, known)

    @property
    def calls_at_once(self) -> int:
        """How many questions long readers put into one request: two seconds' worth, if it fits."""
        usable = [endpoint for endpoint in self._endpoints if endpoint.wrong_chain_id is None]
        most = min((endpoint.most_in_batch or _CALLS_AT_ONCE for endpoint in usable), default=1)
        rate = max((endpoint.pace.rate for endpoint in usable), default=1.0)
        return max(1, min(_CALLS_AT_ONCE, most, int(min(2 * rate, _CALLS_AT_ONCE))))

    @property
    def is_limited(self) -> bool:
        """Whether every endpoint has said that it was asked too often."""
        return all(endpoint.pace.rate < math.inf for endpoint in self._endpoints)

    async def wait_out(self, limit: RateLimited) -> None:
        """Rest until an endpoint that limits how often it is asked may be asked again."""
        now = self.monotonic()
        waits = [max(endpoint.wait(now), endpoint.pace.wait(now)) for endpoint in self._endpoints]
        await self.sleep(max(self._limits.limited_seconds, limit.retry_after or 0, min(waits)))

    @property
    def has_answered(self) -> bool:
        """Whether any endpoint has answered at all, in time and for the right chain."""
        return any(endpoint.chain_checked for endpoint in self._endpoints)

    async def settle(self, requests: Sequence[Request[T]]) -> list[T | RpcError]:
        """Each question's own outcome, in one HTTP request where the endpoint takes batches."""
        if not requests:
            return []
        if not all(request.idempotent for request in requests):
            if len(requests) > 1:
                raise ValueError("A transaction is sent alone, never in a batch")
            return [await self._sent(requests[0])]
        outcomes = await settle_patiently(self._ask, self._exchange, requests, self.monotonic)
        return cast("list[T | RpcError]", outcomes)

    def ask_others_first(self) -> None:
        """Whoever would be asked first is asked last for a while: it left something out."""
        self._failover.set_back_first()

    async def ask_each(self, request: Request[T]) -> dict[str, T | RpcError]:
        """What every endpoint says by itself."""
        limits, told = self._limits, {}
        for endpoint in self._endpoints:
            try:
                [outcome] = await ask_held(
                    self._exchange, endpoint, [request], limits.answer_seconds
                )
            except RpcError as error:
                outcome = error
            told[endpoint.label] = cast("T | RpcError", outcome)
        return told

    def at_last_block(self, tell: Callable[[StaleHead], None]) -> RpcClient:
        """The same for reads alone: where no endpoint has a new block, its last; who hears that."""
        reading = copy(self)
        reading._tell_stale = tell
        return reading

    async def head(self, max_age: float | None = None) -> Block:
        """The newest block, from an endpoint that keeps up by the network's clock."""
        found, _ = await self.with_head((), max_age)
        return found

    async def with_head(
        self, requests: Sequence[Request[T]], max_age: float | None = None
    ) -> tuple[Block, list[T | RpcError]]:
        """The newest block and each question's own outcome, in the same HTTP request.

        The head may move in between: what must be of this very block has to prove it.
        """
        allowed = stale_seconds(self.network) if max_age is None else max_age

        async def attempt(endpoint: Endpoint, seconds: float) -> list[Outcome]:
            questions = [block_at("latest"), *requests]
            found, *others = await self._exchange.ask(endpoint, questions, seconds)
            for _ in range(_LOOKS_FOR_A_HEAD):
                if found is not None:
                    break
                await self.sleep(self._limits.catch_up_pause)
                found, *others = await self._exchange.ask(endpoint, questions, seconds)
            if found is None:
                raise Malformed("it has no newest block", endpoint=endpoint.label)
            if isinstance(found, Block) and self.network.clock == "wall":
                age = self._clock() - found.timestamp
                if age > allowed:
                    raise StaleHead(found.number, age, allowed, endpoint=endpoint.label)
                if age < -AHEAD_SECONDS:
                    raise FutureHead(found.number, -age, endpoint=endpoint.label)
            return [found, *others]

        try:
            answered = await self._failover.run(attempt)
        except StaleHead as error:
            if self._tell_stale is None or max_age is not None:
                raise
            self._tell_stale(error)
            allowed = math.inf
            answered = await self._failover.run(attempt)
        found, *others = answered.outcomes
        if isinstance(found, RpcError):
            raise found
        return cast("Block", found), cast("list[T | RpcError]", others)

    def at(self, block: Block) -> PinnedReader:
        """A reader whose every answer is about this very block."""
        return PinnedReader(self._exchange, self._failover, block)

    async def _ask(self, requests: Sequence[Request[object]], ends: float) -> list[Outcome]:
        answered = await self._failover.run(
            lambda endpoint, seconds: ask_held(self._exchange, endpoint, requests, seconds),
            ends=ends,
            limited_in_part=True,
        )
        return answered.outcomes

    async def _sent(self, request: Request[T]) -> T | RpcError:
        """One attempt at one endpoint of the right chain: a second could send it twice."""
        chosen = await self._failover.run(self._exchange.check_chain)
        endpoint = chosen.endpoint
        try:
            outcome = await self._exchange.send(endpoint, request)
        except RpcError as error:
            outcome = error
        if not isinstance(outcome, RpcError):
            return cast("T", outcome)
        self._failover.note(endpoint, outcome)
        return outcome if _surely_not_taken(outcome) else SendUnclear(outcome)


def _surely_not_taken(error: RpcError) -> bool:
    match error:
        case Unreachable() | TimedOut():
            return error.before_sending
        case HttpFault():
            return error.status < 500
        case Malformed() | TooLarge():
            return False
        case RpcRefused():
            return not error.retryable
        case _:
            return True
