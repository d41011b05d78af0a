"""Reads all about one block: by its hash where the node can, else by number and checked again."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from chain.rpc.endpoint import Endpoint
from chain.rpc.errors import BlockMissing, RateLimited, Reorged, RpcError, RpcRefused, StatePruned
from chain.rpc.recent import _LEAST_LOOKS, hash_named
from chain.rpc.records import Block, Hash
from chain.rpc.requests import Reader, Request
from chain.rpc.requests import block as block_at

if TYPE_CHECKING:
    from chain.rpc.exchange import Outcome, RpcExchange
    from chain.rpc.failover import Failover
    from chain.rpc.requests import RequestLimits


# An endpoint without EIP-1898 is asked by number, and the block at that number is looked at
# before and after. A machine that has not got a new block yet is waited for a little.
_PARAMETER_CODES = frozenset((-32600, -32602))
_PARAMETER_WORDS = re.compile(
    r"unmarshal|invalid (argument|block|param|type)|hex string|blockhash|expected (a )?string", re.I
)


async def ask_held(
    exchange: RpcExchange, endpoint: Endpoint, questions: Sequence[Request[object]], seconds: float
) -> list[Outcome]:
    """Every question's outcome, by number where the endpoint takes no hashes."""
    hashes = [named for named in map(hash_named, questions) if named is not None]
    if not hashes:
        return await exchange.ask(endpoint, questions, seconds)
    if endpoint.pins_by_hash:
        outcomes = await exchange.ask(endpoint, questions, seconds)
        if not any(
            refuses_hashes(outcome)
            for question, outcome in zip(questions, outcomes, strict=True)
            if hash_named(question) is not None
        ):
            return outcomes
    by_number = await _ask_by_number(exchange, endpoint, questions, hashes, seconds)
    # A question that is wrong in itself is refused either way: that says nothing of hashes.
    endpoint.pins_by_hash = endpoint.pins_by_hash and any(map(refuses_hashes, by_number))
    return by_number


async def settle_patiently(
    ask: Callable[[Sequence[Request[object]], float], Awaitable[list[Outcome]]],
    exchange: RpcExchange,
    questions: Sequence[Request[object]],
    monotonic: Callable[[], float],
) -> list[Outcome]:
    """The outcomes; what waits for a new block or fell to a rate limit is asked for again.

    `ask` is told when to end.
    """
    limits = exchange.limits
    ends = monotonic() + limits.total_seconds
    outcomes = await ask(questions, ends)
    if any(isinstance(outcome, RateLimited) for outcome in outcomes):
        await _ask_limited_again(ask, limits, questions, outcomes, monotonic)
        ends = monotonic() + limits.total_seconds
    # From the first answer on: on a slow line the answer itself may take as long, and a few looks
    # are taken however long each of them is.
    last_look, looks = min(monotonic() + limits.catch_up_seconds, ends), 0
    while monotonic() + limits.catch_up_pause < (ends if looks < _LEAST_LOOKS else last_look):
        looks += 1
        late = [
            place
            for place, question in enumerate(questions)
            if exchange.recent.is_behind(question, outcomes[place], looks)
        ]
        if not late:
            break
        await exchange.sleep(limits.catch_up_pause)
        again = await ask([questions[place] for place in late], ends)
        for place, outcome in zip(late, again, strict=True):
            outcomes[place] = outcome
    return outcomes


async def _ask_limited_again(
    ask: Callable[[Sequence[Request[object]], float], Awaitable[list[Outcome]]],
    limits: RequestLimits,
    questions: Sequence[Request[object]],
    outcomes: list[Outcome],
    monotonic: Callable[[], float],
) -> None:
    """What a rate limit left out is asked again alone, as long as some of it is answered."""
    before, began = len(questions), monotonic()
    limited = [place for place, outcome in enumerate(outcomes) if isinstance(outcome, RateLimited)]
    while limited and len(limited) < before and monotonic() - began < limits.most_limited_seconds:
        before = len(limited)
        try:
            again = await ask(
                [questions[place] for place in limited], monotonic() + limits.total_seconds
            )
        except RateLimited:
            return
        for place, outcome in zip(limited, again, strict=True):
            outcomes[place] = outcome
        limited = [place for place in limited if isinstance(outcomes[place], RateLimited)]


def refuses_hashes(outcome: Outcome) -> bool:
    return isinstance(outcome, RpcRefused) and (
        outcome.code in _PARAMETER_CODES or bool(_PARAMETER_WORDS.search(outcome.message))
    )


async def _ask_by_number(
    exchange: RpcExchange,
    endpoint: Endpoint,
    questions: Sequence[Request[object]],
    hashes: Sequence[Hash],
    seconds: float,
) -> list[Outcome]:
    """The blocks are looked at before and after the reads: both times they must be the same."""
    numbers: dict[Hash, int] = {}
    for block_hash in dict.fromkeys(hashes):
        number = await _number_of(exchange, endpoint, block_hash, seconds)
        if number is None:
            return _missing(block_hash, endpoint, questions)
        numbers[block_hash] = number
    asked = [
        question if named is None else question.at(numbers[named])
        for question, named in zip(questions, map(hash_named, questions), strict=True)
    ]
    looks = [block_at(number) for number in numbers.values()]
    answers = await exchange.ask(endpoint, [*looks, *asked, *looks], seconds)
    found = [*answers[: len(looks)], *answers[len(looks) + len(asked) :]]
    for (asked_hash, number), look in zip([*numbers.items()] * 2, found, strict=True):
        if isinstance(look, RpcError):
            raise look
        if not isinstance(look, Block):
            return _missing(number, endpoint, questions)
        if look.hash != asked_hash:
            raise Reorged(number, asked_hash, look.hash, endpoint=endpoint.label)
    return answers[len(looks) : len(looks) + len(asked)]


def _missing(
    block: int | Hash, endpoint: Endpoint, questions: Sequence[Request[object]]
) -> list[Outcome]:
    return [BlockMissing(f"it has no block {block}", endpoint=endpoint.label)] * len(questions)


async def _number_of(
    exchange: RpcExchange, endpoint: Endpoint, block_hash: Hash, seconds: float
) -> int | None:
    known = exchange.recent.number(block_hash)
    if known is not None:
        return known
    [found] = await exchange.ask(endpoint, [block_at(block_hash)], seconds)
    if isinstance(found, RpcError):
        raise found
    return found.number if isinstance(found, Block) else None


T = TypeVar("T")


class PinnedReader(Reader):
    """Answers about `block` and no other: a reorganisation is an error, never mixed data."""

    def __init__(self, exchange: RpcExchange, failover: Failover, block: Block) -> None:
        self.block = block
        self._exchange = exchange
        self._failover = failover
        self._endpoint: Endpoint | None = None

    async def settle(self, requests: Sequence[Request[T]]) -> list[T | RpcError]:
        """Each question's own outcome at the pinned block, whatever block it was written for."""
        if not requests:
            return []
        held = [request.at(self.block.hash) for request in requests]
        self._exchange.recent.note((self.block,))
        outcomes = await settle_patiently(self._ask, self._exchange, held, self._failover.monotonic)
        return cast("list[T | RpcError]", outcomes)

    async def _ask(self, requests: Sequence[Request[object]], ends: float) -> list[Outcome]:
        async def attempt(endpoint: Endpoint, seconds: float) -> list[Outcome]:
            outcomes = await ask_held(self._exchange, endpoint, requests, seconds)
            if any(isinstance(outcome, StatePruned) for outcome in outcomes):
                await self._check_still_there(endpoint, seconds)
            return outcomes

        answered = await self._failover.run(
            attempt, prefer=self._endpoint, ends=ends, limited_in_part=True
        )
        self._endpoint = answered.endpoint
        return answered.outcomes

    async def _check_still_there(self, endpoint: Endpoint, seconds: float) -> None:
        [found] = await self._exchange.ask(endpoint, [block_at(self.block.number)], seconds)
        if isinstance(found, Block) and found.hash != self.block.hash:
            raise Reorged(self.block.number, self.block.hash, found.hash, endpoint=endpoint.label)
