"""What became of everything in the outbox, found out at the start and said in one sentence each."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from chain.execution.journal_records import StepState
from chain.execution.sending_delivery import Handing, deliver, observe
from chain.execution.sending_lookup import Standing
from chain.rpc.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chain.execution.journal_records import Dispatch, Step
    from chain.execution.outbox import Outbox
    from chain.execution.sending_route import Route
    from chain.rpc.reader import Reader

WITHIN_SECONDS = 4.0
"""A person who starts zuno knows where things stand within five seconds."""


class Situation(StrEnum):
    BEING_APPLIED = "being applied"
    NEVER_SIGNED = "never signed"
    NOT_SENT = "not sent"
    PENDING = "pending"
    PENDING_TOO_LATE = "pending, past its deadline"
    SENT_AGAIN = "sent again"
    INCLUDED = "included"
    FINAL = "final"
    REVERTED = "reverted"
    CANCELLED = "cancelled"
    REPLACED = "replaced"
    DROPPED = "dropped"
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
    Situation.NOT_SENT: (Choice.SEND_AGAIN, Choice.CANCEL),
    Situation.PENDING: (Choice.WAIT, Choice.SPEED_UP, Choice.CANCEL),
    Situation.PENDING_TOO_LATE: (Choice.CANCEL,),
    Situation.SENT_AGAIN: (Choice.WAIT, Choice.SPEED_UP, Choice.CANCEL),
    Situation.INCLUDED: (Choice.WAIT,),
    Situation.FINAL: (),
    Situation.REVERTED: (Choice.NEW_PLAN,),
    Situation.CANCELLED: (Choice.NEW_PLAN,),
    Situation.REPLACED: (Choice.NEW_PLAN,),
    Situation.DROPPED: (Choice.SPEED_UP, Choice.CANCEL, Choice.NEW_PLAN),
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


async def resume(
    outbox: Outbox,
    reads: Reader,
    route: Route,
    *,
    chain_id: int,
    clock: Callable[[], float],
    within: float = WITHIN_SECONDS,
) -> tuple[Finding, ...]:
    """Look every unfinished step up, send the same bytes again where they are missing, and tell.

    A chain that does not answer in time leaves the journal's last word, said to be just that.
    """
    hashes = [item.hash for item in outbox.unresolved() if item.chain_id == chain_id]
    with outbox.applying() as alone:
        for dispatch_hash in hashes if alone else ():
            reason = "zuno ended before it was signed"
            outbox.discard_unsigned(dispatch_hash, now=clock(), reason=reason)
    found = await asyncio.gather(
        *(
            _find(outbox, reads, route, dispatch, step, clock=clock, within=within)
            for dispatch in map(outbox.dispatch, hashes)
            for step in _telling(dispatch)
        )
    )
    # Only now is it known how far each plan has come as a whole.
    return tuple(_finding(outbox.dispatch(item.dispatch), item) for item in found)


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


async def _find(
    outbox: Outbox,
    reads: Reader,
    route: Route,
    dispatch: Dispatch,
    step: Step,
    *,
    clock: Callable[[], float],
    within: float,
) -> _Found:
    situation, detail = _by_state(step), ""
    if step.versions and not step.settled:
        try:
            async with asyncio.timeout(within):
                situation, detail = await _look(outbox, reads, route, dispatch, step, now=clock())
        except RpcError as error:
            situation, detail = Situation.UNKNOWN, error.sentence
        except TimeoutError:
            situation, detail = Situation.UNKNOWN, "The chain did not answer in time."
    return _Found(dispatch.hash, step.position, situation, detail)


async def _look(
    outbox: Outbox, reads: Reader, route: Route, dispatch: Dispatch, step: Step, *, now: float
) -> tuple[Situation, str]:
    """The situation, and what an endpoint said where that is why."""
    observed = await observe(outbox, reads, dispatch, step, now=now)
    step = observed.step
    if observed.standing is Standing.PENDING:
        late = observed.seen.expired(step)
        return (Situation.PENDING_TOO_LATE if late else Situation.PENDING), ""
    if observed.standing is Standing.MISSING and step.state is not StepState.DROPPED:
        delivered = await deliver(outbox, reads, route, dispatch, step, now=now)
        if delivered.handing is Handing.NOT_SENT:
            return Situation.NOT_SENT, "" if delivered.error is None else delivered.error.sentence
        if delivered.step.state is StepState.SENT:
            return Situation.SENT_AGAIN, ""
        step = delivered.step
    return _by_state(step), ""


_BY_STATE: dict[StepState, Situation] = {
    StepState.PLANNED: Situation.BEING_APPLIED,
    StepState.APPROVED: Situation.BEING_APPLIED,
    StepState.SIGNED: Situation.NOT_SENT,
    StepState.SENT: Situation.PENDING,
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
    Situation.NOT_SENT: "is signed and kept, but no endpoint took it",
    Situation.PENDING: "waits for a block",
    Situation.PENDING_TOO_LATE: "still waits for a block, and its deadline has passed",
    Situation.SENT_AGAIN: "was in no pool; the same bytes were sent again",
    Situation.INCLUDED: "is in a block that is not final yet",
    Situation.FINAL: "is done for good",
    Situation.REVERTED: "was run by the chain and reverted",
    Situation.CANCELLED: "was cancelled",
    Situation.REPLACED: "cannot happen any more: its nonce went to another transaction",
    Situation.DROPPED: "is in no pool and was not sent again",
}


def _finding(dispatch: Dispatch, found: _Found) -> Finding:
    step = dispatch.steps[found.position]
    words = _WORDS.get(found.situation, f"was last known as {step.state}")
    if found.situation is Situation.SENT_AGAIN and dispatch.private_host is not None:
        words = f"is in no public pool, as is meant; {dispatch.private_host} got the same again"
    if step.reason and found.situation in (Situation.DROPPED, Situation.NOT_SENT):
        words += f" ({step.reason})"
    sentences = [f"{step.name} of plan {dispatch.plan_id} {words}."]
    if found.detail:
        sentences.append(found.detail)
    if dispatch.safe_state is not None:
        sentences.append(f"You stand here: {dispatch.safe_state}.")
    return Finding(dispatch, step, found.situation, " ".join(sentences))
