"""What became of everything in the outbox, looked up and said in one sentence each.

Looking writes down what is seen and sends nothing.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from chain.execution.outbox.delivery import Observed, observe
from chain.execution.outbox.lookup import ONE_ENDPOINT, Evidence, NonceState
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch, Doubt, EndCode, PlanStep, StepState
from chain.execution.outbox.rules import END_WORDS
from chain.execution.outbox.same_chain import ChainState, keep_sight, sight_chain
from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.rpc.requests import Reader

WITHIN_SECONDS = 4.0
"""A person who starts zuno knows where things stand within five seconds."""


class StepSituation(StrEnum):
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


class ResumeChoice(StrEnum):
    WAIT = "wait"
    SEND_AGAIN = "send again"
    SPEED_UP = "speed up"
    CANCEL = "cancel"
    NEW_PLAN = "make a new plan"


CHOICES: dict[StepSituation, tuple[ResumeChoice, ...]] = {
    StepSituation.BEING_APPLIED: (ResumeChoice.WAIT,),
    StepSituation.NEVER_SIGNED: (ResumeChoice.NEW_PLAN,),
    StepSituation.NOT_SENT: (ResumeChoice.SEND_AGAIN, ResumeChoice.SPEED_UP, ResumeChoice.CANCEL),
    StepSituation.PENDING: (ResumeChoice.WAIT, ResumeChoice.SPEED_UP, ResumeChoice.CANCEL),
    StepSituation.PENDING_TOO_LATE: (ResumeChoice.CANCEL,),
    StepSituation.UNCLEAR: (ResumeChoice.WAIT,),
    StepSituation.INCLUDED: (ResumeChoice.WAIT,),
    StepSituation.FINAL: (),
    StepSituation.REVERTED: (ResumeChoice.NEW_PLAN,),
    StepSituation.CANCELLED: (ResumeChoice.NEW_PLAN,),
    StepSituation.REPLACED: (ResumeChoice.NEW_PLAN,),
    StepSituation.DROPPED: (ResumeChoice.SPEED_UP, ResumeChoice.CANCEL, ResumeChoice.NEW_PLAN),
    StepSituation.OVER: (ResumeChoice.NEW_PLAN,),
    StepSituation.UNKNOWN: (ResumeChoice.WAIT,),
}


class StepFinding(Struct, frozen=True):
    """One step, where it stands, and what the person can do about it."""

    dispatch: Dispatch
    step: PlanStep
    situation: StepSituation
    sentence: str

    @property
    def choices(self) -> tuple[ResumeChoice, ...]:
        return CHOICES[self.situation]


async def look(
    outbox: Outbox,
    reads: Reader,
    *,
    chain_id: int,
    clock: Callable[[], float],
    evidence: Evidence = ONE_ENDPOINT,
    within: float = WITHIN_SECONDS,
) -> tuple[StepFinding, ...]:
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
    hashes = [item.hash for item in outbox.unresolved_dispatches() if item.chain_id == chain_id]
    with outbox.hold_apply_lock() as alone:
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
_IN_A_BLOCK = frozenset((NonceState.INCLUDED, NonceState.FINAL))


class _Found(Struct, frozen=True):
    dispatch: str
    position: int
    situation: StepSituation
    detail: str = ""


def _telling(dispatch: Dispatch) -> Sequence[PlanStep]:
    """The steps that are still open, and the one where a plan stopped."""
    stopped = dispatch.stopped_at
    return [step for step in dispatch.steps if not step.settled or step is stopped]


class _Looking(Struct, frozen=True):
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
        """End what is signed and missing on a rewritten chain, unless another step of it stands.

        A restarted chain may have the block a plan was built on, and no step of it; of a plan
        with a step that still stands, a reorganisation has only taken the later blocks.
        """
        for dispatch in self.outbox.unresolved_dispatches():
            if dispatch.chain_id != chain_id:
                continue
            stands, missing = False, False
            for step in dispatch.steps:
                if step.settled:
                    stands = stands or await self._still_stands(step)
                elif step.versions:
                    standing = (await self._observed(dispatch, step)).standing
                    stands = stands or standing in _IN_A_BLOCK
                    missing = missing or standing is NonceState.MISSING
            if missing and not stands:
                self.outbox.end(dispatch.hash, EndCode.CHAIN_RESTARTED, now=self.clock())

    async def _still_stands(self, step: PlanStep) -> bool:
        """Whether the chain has the very block that a settled step was in."""
        if step.inclusion is None:
            return False
        block = await self.reads.ask(requests.block(step.inclusion.block_number))
        return block is not None and block.hash == step.inclusion.block_hash

    async def find(
        self, dispatch: Dispatch, step: PlanStep, *, within: float, fault: str
    ) -> _Found:
        situation, detail = _by_state(step), ""
        if step.versions and not step.settled:
            try:
                if fault:
                    situation, detail = StepSituation.UNKNOWN, fault
                else:
                    async with asyncio.timeout(within):
                        situation = await self._situation(dispatch, step)
            except RpcError as error:
                situation, detail = StepSituation.UNKNOWN, error.sentence
            except TimeoutError:
                situation, detail = StepSituation.UNKNOWN, _NO_ANSWER
        return _Found(dispatch.hash, step.position, situation, detail)

    async def _situation(self, dispatch: Dispatch, step: PlanStep) -> StepSituation:
        observed = await self._observed(dispatch, step)
        step = observed.step
        match observed.standing:
            case NonceState.PENDING:
                late = observed.seen.is_expired(step)
                return StepSituation.PENDING_TOO_LATE if late else StepSituation.PENDING
            case NonceState.MISSING if step.state is not StepState.DROPPED:
                return StepSituation.NOT_SENT
            case NonceState.UNCLEAR if step.state is not StepState.UNCLEAR:
                doubt = Doubt.NO_SECOND_WITNESS
                self.outbox.mark_unclear(step, doubt, now=self.clock())
                return StepSituation.UNCLEAR
            case _:
                return _by_state(step)

    async def _observed(self, dispatch: Dispatch, step: PlanStep) -> Observed:
        return await observe(
            self.outbox, self.reads, dispatch, step, now=self.clock(), evidence=self.evidence
        )


_BY_STATE: dict[StepState, StepSituation] = {
    StepState.PLANNED: StepSituation.BEING_APPLIED,
    StepState.APPROVED: StepSituation.BEING_APPLIED,
    StepState.SIGNED: StepSituation.NOT_SENT,
    StepState.SENT: StepSituation.PENDING,
    StepState.UNCLEAR: StepSituation.UNCLEAR,
    StepState.INCLUDED: StepSituation.INCLUDED,
    StepState.FINAL: StepSituation.FINAL,
    StepState.REVERTED: StepSituation.REVERTED,
    StepState.REPLACED: StepSituation.REPLACED,
    StepState.DROPPED: StepSituation.DROPPED,
    StepState.DISCARDED: StepSituation.NEVER_SIGNED,
}


def _by_state(step: PlanStep) -> StepSituation:
    if step.state is StepState.REPLACED and step.inclusion is not None:
        return StepSituation.CANCELLED
    return _BY_STATE[step.state]


_WORDS: dict[StepSituation, str] = {
    StepSituation.BEING_APPLIED: "waits for its turn in a zuno that is running",
    StepSituation.NEVER_SIGNED: "was never signed and is given up",
    StepSituation.NOT_SENT: "is signed and kept, and no endpoint has it; nothing was sent now",
    StepSituation.PENDING: "waits for a block",
    StepSituation.PENDING_TOO_LATE: "still waits for a block, and its deadline has passed",
    StepSituation.UNCLEAR: "is unclear",
    StepSituation.INCLUDED: "is in a block that is not final yet",
    StepSituation.FINAL: "is done for good",
    StepSituation.REVERTED: "was run by the chain and reverted",
    StepSituation.CANCELLED: "was cancelled",
    StepSituation.REPLACED: "cannot happen any more: its nonce went to another transaction",
    StepSituation.DROPPED: "is in no mempool and was not sent again",
}


def _findings(
    outbox: Outbox, hashes: Sequence[str], found: Sequence[_Found]
) -> Iterator[StepFinding]:
    for dispatch in map(outbox.dispatch, hashes):
        if dispatch.ended is not None:
            yield _over(dispatch, dispatch.ended.code)
        for item in found:
            if item.dispatch == dispatch.hash and _adds(dispatch, item):
                yield _finding(dispatch, item)


_MAY_STILL_COME = frozenset(
    (
        StepSituation.PENDING,
        StepSituation.PENDING_TOO_LATE,
        StepSituation.UNCLEAR,
        StepSituation.UNKNOWN,
        StepSituation.BEING_APPLIED,
    )
)


def _adds(dispatch: Dispatch, item: _Found) -> bool:
    """Whether it says more than that the plan is over: its bytes may still come to a block."""
    return dispatch.ended is None or item.situation in _MAY_STILL_COME


def _over(dispatch: Dispatch, code: EndCode) -> StepFinding:
    step = dispatch.stopped_at or dispatch.steps[-1]
    sentence = f"Plan {dispatch.plan_id} is over: {END_WORDS[code]}. Nothing more of it is sent."
    return StepFinding(dispatch, step, StepSituation.OVER, sentence)


_WITH_REASON = frozenset((StepSituation.DROPPED, StepSituation.NOT_SENT, StepSituation.UNCLEAR))


def _finding(dispatch: Dispatch, found: _Found) -> StepFinding:
    step = dispatch.steps[found.position]
    words = _WORDS.get(found.situation, f"was last known as {step.state}")
    if found.situation is StepSituation.NOT_SENT and dispatch.private_host is not None:
        words = f"is in no public mempool, as intended; {dispatch.private_host} may have it"
    if step.reason and found.situation in _WITH_REASON:
        words += f" ({step.reason})"
    sentences = [f"{step.title} of plan {dispatch.plan_id} {words}."]
    if found.detail:
        sentences.append(found.detail)
    if dispatch.safe_state is not None:
        sentences.append(f"Where you stand: {dispatch.safe_state}.")
    return StepFinding(dispatch, step, found.situation, " ".join(sentences))
