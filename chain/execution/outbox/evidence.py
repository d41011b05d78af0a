"""Whose word decides what happened on a chain: one endpoint's, or that of two which agree."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from chain.execution.outbox.lookup import NonceState, Sighting, look_up, standing
from chain.rpc.errors import RpcError

if TYPE_CHECKING:
    from chain.execution.outbox.records import Dispatch, PlanStep
    from chain.rpc.reader import Reader

_IN_A_BLOCK = frozenset((NonceState.INCLUDED, NonceState.FINAL))
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
    doubt_seconds: float = 10.0
    """Endpoints lag behind one another: a loss is believed when it was seen for this long."""
    embedded: bool = False
    """Whether it is the embedded chain, where a head lower than seen before is a restart."""

    @property
    def needed(self) -> int:
        return 2 if self.witnesses else 1

    def readers(self, usual: Reader) -> tuple[Reader, ...]:
        return tuple(one.reads for one in self.witnesses) or (usual,)


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
    return agreed(step, seen, evidence.needed)


def agreed(step: PlanStep, seen: Sequence[Sighting], needed: int) -> Verdict:
    """What enough of them tell alike; unclear where too few do."""
    groups: dict[object, list[Verdict]] = {}
    for one in seen:
        verdict = Verdict(standing(step, one), one)
        groups.setdefault(_key(verdict), []).append(verdict)
    enough = [group for group in groups.values() if len(group) >= needed]
    if len(enough) == 1:
        return _weakest(enough[0], needed)
    return Verdict(NonceState.UNCLEAR, min(seen, key=lambda one: one.head.number))


def _key(verdict: Verdict) -> object:
    """What must be alike for two endpoints to tell the same."""
    found, receipt = verdict.standing, verdict.seen.receipt
    if found in _IN_A_BLOCK and receipt is not None:
        return receipt.transaction_hash, receipt.block_hash, receipt.succeeded
    for alike in (_REPLACED, _OPEN):
        if found in alike:
            return alike
    return found


_WEAKEST_FIRST = (
    NonceState.INCLUDED,
    NonceState.FINAL,
    NonceState.REPLACED,
    NonceState.REPLACED_FOR_GOOD,
    NonceState.PENDING,
    NonceState.MISSING,
    NonceState.EXPIRED,
)


def _weakest(group: Sequence[Verdict], needed: int) -> Verdict:
    """The least that all of them say, seen from the lowest of their heads."""
    lowest = min(group, key=lambda one: one.seen.head.number)
    said = Counter(one.standing for one in group)
    # One that alone claims to hold it may keep it for ever: the same bytes go out again.
    if said[NonceState.PENDING] < needed and len(said) > 1:
        del said[NonceState.PENDING]
    least = next((each for each in _WEAKEST_FIRST if each in said), lowest.standing)
    return Verdict(least, lowest.seen)
