"""What became of everything in the outbox, looked up and said in one sentence each.

Looking writes down what is seen and sends nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from chain.execution.chain_sight import ChainState, keep_sight, sight_chain
from chain.execution.evidence import ONE_ENDPOINT
from chain.execution.journal_records import Doubt, EndCode, StepState
from chain.execution.outbox_rules import END_WORDS
from chain.execution.sending_delivery import observe
from chain.execution.sending_lookup import Standing
from chain.rpc.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from chain.execution.evidence import Evidence
    from chain.execution.journal_records import Dispatch, Step
    from chain.execution.outbox import Outbox
    from chain.execution.sending_delivery import Observed
    from chain.rpc.reader import Reader

WITHIN_SECONDS = 4.0
"""A person who starts zuno knows where things stand within five seconds."""


class Situation(StrEnum):
    BEING_APPLIED = "being applied"
    NEVER_SIGNED = "never signed"
    NOT_SENT = "not sent"
    PENDING = "pending"
    PENDING_TOO_LATE = "pending, past its deadline"
    UNCLEAR = "unclear"
    INCLUDED = "included"
    FINAL = "final"
    REVERTED = "reverted"
    CANCELLED = "cancelled"
    REPLACED = "replaced"
    DROPPED = "dropped"
    OVER = "over"
    """Of the whole plan: nothing of it is ever sent again."""
    UNKNOWN = "unknown"


class Choice(StrEnum):
    WAIT = "wait"
    SEND_AGAIN = "send again"
    SPEED_UP = "speed up"
    CANCEL = "cancel"
    NEW_PLAN = "make a new plan"


CHOICES: dict[Situation, tuple[Choice, ...]] = {
    Situation.BEING_APPLIED: (Choice.WAIT,),
    Situation.NEVER_SIGNED: (Choice.NEW_PLAN,),
    Situation.NOT_SENT: (Choice.SEND_AGAIN, Choice.SPEED_UP, Choice.CANCEL),
    Situation.PENDING: (Choice.WAIT, Choice.SPEED_UP, Choice.CANCEL),
    Situation.PENDING_TOO_LATE: (Choice.CANCEL,),
    Situation.UNCLEAR: (Choice.WAIT,),
    Situation.INCLUDED: (Choice.WAIT,),
    Situation.FINAL: (),
    Situation.REVERTED: (Choice.NEW_PLAN,),
    Situation.CANCELLED: (Choice.NEW_PLAN,),
    Situation.REPLACED: (Choice.NEW_PLAN,),
    Situation.DROPPED: (Choice.SPEED_UP, Choice.CANCEL, Choice.NEW_PLAN),
    Situation.OVER: (Choice.NEW_PLAN,),
    Situation.UNKNOWN: (Choice.WAIT,),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One step, where it stands, and what the person can do about it."""

    dispatch: Dispatch
    step: Step
    situation: Situation
    sentence: str

    @property
    def choices(self) -> tuple[Choice, ...]:
        return CHOICES[self.situation]


async def look(
    outbox: Outbox,
    reads: Reader,
    *,
    chain_id: int,
    clock: Callable[[], float],
    evidence: Evidence = ONE_ENDPOINT,
    within: float = WITHIN_SECONDS,
) -> tuple[Finding, ...]:
    """Look every unfinished step up, write down what is seen, and tell; nothing is sent.

    A chain that does not answer in time leaves the journal's last word, said to be just that.
    """
    looking = _Looking(outbox, reads, evidence, clock)
    fault = ""
    try:
        async with asyncio.timeout(within):
            fault = await looking.sight(chain_id)
    except RpcError as error:
        fault = error.sentence
    except TimeoutError:
        fault = _NO_ANSWER
    hashes = [item.hash for item in outbox.unresolved() if item.chain_id == chain_id]
    with outbox.applying() as alone:
        for dispatch_hash in hashes if alone else ():
            reason = "zuno ended before it was signed"
            outbox.discard_unsigned(dispatch_hash, now=clock(), reason=reason)
    found = await asyncio.gather(
        *(
            looking.find(dispatch, step, within=within, fault=fault)
            for dispatch in map(outbox.dispatch, hashes)
            for step in _telling(dispatch)
        )
    )
    # Only now is it known how far each plan has come as a whole.
    return tuple(_findings(outbox, hashes, found))


_NO_ANSWER = "The chain did not answer in time."


@dataclass(frozen=True, slots=True)
class _Found:
    dispatch: str
    position: int
    situation: Situation
    detail: str = ""


def _telling(dispatch: Dispatch) -> Sequence[Step]:
    """The steps that are still open, and the one where a plan stopped."""
    stopped = dispatch.stopped_at
    return [step for step in dispatch.steps if not step.settled or step is stopped]


@dataclass(frozen=True, slots=True)
class _Looking:
    """One look at the outbox."""

    outbox: Outbox
    reads: Reader
    evidence: Evidence
    clock: Callable[[], float]

    async def sight(self, chain_id: int) -> str:
        """Hold the chain against the highest head seen of it; why nothing can be told by it."""
        now = self.clock()
        sight = await sight_chain(self.outbox, self.reads, self.evidence, chain_id, now=now)
        if sight.state is ChainState.LAGGING:
            return sight.lagging_words
        if sight.state is ChainState.REWRITTEN:
            await self._end_missing(chain_id)
        keep_sight(self.outbox, sight, now=now)
        return ""

    async def _end_missing(self, chain_id: int) -> None:
        """What is signed and missing on a rewritten chain waits on none that it was made for."""
        for dispatch in self.outbox.unresolved():
            for step in dispatch.steps if dispatch.chain_id == chain_id else ():
                if not step.versions or step.settled:
                    continue
                seen = await self._observed(dispatch, step)
                if seen.standing is Standing.MISSING:
                    code = EndCode.CHAIN_RESTARTED
                    self.outbox.end(dispatch.hash, code, now=self.clock())

    async def find(self, dispatch: Dispatch, step: Step, *, within: float, fault: str) -> _Found:
        situation, detail = _by_state(step), ""
        if step.versions and not step.settled:
            try:
                if fault:
                    situation, detail = Situation.UNKNOWN, fault
                else:
                    async with asyncio.timeout(within):
                        situation = await self._situation(dispatch, step)
            except RpcError as error:
                situation, detail = Situation.UNKNOWN, error.sentence
            except TimeoutError:
                situation, detail = Situation.UNKNOWN, _NO_ANSWER
        return _Found(dispatch.hash, step.position, situation, detail)

    async def _situation(self, dispatch: Dispatch, step: Step) -> Situation:
        observed = await self._observed(dispatch, step)
        step = observed.step
        match observed.standing:
            case Standing.PENDING:
                late = observed.seen.expired(step)
                return Situation.PENDING_TOO_LATE if late else Situation.PENDING
            case Standing.MISSING if step.state is not StepState.DROPPED:
                return Situation.NOT_SENT
            case Standing.UNCLEAR if step.state is not StepState.UNCLEAR:
                doubt = Doubt.NO_SECOND_WITNESS
                self.outbox.mark_unclear(step, doubt, now=self.clock())
                return Situation.UNCLEAR
            case _:
                return _by_state(step)

    async def _observed(self, dispatch: Dispatch, step: Step) -> Observed:
        return await observe(
            self.outbox,
            self.reads,
            dispatch,
            step,
            now=self.clock(),
            evidence=self.evidence,
        )


_BY_STATE: dict[StepState, Situation] = {
    StepState.PLANNED: Situation.BEING_APPLIED,
    StepState.APPROVED: Situation.BEING_APPLIED,
    StepState.SIGNED: Situation.NOT_SENT,
    StepState.SENT: Situation.PENDING,
    StepState.UNCLEAR: Situation.UNCLEAR,
    StepState.INCLUDED: Situation.INCLUDED,
    StepState.FINAL: Situation.FINAL,
    StepState.REVERTED: Situation.REVERTED,
    StepState.REPLACED: Situation.REPLACED,
    StepState.DROPPED: Situation.DROPPED,
    StepState.DISCARDED: Situation.NEVER_SIGNED,
}


def _by_state(step: Step) -> Situation:
    if step.state is StepState.REPLACED and step.inclusion is not None:
        return Situation.CANCELLED
    return _BY_STATE[step.state]


_WORDS: dict[Situation, str] = {
    Situation.BEING_APPLIED: "waits for its turn in a zuno that is running",
    Situation.NEVER_SIGNED: "was never signed and is given up",
    Situation.NOT_SENT: "is signed and kept, and no endpoint has it; nothing was sent now",
    Situation.PENDING: "waits for a block",
    Situation.PENDING_TOO_LATE: "still waits for a block, and its deadline has passed",
    Situation.UNCLEAR: "is unclear",
    Situation.INCLUDED: "is in a block that is not final yet",
    Situation.FINAL: "is done for good",
    Situation.REVERTED: "was run by the chain and reverted",
    Situation.CANCELLED: "was cancelled",
    Situation.REPLACED: "cannot happen any more: its nonce went to another transaction",
    Situation.DROPPED: "is in no pool and was not sent again",
}


def _findings(outbox: Outbox, hashes: Sequence[str], found: Sequence[_Found]) -> Iterator[Finding]:
    for dispatch in map(outbox.dispatch, hashes):
        if dispatch.ended is not None:
            yield _over(dispatch, dispatch.ended.code)
        for item in found:
            if item.dispatch == dispatch.hash and _adds(dispatch, item):
                yield _finding(dispatch, item)


_STILL_ABOUT = frozenset((Situation.PENDING, Situation.PENDING_TOO_LATE, Situation.UNCLEAR))
_UNCERTAIN = frozenset((Situation.UNKNOWN, Situation.BEING_APPLIED))


def _adds(dispatch: Dispatch, item: _Found) -> bool:
    """Whether it says more than that the plan is over: its bytes may still come to a block."""
    return dispatch.ended is None or item.situation in _STILL_ABOUT | _UNCERTAIN


def _over(dispatch: Dispatch, code: EndCode) -> Finding:
    step = dispatch.stopped_at or dispatch.steps[-1]
    sentence = (
        f"Plan {dispatch.plan_id} is over: {END_WORDS[code]}. Nothing of it is sent any more."
    )
    return Finding(dispatch, step, Situation.OVER, sentence)


_WITH_REASON = frozenset((Situation.DROPPED, Situation.NOT_SENT, Situation.UNCLEAR))


def _finding(dispatch: Dispatch, found: _Found) -> Finding:
    step = dispatch.steps[found.position]
    words = _WORDS.get(found.situation, f"was last known as {step.state}")
    if found.situation is Situation.NOT_SENT and dispatch.private_host is not None:
        words = f"is in no public pool, as is meant; {dispatch.private_host} may have it"
    if step.reason and found.situation in _WITH_REASON:
        words += f" ({step.reason})"
    sentences = [f"{step.name} of plan {dispatch.plan_id} {words}."]
    if found.detail:
        sentences.append(found.detail)
    if dispatch.safe_state is not None:
        sentences.append(f"You stand here: {dispatch.safe_state}.")
    return Finding(dispatch, step, found.situation, " ".join(sentences))
