"""One question to many endpoints: in which order they are tried, and when the next is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from msgspec import Struct, field

from chain.base.http import load_http
from chain.contracts.networks import Network
from chain.rpc.endpoint import (
    Endpoint,
)
from chain.rpc.errors import (
    BlockMissing,
    ErrorKind,
    NoEndpoint,
    RateLimited,
    RpcError,
    TimedOut,
    WrongChain,
)
from chain.rpc.exchange import Outcome
from chain.rpc.requests import RequestLimits

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


class SlowNotice:
    """Says whom questions wait for, once no answer comes; while none does, less and less often."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._open = 0
        self._failed = False
        """Whether the last question ended without an answer: the next one goes on waiting."""
        self._quiet_since = 0.0
        self._pause = _FIRST_NOTICE

    @contextmanager
    def while_asking(self, whom: str) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        if not (self._open or self._failed):
            self._answered(began)
        self._open += 1
        timer: asyncio.TimerHandle

        def notice() -> None:
            nonlocal timer
            now = loop.time()
            if now - self._quiet_since >= self._pause:
                self._tell(f"Waiting for {whom}: {now - began:.0f} s so far.")
                self._quiet_since, self._pause = now, min(2 * self._pause, _LONGEST_PAUSE)
            timer = loop.call_later(_EVERY, notice)

        timer = loop.call_later(_EVERY, notice)
        self._failed = True
        try:
            yield
            self._failed = False
            self._answered(loop.time())
        finally:
            self._open -= 1
            timer.cancel()

    def _answered(self, at: float) -> None:
        self._quiet_since, self._pause = at, _FIRST_NOTICE


_EVERY, _FIRST_NOTICE, _LONGEST_PAUSE = 1.0, 3.0, 15.0


class _Run(Struct):
    """What one run through the endpoints has learned so far."""

    ends: float
    limited_in_part: bool
    rested: float = 0.0
    """Seconds waited for rate limits, which are in no answer's time."""
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
    notice: SlowNotice = field(default_factory=lambda: SlowNotice(lambda _: None))

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
        whom = " and ".join(endpoint.label for endpoint in self.endpoints)
        with self.notice.while_asking(whom):
            return await self._run(attempt, prefer, _Run(ends, limited_in_part))

    async def _run(self, attempt: Attempt, prefer: Endpoint | None, run: _Run) -> Answered:
        turn = 0
        while turn == 0 or await self._rested(run) or await self._paused(run, turn):
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
            turn += 1
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
        if isinstance(fault, RateLimited) and not fault.by_pace:
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

    async def _rested(self, run: _Run) -> bool:
        """Wait where all who may be asked limit how often; False when it is not that, or too long.

        A wait that the endpoint asks for is no part of the time its answer may take.
        """
        now, candidates = self.monotonic(), self._candidates(run)
        if not candidates or not all(
            isinstance(run.faults.get(endpoint), RateLimited) for endpoint in candidates
        ):
            return False
        wait = min(max(each.wait(now), each.pace.wait(now)) for each in candidates)
        wait = max(wait, self.limits.pause_seconds)
        if run.rested + wait > self.limits.most_limited_seconds:
            return False
        run.rested += wait
        run.ends = max(run.ends, now + self.limits.reserve_seconds) + wait
        await self.sleep(wait)
        return True

    async def _paused(self, run: _Run, turn: int) -> bool:
        """Wait before going round again; False when nobody is left, or could answer in time."""
        if turn >= self.limits.rounds:
            return False
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
