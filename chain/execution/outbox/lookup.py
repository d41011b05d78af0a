"""Where a step's transactions are, and whose word decides: one endpoint's, or two that agree."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from chain.execution.outbox.records import Dispatch, PlanStep
from chain.rpc import requests
from chain.rpc.errors import Malformed, RpcError, RpcRefused, StatePruned
from chain.rpc.records import Block, Receipt, SpentNonce, Transaction
from chain.rpc.requests import Reader

_LOOKS_AGAIN = 6
LEAST_DOUBT_SECONDS = 10.0
DOUBT_BLOCKS = 3
FINAL_DEPTH = 64
"""How many blocks on top make one final where the network does not say so itself."""


class NonceState(StrEnum):
    FINAL = "final"
    INCLUDED = "included"
    REPLACED_FOR_GOOD = "replaced for good"
    REPLACED = "replaced"
    PENDING = "pending"
    OTHER_CHAIN = "other chain"
    GONE = "gone"
    """It was in a block, and neither a block nor the pool has it now."""
    EXPIRED = "expired"
    MISSING = "missing"
    UNCLEAR = "unclear"
    """Endpoints differ, or too few of them answered."""


class Sighting(Struct, frozen=True):
    """What one endpoint knows of a step, its wallet and its chain."""

    head: Block
    final_number: int
    same_chain: bool
    """Whether the block the plan was built on is still there."""
    receipt: Receipt | None
    waiting: bool
    """Whether a node has one of its versions, in its pool or in a block without its receipt yet."""
    nonce: int
    final_nonce: int
    mined: bool = False
    """Whether one of its versions is in a block: its nonce went to no other transaction."""

    def is_expired(self, step: PlanStep) -> bool:
        """Whether no block to come may run it: each is later than the head."""
        return step.deadline is not None and self.head.timestamp >= step.deadline


def nonce_state(step: PlanStep, seen: Sighting) -> NonceState:
    if seen.receipt is not None:
        is_final = seen.receipt.block_number <= seen.final_number
        return NonceState.FINAL if is_final else NonceState.INCLUDED
    if seen.mined:
        return NonceState.PENDING
    if seen.final_nonce > step.transaction.nonce:
        return NonceState.REPLACED_FOR_GOOD
    if seen.nonce > step.transaction.nonce:
        return NonceState.REPLACED
    if seen.waiting:
        return NonceState.PENDING
    return _absent(step, seen)


def _absent(step: PlanStep, seen: Sighting) -> NonceState:
    """Of a step that no block and no pool has, and whose nonce is free."""
    if not seen.same_chain:
        return NonceState.OTHER_CHAIN
    if step.was_included:
        return NonceState.GONE
    return NonceState.EXPIRED if seen.is_expired(step) else NonceState.MISSING


async def look_up(reads: Reader, dispatch: Dispatch, step: PlanStep, *, lags: bool) -> Sighting:
    """Everything about a step in one request, or two where the first leaves it open.

    `lags` is whether a head may fall short of the plan's block and still be of its chain.
    """
    hashes = [version.transaction.hash for version in step.versions]
    sender = step.transaction.sender
    outcomes = await reads.settle(
        [
            requests.block("latest"),
            requests.block("finalized"),
            requests.block(dispatch.anchor.number),
            requests.transaction_count(sender),
            *map(requests.receipt, hashes),
            *map(requests.transaction, hashes),
        ]
    )
    head, finalized, anchor, nonce, *found = outcomes
    if not isinstance(head, Block) or not isinstance(nonce, int):
        raise _fault(head, nonce)
    receipts, known = found[: len(hashes)], found[len(hashes) :]
    final_number = finalized.number if isinstance(finalized, Block) else _by_depth(finalized, head)
    receipt = _receipt(receipts)
    final_nonce = 0
    if receipt is None and nonce > step.transaction.nonce:
        receipt, there = await _look_again(reads, head, hashes)
        [counted] = await reads.settle([requests.transaction_count(sender, final_number)])
        final_nonce = counted if isinstance(counted, int) else 0
        if receipt is None and not there:
            nonce = final_nonce
    if receipt is not None and receipt.block_number <= final_number:
        final_number = await _confirmed(reads, receipt, final_number)
    return Sighting(
        head=head,
        final_number=final_number,
        same_chain=_same_chain(dispatch, head, anchor, lags=lags),
        receipt=receipt,
        waiting=any(isinstance(item, Transaction) for item in known),
        mined=any(isinstance(item, Transaction) and item.block_hash for item in known),
        nonce=nonce,
        final_nonce=final_nonce,
    )


async def _look_again(
    reads: Reader, head: Block, hashes: Sequence[str]
) -> tuple[Receipt | None, bool]:
    """The receipt of a nonce that was used, and whether who was asked has the head of that nonce.

    The block may have come between two answers of one batch, or a machine that lacks it have been
    asked for the receipt.
    """
    there = False
    for _ in range(_LOOKS_AGAIN):
        block, *receipts = await reads.settle(
            [requests.block(head.hash), *(requests.receipt(item) for item in hashes)]
        )
        there = there or isinstance(block, Block)
        receipt = _receipt(receipts)
        if receipt is not None:
            return receipt, there
    return None, there


async def find_spender(
    reads: Reader, step: PlanStep, *, after: int, head: int
) -> SpentNonce | None:
    """The transaction that a step's nonce went to, in whichever block the wallet's count passed it.

    None where the endpoint cannot tell: it has no state of these blocks, or not the block.
    """
    sender, nonce = step.transaction.sender, step.transaction.nonce
    low, high = after, head
    try:
        while low < high:
            middle = (low + high) // 2
            passed = await reads.ask(requests.transaction_count(sender, middle)) > nonce
            low, high = (low, middle) if passed else (middle + 1, high)
        spent = await reads.ask(requests.spent_nonces(high))
    except RpcError:
        return None
    return next(
        (used for used in spent or () if (used.sender, used.nonce) == (sender, nonce)), None
    )


async def _confirmed(reads: Reader, receipt: Receipt, final_number: int) -> int:
    """The same number if the final chain truly holds the receipt's block, else one below it."""
    block = await reads.ask(requests.block(receipt.block_number))
    holds = block is not None and block.hash == receipt.block_hash
    return final_number if holds else receipt.block_number - 1


def _same_chain(dispatch: Dispatch, head: Block, anchor: object, *, lags: bool) -> bool:
    """A head a little short of the anchor may lag; a far shorter chain is another one."""
    if isinstance(anchor, Block):
        return anchor.hash == dispatch.anchor.hash
    return lags and head.number < dispatch.anchor.number <= head.number + FINAL_DEPTH


def _receipt(outcomes: Sequence[object]) -> Receipt | None:
    for outcome in outcomes:
        if isinstance(outcome, RpcError):
            raise outcome
        if isinstance(outcome, Receipt):
            return outcome
    return None


def _by_depth(outcome: object, head: Block) -> int:
    """What counts as final on a network that has no such word."""
    if outcome is None or isinstance(outcome, RpcRefused | StatePruned):
        return max(0, head.number - FINAL_DEPTH)
    raise _fault(outcome)


def _fault(*outcomes: object) -> RpcError:
    for outcome in outcomes:
        if isinstance(outcome, RpcError):
            return outcome
    return Malformed("it has no newest block", endpoint="the RPC")


_REPLACED = frozenset((NonceState.REPLACED, NonceState.REPLACED_FOR_GOOD))
_OPEN = frozenset((NonceState.PENDING, NonceState.MISSING, NonceState.EXPIRED))


class NamedReader(NamedTuple):
    """One endpoint by itself, under the name people know it by."""

    host: str
    reads: Reader


class Evidence(Struct, frozen=True):
    """Who is asked what happened, how many must agree, and how long a bad sign must last."""

    witnesses: tuple[NamedReader, ...] = ()
    """Every endpoint that is set, each by itself; none where one vouches alone."""
    doubt_seconds: float = LEAST_DOUBT_SECONDS
    """Endpoints lag behind one another: a loss is believed when it was seen for this long."""
    embedded: bool = False
    """Whether it is the embedded chain, where a head lower than seen before is a restart."""

    @property
    def needed_answers(self) -> int:
        return 2 if self.witnesses else 1

    def readers(self, usual: Reader) -> tuple[Reader, ...]:
        return tuple(witness.reads for witness in self.witnesses) or (usual,)


ONE_ENDPOINT = Evidence()
EMBEDDED = Evidence(doubt_seconds=0.0, embedded=True)


class Verdict(NamedTuple):
    standing: NonceState
    seen: Sighting


async def find_verdict(
    reads: Reader, evidence: Evidence, dispatch: Dispatch, step: PlanStep
) -> Verdict:
    """Where a step stands by the word of as many endpoints as are needed."""
    outcomes = await asyncio.gather(
        *(
            look_up(each, dispatch, step, lags=not evidence.embedded)
            for each in evidence.readers(reads)
        ),
        return_exceptions=True,
    )
    seen: list[Sighting] = []
    silences: list[RpcError] = []
    for outcome in outcomes:
        if isinstance(outcome, RpcError):
            silences.append(outcome)
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            seen.append(outcome)
    if not seen:
        raise silences[0]
    return settle_verdict(step, seen, evidence.needed_answers)


def settle_verdict(step: PlanStep, seen: Sequence[Sighting], needed: int) -> Verdict:
    """What enough of them tell alike; unclear where too few do."""
    groups: dict[object, list[Verdict]] = {}
    for sighting in seen:
        verdict = Verdict(nonce_state(step, sighting), sighting)
        groups.setdefault(_key(verdict), []).append(verdict)
    match [group for group in groups.values() if len(group) >= needed]:
        case [enough]:
            return _weakest(enough, needed)
        case _:
            lowest = min(seen, key=lambda sighting: sighting.head.number)
            return Verdict(NonceState.UNCLEAR, lowest)


def _key(verdict: Verdict) -> object:
    """What must be alike for two endpoints to tell the same."""
    found, receipt = verdict.standing, verdict.seen.receipt
    if receipt is not None:
        return receipt.transaction_hash, receipt.block_hash, receipt.succeeded
    for alike in (_REPLACED, _OPEN):
        if found in alike:
            return alike
    return found


_WEAKER = (NonceState.INCLUDED, NonceState.REPLACED, NonceState.PENDING, NonceState.MISSING)
"""Of those that count as alike, what says less than the others."""


def _weakest(group: Sequence[Verdict], needed: int) -> Verdict:
    """The least that all of them say, seen from the lowest of their heads."""
    lowest = min(group, key=lambda sighting: sighting.seen.head.number)
    said = Counter(sighting.standing for sighting in group)
    # One that alone claims to hold it may keep it for ever: the same bytes go out again.
    if said[NonceState.PENDING] < needed:
        del said[NonceState.PENDING]
    least = next(each for each in (*_WEAKER, *said) if each in said)
    return Verdict(least, lowest.seen)
