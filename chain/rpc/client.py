"""The one RPC client everything reads through: which endpoint is asked, what follows a fault."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from typing import Self, TypeAlias, TypeVar, cast

from msgspec import Struct, field

from chain.base.clock import loop_time
from chain.base.http import load_http
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
    BlockMissing,
    ErrorKind,
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
    WrongChain,
)
from chain.rpc.exchange import HttpTransport, Outcome, RpcExchange, RpcTransport
from chain.rpc.pinned import PinnedReader, RecentBlocks, ask_held, settle_patiently
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
    ) -> None:
        """What is learned of the endpoints is kept in the store, or as long as the client."""
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
        self._failover = Failover(network, self._endpoints, self._limits, monotonic, jitter, sleep)

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


Attempt: TypeAlias = "Callable[[Endpoint, float], Awaitable[list[Outcome]]]"
"""Ask one endpoint within so many seconds."""

_LEAST_SECONDS = 0.02
_TELLING_SECONDS = 1.0
"""A time-out of less says that there was little time left, and nothing of the endpoint."""
_BREAKING = frozenset(
    (ErrorKind.UNREACHABLE, ErrorKind.TIMED_OUT, ErrorKind.HTTP_FAULT, ErrorKind.MALFORMED)
)
_SETS_BACK = _BREAKING | {ErrorKind.STALE_HEAD}


class Answered(Struct, frozen=True):
    endpoint: Endpoint
    outcomes: list[Outcome]


class _Run(Struct):
    """What one run through the endpoints has learned so far."""

    ends: float
    limited_in_part: bool
    partly: Answered | None = None
    faults: dict[Endpoint, RpcError] = field(default_factory=dict)
    given_up: set[Endpoint] = field(default_factory=set)


class Failover(Struct, frozen=True):
    network: Network
    endpoints: Sequence[Endpoint]
    limits: RequestLimits
    monotonic: Callable[[], float]
    jitter: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]

    async def run(
        self,
        attempt: Attempt,
        *,
        prefer: Endpoint | None = None,
        ends: float | None = None,
        limited_in_part: bool = False,
    ) -> Answered:
        """The first whole answer; else the best partial one; else the error that says most.

        Where the caller asks again for what a rate limit left out, the rest will do.
        """
        if ends is None:
            ends = self.monotonic() + self.limits.total_seconds
        run = _Run(ends, limited_in_part)
        for turn in range(self.limits.rounds):
            if turn and not await self._paused(run, turn):
                break
            now = self.monotonic()
            ready = [candidate for candidate in self._candidates(run) if candidate.wait(now) == 0]
            order = sorted(ready, key=lambda one: (one is not prefer, *_preference(one, now)))
            for place, endpoint in enumerate(order):
                seconds = self._share(run, others=len(order) - place - 1)
                if seconds < _LEAST_SECONDS or not endpoint.breaker.admit(self.monotonic()):
                    continue
                answered = await self._tried(run, endpoint, attempt, seconds)
                if answered is not None:
                    return answered
        if run.partly is not None:
            return run.partly
        raise self._failure(run)

    def set_back_first(self) -> None:
        """Let the others be asked before the one that comes first now."""
        now = self.monotonic()
        first = min(self.endpoints, key=lambda one: _preference(one, now))
        first.behind_until = now + self.limits.most_rest_seconds

    def note(self, endpoint: Endpoint, fault: RpcError) -> None:
        """Remember a fault of an endpoint, so that it is asked later, less, or never."""
        now = self.monotonic()
        endpoint.last_fault = fault.with_traceback(None)
        if isinstance(fault, RateLimited):
            endpoint.pace.back_off(now, fault.retry_after)
        if fault.retry_after is not None:
            endpoint.rests_until = now + min(fault.retry_after, self.limits.most_rest_seconds)
        if isinstance(fault, WrongChain):
            endpoint.wrong_chain_id = fault.answered
        if fault.kind in _SETS_BACK:
            endpoint.behind_until = now + self.limits.most_rest_seconds
        if fault.kind in _BREAKING:
            endpoint.breaker.record_failure(now)
            # Whatever answers after a rest may be another machine.
            endpoint.chain_checked = endpoint.chain_checked and endpoint.breaker.wait(now) == 0
        else:
            endpoint.breaker.release()

    async def _tried(
        self, run: _Run, endpoint: Endpoint, attempt: Attempt, seconds: float
    ) -> Answered | None:
        load_http()
        try:
            # An attempt may be several requests, each with its own limit: this one is for all.
            async with asyncio.timeout(seconds):
                answered = Answered(endpoint, await attempt(endpoint, seconds))
        except RpcError as error:
            fault = error
        except TimeoutError:
            fault = TimedOut(seconds, endpoint=endpoint.label)
        except BaseException:
            endpoint.breaker.release()
            raise
        else:
            missing = _retryable_errors(answered)
            if not missing:
                endpoint.breaker.record_success()
                return answered
            fault = missing[0]
            if run.limited_in_part and (
                _is_limited_in_part(answered, missing) or self._nobody_else_has(missing)
            ):
                self.note(endpoint, fault)
                return answered
            if run.partly is None or len(missing) < len(_retryable_errors(run.partly)):
                run.partly = answered
        self.note(endpoint, fault)
        run.faults[endpoint] = _slower(run.faults.get(endpoint), fault)
        if fault.lasting:
            run.given_up.add(endpoint)
        if not fault.retryable and not isinstance(fault, WrongChain):
            raise fault
        return None

    def _nobody_else_has(self, missing: Sequence[RpcError]) -> bool:
        """Whether all that is missing waits for a block, and there is nobody else to ask."""
        return len(self.endpoints) == 1 and all(
            isinstance(error, BlockMissing) for error in missing
        )

    def _candidates(self, run: _Run) -> list[Endpoint]:
        return [
            endpoint
            for endpoint in self.endpoints
            if endpoint.wrong_chain_id is None and endpoint not in run.given_up
        ]

    def _share(self, run: _Run, *, others: int) -> float:
        """This endpoint's time: all that is left but a reserve for those still to be asked."""
        left = run.ends - self.monotonic()
        reserve = self.limits.reserve_seconds * min(others, 2)
        return max(left - reserve, left / (others + 1))

    async def _paused(self, run: _Run, turn: int) -> bool:
        """Wait before going round again; False when nobody is left, or could answer in time."""
        now = self.monotonic()
        waits = [endpoint.wait(now) for endpoint in self._candidates(run)]
        if not waits:
            return False
        pause = self.limits.pause_seconds * 2.0 ** (turn - 1) * (0.5 + self.jitter())
        rest = min(waits)
        paced = min(
            max(candidate.wait(now), candidate.pace.wait(now))
            for candidate in self._candidates(run)
        )
        delay = max(pause, paced)
        # One probe decides how long an endpoint rests on: given only what is left over after its
        # rest it would fail again and again, and the rest would never end.
        least = self.limits.reserve_seconds if rest else 0.0
        if delay + least >= run.ends - now:
            return False
        await self.sleep(delay)
        return True

    def _failure(self, run: _Run) -> RpcError:
        wrong = [
            WrongChain(endpoint.wrong_chain_id, self.network, endpoint=endpoint.label)
            for endpoint in self.endpoints
            if endpoint.wrong_chain_id is not None
        ]
        faults = [fault for fault in run.faults.values() if not isinstance(fault, WrongChain)]
        if not faults and len(wrong) < len(self.endpoints):
            faults = [self._resting()]
        everything: list[RpcError] = [*faults, *wrong]
        everything[0].elsewhere = tuple(everything[1:])
        return everything[0]

    def _resting(self) -> RpcError:
        now = self.monotonic()
        usable = [endpoint for endpoint in self.endpoints if endpoint.wrong_chain_id is None]
        soonest = min(usable, key=lambda endpoint: endpoint.wait(now))
        wait = soonest.wait(now)
        if isinstance(soonest.last_fault, RateLimited):
            return RateLimited(endpoint=soonest.label, retry_after=wait)
        last = f" Last: {soonest.last_fault.sentence}" if soonest.last_fault else ""
        return NoEndpoint(
            f"{soonest.label} failed {soonest.breaker.faults} times in a row and is left alone"
            f" for {wait:.0f} s.{last}"
        )


def _preference(endpoint: Endpoint, now: float) -> tuple[float, float]:
    """The lower, the sooner it is asked."""
    return max(0, endpoint.behind_until - now), endpoint.pace.wait(now)


def _slower(before: RpcError | None, fault: RpcError) -> RpcError:
    """Of two time-outs the one that waited longer: the last try gets only what time is left.

    What that little time ended says less than what went wrong before.
    """
    if isinstance(before, TimedOut) and isinstance(fault, TimedOut):
        return max(before, fault, key=lambda one: one.seconds)
    leftover = isinstance(fault, TimedOut) and fault.seconds < _TELLING_SECONDS
    return before if before is not None and leftover else fault


def _is_limited_in_part(answered: Answered, missing: Sequence[RpcError]) -> bool:
    only_limited = all(isinstance(error, RateLimited) for error in missing)
    return only_limited and len(missing) < len(answered.outcomes)


def _retryable_errors(answered: Answered) -> list[RpcError]:
    return [
        outcome
        for outcome in answered.outcomes
        if isinstance(outcome, RpcError) and outcome.retryable
    ]
