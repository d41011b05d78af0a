"""Questions asked of one endpoint: its chain checked first, its batches kept to a size it takes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import ParamSpec, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from chain.base.http import HttpAnswer, HttpClient, HttpError, HttpFailure, HttpLimits
from chain.contracts.networks import Network
from chain.rpc import errors, wire
from chain.rpc.endpoint import LEARNED_KEPT_SECONDS, BatchLimits, Endpoint
from chain.rpc.recent import RecentBlocks
from chain.rpc.records import InvalidValueError
from chain.rpc.requests import Request, RequestLimits, chain_id
from chain.rpc.wire import (
    is_brief,
    is_rate_limit,
    method_to_be_alone,
    refuses_range,
    smaller_batch,
    typed_error,
)

_BEFORE_SENDING = frozenset(
    (HttpFailure.NO_ADDRESS, HttpFailure.NOT_REACHABLE, HttpFailure.NOT_TRUSTED)
)


class RpcTransport(Protocol):
    """How bytes get to an endpoint and back."""

    round_trips: int

    async def post(
        self, endpoint: Endpoint, body: bytes, *, seconds: float, most_bytes: int
    ) -> HttpAnswer: ...

    async def close(self) -> None: ...


class HttpTransport:
    """The connections of one client."""

    def __init__(self, endpoints: Sequence[Endpoint], limits: RequestLimits) -> None:
        self._connect_seconds = limits.connect_seconds
        self._http = HttpClient(*(endpoint.url for endpoint in endpoints))
        self.round_trips = 0

    async def post(
        self, endpoint: Endpoint, body: bytes, *, seconds: float, most_bytes: int
    ) -> HttpAnswer:
        """Send the bytes once; whatever goes wrong is raised as an error that holds no URL."""
        self.round_trips += 1
        key = endpoint.authorization
        headers = {} if key is None else {"authorization": key}
        limits = HttpLimits(self._connect_seconds, seconds, most_bytes)
        try:
            return await self._http.post(endpoint.url, body, limits, headers)
        except HttpError as error:
            fault = _fault(error, limits, endpoint.label)
        raise fault

    async def close(self) -> None:
        await self._http.close()


def _fault(error: HttpError, limits: HttpLimits, label: str) -> errors.RpcError:
    match error.failure:
        case HttpFailure.TIMED_OUT:
            return errors.TimedOut(limits.answer_seconds, endpoint=label)
        case HttpFailure.NOT_CONNECTED:
            waited = min(limits.answer_seconds, limits.connect_seconds)
            return errors.TimedOut(waited, endpoint=label, connecting=True)
        case HttpFailure.TOO_LARGE:
            return errors.TooLarge(limits.most_bytes, endpoint=label)
        case HttpFailure.UNKNOWN_COMPRESSION:
            return errors.Malformed("it is compressed in an unknown way", endpoint=label)
        case HttpFailure.BROKEN_COMPRESSION:
            return errors.Malformed("its compression is broken", endpoint=label)
        case failure:
            before = failure in _BEFORE_SENDING
            return errors.Unreachable(str(error), endpoint=label, before_sending=before)


P = ParamSpec("P")
T = TypeVar("T")

Outcome: TypeAlias = object
"""What a request's own check made of the answer, or the `RpcError` it ended in."""

_OFF_LOOP_BYTES = 200_000
_REQUEST_TOO_LARGE = 413
_BATCH_REFUSED = frozenset((400, 405, _REQUEST_TOO_LARGE, 422))
_METHOD_FAILS = "the method fails there"
_SECONDS_TO_SAY_SO = 0.05
_LONG_BYTES = 50_000
_FEW_BLOCKS = 100
"""Logs of so few are given by every node that works: failing at them is no matter of the range."""


class _Answered(Struct, frozen=True):
    replies: list[wire.Reply]
    size: int
    """Of the body, in bytes."""


class RpcExchange(Struct, frozen=True):
    network: Network
    transport: RpcTransport
    limits: RequestLimits
    wall_clock: Callable[[], float]
    ids: itertools.count[int]
    recent: RecentBlocks
    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    batch_learned: Callable[[Endpoint], None] = lambda _: None

    async def ask(
        self, endpoint: Endpoint, questions: Sequence[Request[object]], seconds: float
    ) -> list[Outcome]:
        """Every question's outcome from this one endpoint, within these seconds altogether."""
        try:
            return await self._ask(endpoint, questions, seconds)
        except (errors.HttpFault, errors.TimedOut) as fault:
            if self._is_the_ranges(fault, endpoint, questions):
                wide = errors.RangeTooWide(
                    fault.sentence.rstrip("."), endpoint=endpoint.label, sure=False
                )
                return [wide] * len(questions)
            if isinstance(fault, errors.TimedOut) or not _is_the_methods(
                fault, endpoint, questions
            ):
                raise
            code, said = fault.status, _METHOD_FAILS
        except (errors.Malformed, errors.Unreachable) as fault:
            if not _is_the_methods(fault, endpoint, questions):
                raise
            code, said = 0, fault.what if isinstance(fault, errors.Malformed) else _METHOD_FAILS
        return [errors.RpcRefused(code, said, endpoint=endpoint.label, retryable=True)]

    async def _ask(
        self, endpoint: Endpoint, questions: Sequence[Request[object]], seconds: float
    ) -> list[Outcome]:
        checking = not endpoint.chain_checked
        asked: list[Request[object]] = [*([chain_id()] if checking else ()), *questions]
        replies: list[wire.Reply] = []
        time = asyncio.get_running_loop().time
        ends = time() + seconds
        if self.wall_clock() - endpoint.batches.learned_at > LEARNED_KEPT_SECONDS:
            endpoint.batches = BatchLimits()
        size = endpoint.most_in_batch or len(asked)
        largest, too_long = 0, False
        while len(replies) < len(asked):
            most = endpoint.pace.at_once(size)
            chunk = _together(endpoint, asked[len(replies) : len(replies) + most])
            try:
                # Once something was answered, the next must have time for its answer, too.
                kept = self.limits.reserve_seconds if replies else 0.0
                await self._await_turn(endpoint, ends - time() - kept)
                answered = await self._post(endpoint, chunk, ends - time())
            except errors.RateLimited as limit:
                if len(replies) <= len(asked) - len(questions):
                    raise
                # What was answered counts: the rest alone is asked for again.
                own = replies[len(asked) - len(questions) :]
                outcomes = self._outcomes(endpoint, questions[: len(own)], own)
                self.recent.note(outcomes)
                return [*outcomes, *[limit] * (len(questions) - len(own))]
            except wire.BatchRefusedError as refused:
                if refuses_range(refused.error) and any(map(_asks_logs, questions)):
                    refusal = typed_error(refused.error, "eth_getLogs", endpoint)
                    return [refusal] * len(questions)
                alone = method_to_be_alone(refused.error)
                if alone is not None and alone not in endpoint.batches.alone:
                    self._learn(endpoint, alone=(*endpoint.batches.alone, alone))
                    continue
                # Too many bytes say nothing of how many short questions it takes.
                too_long = too_long or len(wire.encode_requests(chunk, 0)) > _LONG_BYTES
                size = smaller_batch(refused.error, len(chunk))
                continue
            except errors.TooLarge:
                if len(chunk) == 1:
                    raise
                too_long, size = True, len(chunk) // 2
                continue
            replies += answered.replies
            largest = max(largest, answered.size)
            if size < len(asked) and endpoint.most_in_batch != size and not too_long:
                self._learn(endpoint, most=size)
            if checking:
                # Before the rest of the answer is looked at, and before more is asked.
                self._check_chain(endpoint, replies[0])
                checking = False
        own = replies[len(replies) - len(questions) :]
        outcomes = await _off_loop(largest, self._outcomes, endpoint, questions, own)
        self.recent.note(outcomes)
        return outcomes

    def _learn(
        self, endpoint: Endpoint, *, most: int | None = None, alone: tuple[str, ...] | None = None
    ) -> None:
        known = endpoint.batches
        endpoint.batches = BatchLimits(
            most or known.most, known.alone if alone is None else alone, self.wall_clock()
        )
        self.batch_learned(endpoint)

    async def check_chain(self, endpoint: Endpoint, seconds: float) -> list[Outcome]:
        """Make sure of the chain before something is sent that must travel alone."""
        if not endpoint.chain_checked:
            await self.ask(endpoint, (), seconds)
        return []

    async def send(self, endpoint: Endpoint, transaction: Request[object]) -> Outcome:
        """One HTTP request with nothing else in it."""
        answered = await self._post(endpoint, [transaction], self.limits.answer_seconds)
        return self._outcome(endpoint, transaction, answered.replies[0])

    async def _post(
        self, endpoint: Endpoint, questions: Sequence[Request[object]], seconds: float
    ) -> _Answered:
        endpoint.pace.record_request(len(questions), self.monotonic())
        first_id = next(self.ids)
        for _ in questions[1:]:
            next(self.ids)
        answer = await self.transport.post(
            endpoint,
            wire.encode_requests(questions, first_id),
            seconds=max(0.001, min(seconds - _SECONDS_TO_SAY_SO, self.limits.answer_seconds)),
            most_bytes=self._most_bytes(questions),
        )
        if answer.status == 429 or 300 <= answer.status < 400:
            raise self._status_fault(endpoint, answer)
        replies: list[wire.Reply] = []
        try:
            replies = await _off_loop(
                len(answer.body), wire.read, answer.body, first_id, len(questions)
            )
        except wire.InvalidRpcReplyError as error:
            fault: errors.RpcError = errors.Malformed(str(error), endpoint=endpoint.label)
        except wire.BatchRefusedError as refused:
            # What passes says nothing of how large a batch may be.
            if not is_rate_limit(refused.error) and not is_brief(refused.error):
                raise
            fault = typed_error(refused.error, "", endpoint)
            fault.retry_after = fault.retry_after or self._wait(answer)
        if answer.status >= 400 and not any(
            isinstance(reply, wire.ServerError) for reply in replies
        ):
            if len(questions) > 1 and answer.status in _BATCH_REFUSED:
                raise wire.BatchRefusedError(wire.ServerError(answer.status, ""))
            if answer.status != _REQUEST_TOO_LARGE:
                raise self._status_fault(endpoint, answer)
            replies = [wire.ServerError(_REQUEST_TOO_LARGE, "the request is too large")]
        if not replies:
            raise fault
        if not any(
            isinstance(reply, wire.ServerError) and is_rate_limit(reply) for reply in replies
        ):
            endpoint.pace.record_answer()
        return _Answered(replies, len(answer.body))

    async def _await_turn(self, endpoint: Endpoint, seconds: float) -> None:
        """Wait for the endpoint's pace; a limit that would take longer than there is time."""
        wait = endpoint.pace.wait(self.monotonic())
        if wait >= seconds:
            raise errors.RateLimited(endpoint=endpoint.label, retry_after=wait, by_pace=True)
        if wait > 0:
            await self.sleep(wait)

    def _is_the_ranges(
        self, fault: errors.RpcError, endpoint: Endpoint, questions: Sequence[Request[object]]
    ) -> bool:
        """Whether an endpoint that answers otherwise fails at logs of more than a few blocks."""
        server_side = not isinstance(fault, errors.HttpFault) or fault.status >= 500
        wide = any(map(self._asks_many_blocks, questions))
        return endpoint.chain_checked and server_side and wide

    def _asks_many_blocks(self, question: Request[object]) -> bool:
        blocks = self.recent.log_blocks(question) if _asks_logs(question) else 0
        return blocks is None or blocks > _FEW_BLOCKS

    def _check_chain(self, endpoint: Endpoint, reply: wire.Reply) -> None:
        answered = self._outcome(endpoint, chain_id(), reply)
        if isinstance(answered, errors.RpcError) and answered.retryable:
            raise answered
        if not isinstance(answered, int):
            raise errors.Malformed("it does not say which chain it is of", endpoint=endpoint.label)
        if answered != self.network.chain_id:
            raise errors.WrongChain(answered, self.network, endpoint=endpoint.label)
        endpoint.chain_checked = True

    def _outcomes(
        self,
        endpoint: Endpoint,
        questions: Sequence[Request[object]],
        replies: Sequence[wire.Reply],
    ) -> list[Outcome]:
        return [
            self._outcome(endpoint, question, reply)
            for question, reply in zip(questions, replies, strict=True)
        ]

    def _outcome(self, endpoint: Endpoint, question: Request[object], reply: wire.Reply) -> Outcome:
        if isinstance(reply, wire.ServerError):
            return typed_error(reply, question.method, endpoint)
        try:
            return question.parse(reply.value)
        except InvalidValueError as error:
            return errors.Malformed(f"{error} ({question.method})", endpoint=endpoint.label)

    def _status_fault(self, endpoint: Endpoint, answer: HttpAnswer) -> errors.RpcError:
        wait = self._wait(answer)
        if answer.status == 429:
            return errors.RateLimited(endpoint=endpoint.label, retry_after=wait)
        return errors.HttpFault(answer.status, endpoint=endpoint.label, retry_after=wait)

    def _wait(self, answer: HttpAnswer) -> float | None:
        return answer.wait(self.wall_clock())

    def _most_bytes(self, questions: Sequence[Request[object]]) -> int:
        wanted = max(question.answer_bytes or 0 for question in questions)
        return min(max(wanted, self.limits.answer_bytes), self.limits.most_answer_bytes)


async def _off_loop(size: int, read: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Large answers are read in a thread, so that the screen keeps moving."""
    if size <= _OFF_LOOP_BYTES:
        return read(*given, **named)
    return await asyncio.to_thread(read, *given, **named)


def _is_the_methods(
    fault: errors.RpcError, endpoint: Endpoint, questions: Sequence[Request[object]]
) -> bool:
    """Whether an endpoint that answers otherwise fails at nothing but a method it may lack."""
    broken_off = not isinstance(fault, errors.Unreachable) or not fault.before_sending
    return endpoint.chain_checked and broken_off and [q.dispensable for q in questions] == [True]


def _asks_logs(question: Request[object]) -> bool:
    return question.method == "eth_getLogs"


def _together(
    endpoint: Endpoint, questions: Sequence[Request[object]]
) -> Sequence[Request[object]]:
    """As many of them as may stand in one batch, where some methods may not stand together."""
    seen: set[str] = set()
    for place, question in enumerate(questions):
        if question.method in seen:
            return questions[:place]
        if question.method in endpoint.batches.alone:
            seen.add(question.method)
    return questions
