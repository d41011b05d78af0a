"""Questions that name their block by hash, asked so that every endpoint can answer them.

An endpoint without EIP-1898 is asked by number, and the block at that number is looked at before
and after. A machine that has not got a new block yet is waited for a little.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from chain.rpc.errors import BlockMissing, RateLimited, Reorged, RpcError, RpcRefused
from chain.rpc.recent_blocks import hash_named
from chain.rpc.records import Block
from chain.rpc.requests import Request
from chain.rpc.requests import block as block_at

if TYPE_CHECKING:
    from chain.rpc.endpoint import Endpoint
    from chain.rpc.exchange import Outcome, RpcExchange
    from chain.rpc.values import Hash

_LEAST_LOOKS = 5
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
    await _ask_limited_again(ask, questions, outcomes, ends)
    # From the first answer on: on a slow line the answer itself may take as long, and a few looks
    # are taken however long each of them is.
    last_look, looks = min(monotonic() + limits.catch_up_seconds, ends), 0
    while monotonic() + limits.catch_up_pause < (ends if looks < _LEAST_LOOKS else last_look):
        looks += 1
        late = [
            place
            for place, question in enumerate(questions)
            if exchange.recent.awaited(question, outcomes[place])
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
    questions: Sequence[Request[object]],
    outcomes: list[Outcome],
    ends: float,
) -> None:
    """Some refuse single questions of a batch: those alone, as long as some are answered."""
    before = len(questions)
    limited = [place for place, one in enumerate(outcomes) if isinstance(one, RateLimited)]
    while limited and len(limited) < before:
        before = len(limited)
        try:
            again = await ask([questions[place] for place in limited], ends)
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
    for one in dict.fromkeys(hashes):
        number = await _number_of(exchange, endpoint, one, seconds)
        if number is None:
            return _missing(one, endpoint, questions)
        numbers[one] = number
    asked = [
        question if named is None else question.at(numbers[named])
        for question, named in zip(questions, map(hash_named, questions), strict=True)
    ]
    looks = [block_at(number) for number in numbers.values()]
    answers = await exchange.ask(endpoint, [*looks, *asked, *looks], seconds)
    found = [*answers[: len(looks)], *answers[len(looks) + len(asked) :]]
    for (one, number), look in zip([*numbers.items()] * 2, found, strict=True):
        if isinstance(look, RpcError):
            raise look
        if not isinstance(look, Block):
            return _missing(number, endpoint, questions)
        if look.hash != one:
            raise Reorged(number, one, look.hash, endpoint=endpoint.label)
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
