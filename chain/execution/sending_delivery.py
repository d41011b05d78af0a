"""Handing signed bytes to a node, and writing down what the chain says of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from chain.execution.journal import OutboxError
from chain.execution.journal_records import Inclusion, StepState
from chain.execution.sending_lookup import Standing, look_up, standing
from chain.rpc import requests
from chain.rpc.errors import RpcError, SendRefusal, SendRefused, SendUnclear

if TYPE_CHECKING:
    from chain.execution.journal_records import Dispatch, Step
    from chain.execution.outbox import Outbox
    from chain.execution.sending_lookup import Sighting
    from chain.execution.sending_route import Route
    from chain.rpc.reader import Reader

ALREADY_TAKEN = frozenset((SendRefusal.ALREADY_KNOWN, SendRefusal.NONCE_TOO_LOW))
"""Refusals that say nothing about failure: these very bytes may be what the node knows."""


class Handing(StrEnum):
    TAKEN = "taken"
    UNCLEAR = "unclear"
    REFUSED = "refused"
    NOT_SENT = "not sent"


@dataclass(frozen=True, slots=True)
class Observed:
    step: Step
    standing: Standing
    seen: Sighting


@dataclass(frozen=True, slots=True)
class Delivered:
    step: Step
    handing: Handing
    error: RpcError | None


async def hand_over(sends: Reader, raw: bytes) -> tuple[Handing, RpcError | None]:
    """Send once; what came of it, as far as the answer tells."""
    try:
        await sends.ask(requests.send_raw(raw))
    except SendUnclear as error:
        return Handing.UNCLEAR, error
    except SendRefused as error:
        taken = error.reason in ALREADY_TAKEN
        return (Handing.UNCLEAR if taken else Handing.REFUSED), error
    except RpcError as error:
        return Handing.NOT_SENT, error
    return Handing.TAKEN, None


async def deliver(
    outbox: Outbox, reads: Reader, route: Route, dispatch: Dispatch, step: Step, *, now: float
) -> Delivered:
    """Send the newest signed bytes of a step, these and no others, and write down what is known."""
    newest = step.newest
    if newest is None:
        raise OutboxError(f"{step.name} was never signed: there is nothing to send.")
    if (refusal := route.refusal(dispatch)) is not None:
        return Delivered(step, Handing.NOT_SENT, refusal)
    handing, error = await hand_over(route.endpoint, newest.transaction.raw)
    if handing is Handing.NOT_SENT:
        return Delivered(step, handing, error)
    if handing is Handing.REFUSED:
        # A node may refuse what another took: only a hash nobody knows was not taken.
        try:
            observed = await observe(outbox, reads, dispatch, step, now=now)
        except RpcError as silence:
            return Delivered(step, Handing.UNCLEAR, silence)
        # What a private endpoint once took may be in its keeping, where nobody else can look.
        kept = route.private_host is not None and newest.sent_at is not None
        if observed.standing is Standing.OTHER_CHAIN or (
            observed.standing is Standing.MISSING and not kept
        ):
            reason = error.sentence if error else "a node refused it"
            step = outbox.mark_dropped(observed.step, now=now, reason=reason)
            return Delivered(step, handing, error)
        return Delivered(observed.step, Handing.UNCLEAR, error)
    reason = "" if error is None else error.sentence
    step = outbox.mark_sent(step, newest.transaction.hash, now=now, reason=reason)
    return Delivered(step, handing, error)


async def observe(
    outbox: Outbox, reads: Reader, dispatch: Dispatch, step: Step, *, now: float
) -> Observed:
    """Look a step up and write down what changed; nothing is sent by looking."""
    seen = await look_up(reads, dispatch, step)
    found = standing(step, seen)
    match found:
        case Standing.INCLUDED | Standing.FINAL:
            step = _included(outbox, step, seen, now=now)
            if found is Standing.FINAL:
                step = outbox.settle(step, now=now)
        case Standing.REPLACED | Standing.REPLACED_FOR_GOOD:
            reason = "its nonce was used by a transaction this journal does not know"
            step = outbox.mark_replaced(step, now=now, reason=reason)
            if found is Standing.REPLACED_FOR_GOOD:
                step = outbox.settle(step, now=now)
        case Standing.PENDING:
            step = _sent(outbox, step, now=now)
        case Standing.EXPIRED:
            reason = "no node has it and its deadline has passed"
            step = outbox.mark_dropped(step, now=now, reason=reason)
        case Standing.OTHER_CHAIN:
            reason = "the chain is not the one it was approved on"
            step = outbox.mark_dropped(step, now=now, reason=reason)
        case Standing.MISSING:
            if step.inclusion is not None or step.state is StepState.REPLACED:
                step = _sent(outbox, step, now=now)
    return Observed(step, found, seen)


def _included(outbox: Outbox, step: Step, seen: Sighting, *, now: float) -> Step:
    receipt = seen.receipt
    if receipt is None:
        raise OutboxError(f"{step.name} cannot be included without a receipt.")
    inclusion = Inclusion(receipt.transaction_hash, receipt.block_number, receipt.block_hash)
    return outbox.mark_included(step, inclusion, succeeded=receipt.succeeded, now=now)


def _sent(outbox: Outbox, step: Step, *, now: float) -> Step:
    """Waiting for a block, for the first time or once more."""
    newest = step.newest
    if newest is None or step.state is StepState.SENT:
        return step
    taken_back = step.inclusion is not None or step.state is StepState.REPLACED
    reason = "its block was reorganised away" if taken_back else ""
    return outbox.mark_sent(step, newest.transaction.hash, now=now, reason=reason)
