"""Whether the chain is still the one plans were approved on, told by the heads seen of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.execution.outbox.heads import Genesis, Head
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.lookup import Evidence
from chain.execution.outbox.records import Dispatch, EndCode
from chain.execution.outbox.rules import PlanOverError, check_not_over
from chain.rpc import requests
from chain.rpc.errors import REORG_DEPTH, Malformed, NoEndpoint, RpcError
from chain.rpc.records import Block
from chain.rpc.requests import Reader

if TYPE_CHECKING:
    from chain.execution.outbox.outbox import Outbox


STALE_SECONDS = 60.0
_LOOKS_AGAIN = 8


class ChainState(StrEnum):
    KNOWN = "known"
    RESTARTED = "restarted"
    """The embedded chain, lower than it was seen before: it was started anew or rolled back."""
    REWRITTEN = "rewritten"
    """The embedded chain, and the highest block seen of it has another in its place."""
    LAGGING = "lagging"
    """A live network, far lower than it was seen before, and its newest block is old."""


class ChainSight(Struct, frozen=True):
    chain: Genesis
    head: Block
    highest: Head | None
    """What was the highest block before this sight."""
    state: ChainState
    embedded: bool

    @property
    def lagging_words(self) -> str:
        seen = self.head.number if self.highest is None else self.highest.number
        return (
            f"Its newest block is {self.head.number:,}, and {seen:,} was seen before: "
            "the endpoint lags, or is of another chain."
        )


async def sight_chain(
    outbox: Outbox, reads: Reader, evidence: Evidence, chain_id: int, *, now: float
) -> ChainSight:
    """The newest block that enough endpoints have, held against the highest seen before."""
    readers = evidence.readers(reads)
    answers = await asyncio.gather(*(_ends(each) for each in readers), return_exceptions=True)
    told: list[tuple[int, str, Block, Reader]] = []
    silences: list[RpcError] = []
    for each, answer in zip(readers, answers, strict=True):
        if isinstance(answer, RpcError):
            silences.append(answer)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            told.append((answer[1].number, *answer, each))
    if len(told) < evidence.needed_answers:
        raise _too_few(silences, answered=len(told))
    # A single endpoint that tells of a far higher block than all others moves nothing.
    told.sort(key=lambda one: one[0], reverse=True)
    _, genesis, head, reader = told[evidence.needed_answers - 1]
    chain = Genesis(chain_id, genesis)
    highest = outbox.highest_head(chain)
    state = ChainState.KNOWN
    if evidence.embedded:
        head = await newest_of(reader, head, _known_height(outbox, chain))
    if highest is not None and evidence.embedded:
        state = await _embedded_state(reader, head, highest)
    elif highest is not None and head.number + REORG_DEPTH < highest.number:
        # An endpoint that is up to date tells a highest block that never was.
        is_old = now - head.timestamp > STALE_SECONDS
        state = ChainState.LAGGING if is_old else ChainState.KNOWN
    return ChainSight(chain, head, highest, state, evidence.embedded)


def _known_height(outbox: Outbox, chain: Genesis) -> int:
    """How high the chain was at least, by the heads seen and by what was approved on it."""
    highest = outbox.highest_head(chain)
    unused = (
        dispatch.anchor.number
        for dispatch in outbox.dispatches()
        if dispatch.chain_id == chain.chain_id
        and dispatch.consumed_at is None
        and dispatch.ended is None
    )
    heights = () if highest is None else (highest.number,)
    return max((*heights, *unused), default=0)


async def newest_of(reads: Reader, head: Block, known_height: int) -> Block:
    """The head, asked for again while the chain is lower than it is known to be.

    One of several machines behind an address may lack the newest block.
    """
    looks = 0
    while head.number < known_height and looks < _LOOKS_AGAIN:
        looks += 1
        found = await reads.ask(requests.block("latest"))
        head = head if found is None or found.number < head.number else found
    return head


def keep_sight(outbox: Outbox, sight: ChainSight, *, now: float) -> None:
    """Write down how high the chain is; after a restart every plan of it so far is over."""
    head = Head(sight.head.number, sight.head.hash)
    match sight.state:
        case ChainState.LAGGING:
            return
        case ChainState.RESTARTED:
            outbox.begin_again(sight.chain, head, ending=EndCode.CHAIN_RESTARTED, now=now)
        case ChainState.REWRITTEN:
            end_unused(outbox, sight.chain.chain_id, now=now)
            outbox.begin_again(sight.chain, head, ending=None, now=now)
        case ChainState.KNOWN if sight.embedded:
            # Nobody may have looked between an approval and a restart: its block was seen, too.
            end_unused(outbox, sight.chain.chain_id, built_above=head.number, now=now)
            outbox.note_head(sight.chain, head, now=now)
        case ChainState.KNOWN if sight.highest is not None and (
            head.number + REORG_DEPTH < sight.highest.number
        ):
            outbox.begin_again(sight.chain, head, ending=None, now=now)
        case ChainState.KNOWN:
            outbox.note_head(sight.chain, head, now=now)


def note_seen(
    outbox: Outbox, evidence: Evidence, chain: Genesis, head: Block, *, now: float
) -> None:
    """Keep the highest head while a plan is followed; a lower embedded chain ends them all."""
    seen, highest = Head(head.number, head.hash), outbox.highest_head(chain)
    if evidence.embedded and highest is not None and seen.number < highest.number:
        outbox.begin_again(chain, seen, ending=EndCode.CHAIN_RESTARTED, now=now)
    else:
        outbox.note_head(chain, seen, now=now)


async def require_same_chain(
    outbox: Outbox,
    reads: Reader,
    evidence: Evidence,
    dispatch: Dispatch,
    *,
    clock: Callable[[], float],
    wait: Callable[[], Awaitable[None]],
    seconds: float,
) -> Genesis:
    """Which chain this is, refused unless it is the one the plan was approved on."""
    now = clock()
    sight = await sight_chain(outbox, reads, evidence, dispatch.chain_id, now=now)
    if sight.state is ChainState.LAGGING:
        raise OutboxError(
            f"{sight.lagging_words} Nothing was sent.", "Try again, or name another: --rpc URL"
        )
    keep_sight(outbox, sight, now=now)
    check_not_over(outbox.dispatch(dispatch.hash))
    while True:
        same, other = await _anchors(reads, evidence, dispatch)
        if same >= evidence.needed_answers:
            return sight.chain
        if other >= evidence.needed_answers or (evidence.embedded and not same):
            code = EndCode.CHAIN_RESTARTED if evidence.embedded else EndCode.OTHER_CHAIN
            outbox.end(dispatch.hash, code, now=now)
            raise PlanOverError(dispatch, code)
        if clock() >= now + seconds:
            raise OutboxError(
                "Too few endpoints know the block this was approved on. Nothing was sent.",
                "Try again, or name others: --rpc URL,URL",
            )
        await wait()


async def _anchors(reads: Reader, evidence: Evidence, dispatch: Dispatch) -> tuple[int, int]:
    """How many endpoints have the block of the plan, and how many another in its place."""
    asked = [requests.block(dispatch.anchor.number)]
    answers = await asyncio.gather(
        *(each.settle(asked) for each in evidence.readers(reads)), return_exceptions=True
    )
    blocks = [
        block
        for answer in answers
        if not isinstance(answer, BaseException)
        for block in answer
        if isinstance(block, Block)
    ]
    same = sum(block.hash == dispatch.anchor.hash for block in blocks)
    return same, len(blocks) - same


def end_unused(
    outbox: Outbox, chain_id: int, *, built_above: int | None = None, now: float
) -> None:
    """No approval from before the embedded chain was rewritten is used after it."""
    for dispatch in outbox.dispatches():
        unused = dispatch.chain_id == chain_id and dispatch.consumed_at is None
        before = built_above is None or dispatch.anchor.number > built_above
        if unused and dispatch.ended is None and before:
            outbox.end(dispatch.hash, EndCode.CHAIN_RESTARTED, now=now)


async def _ends(reads: Reader) -> tuple[str, Block]:
    """The hash of the first block, and the newest."""
    first, head = await reads.settle([requests.block(0), requests.block("latest")])
    if isinstance(head, RpcError):
        raise head
    if head is None:
        raise Malformed("it has no newest block", endpoint="the RPC")
    # Some nodes have let go of their first blocks: their chain is known by its id alone.
    return (first.hash if isinstance(first, Block) else ""), head


async def _embedded_state(reads: Reader, head: Block, highest: Head) -> ChainState:
    if head.number < highest.number:
        return ChainState.RESTARTED
    there = await reads.ask(requests.block(highest.number))
    same = there is not None and there.hash == highest.hash
    return ChainState.KNOWN if same else ChainState.REWRITTEN


def _too_few(silences: list[RpcError], *, answered: int) -> RpcError:
    if answered:
        why = f"{silences[0].sentence} No second endpoint vouches for what is seen."
        return NoEndpoint(why, "Try again, or name another endpoint: --rpc URL,URL")
    return silences[0]
