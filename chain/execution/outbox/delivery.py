"""Handing signed bytes to a node, and writing down what the chain says of them."""

import asyncio
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from chain.contracts.addresses import keccak, recovered_address
from chain.contracts.networks import Address
from chain.execution.decode.titles import step_title
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.lookup import (
    ONE_ENDPOINT,
    Evidence,
    NonceState,
    Sighting,
    find_spender,
    find_verdict,
)
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch, Doubt, EndCode, Inclusion, PlanStep, StepState
from chain.execution.outbox.rules import check_not_over
from chain.execution.transaction import Authorization, SignedTransaction, UnsignedTransaction
from chain.rpc import requests
from chain.rpc.errors import NoEndpoint, RpcError, SendRefusal, SendRefused, SendUnclear
from chain.rpc.requests import Reader

_DYNAMIC_FEE, _SET_CODE, _AUTHORIZING = 2, 4, 5
_UNSIGNED_FIELDS = 9


class ChangedBytesError(OutboxError):
    """Signed bytes that are not what the journal keeps them as."""


def check_signed_bytes(signed: SignedTransaction) -> None:
    """Refuse to send anything but this very transaction: the journal lies on a disk."""
    try:
        intact = _is_of(signed)
    except Exception as error:
        raise _changed(signed.unsigned) from error
    if not intact:
        raise _changed(signed.unsigned)


def _is_of(signed: SignedTransaction) -> bool:
    from rlp.codec import decode

    raw, transaction = signed.raw, signed.unsigned
    given = transaction.authorization
    kind = _DYNAMIC_FEE if given is None else _SET_CODE
    if raw[0] != kind or "0x" + keccak(raw).hex() != signed.hash:
        return False
    told = decode(raw[1:])  # type: ignore[no-untyped-call]
    fields = _fields(transaction)
    if given is not None:
        (leave,) = told[_UNSIGNED_FIELDS]
        if not _lends(given, leave, given.lender or transaction.sender):
            return False
        fields.append([leave])
    unsigned, point = told[: len(fields)], told[len(fields) :]
    return list(unsigned) == fields and _signer(kind, fields, point) == transaction.sender


def _lends(given: Authorization, leave: Sequence[bytes], lender: Address) -> bool:
    fields = [
        _quantity(given.chain_id),
        bytes.fromhex(given.delegate.removeprefix("0x")),
        _quantity(given.nonce),
    ]
    return list(leave[:3]) == fields and _signer(_AUTHORIZING, fields, leave[3:]) == lender


def _signer(kind: int, fields: Sequence[object], point: Sequence[bytes]) -> Address | None:
    from rlp.codec import encode_raw

    parity, r, s = (int.from_bytes(data, "big") for data in point)
    encoded = bytes([kind]) + bytes(encode_raw(fields))  # type: ignore[no-untyped-call]
    return recovered_address(keccak(encoded), parity=parity, r=r, s=s)


def _fields(transaction: UnsignedTransaction) -> list[object]:
    return [
        _quantity(transaction.chain_id),
        _quantity(transaction.nonce),
        _quantity(transaction.max_priority_fee_per_gas),
        _quantity(transaction.max_fee_per_gas),
        _quantity(transaction.gas),
        bytes.fromhex(transaction.to.removeprefix("0x")),
        _quantity(transaction.value),
        transaction.data,
        [],
    ]


def _quantity(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _changed(transaction: UnsignedTransaction) -> ChangedBytesError:
    return ChangedBytesError(
        f"What is kept as the signed bytes of {step_title(transaction)} is not that transaction: "
        "something changed it on disk. It was not sent.",
        "See where things stand: zuno outbox",
    )


class NotThisWayError(NoEndpoint):
    """Bytes that were promised to a private endpoint, and another way, or none, is set now."""

    lasting = True

    def __init__(self, promised: str) -> None:
        super().__init__(
            f"It is sent through {promised} alone, and the settings do not name that now.",
            "Name it again under [send] in settings.toml, or in ZUNO_SEND_RPC.",
        )


class Route(Struct, frozen=True):
    endpoint: Reader
    private_host: str | None = None
    """Set when the settings name an endpoint for sends; the endpoint then is that one alone."""
    others: tuple[Reader, ...] = ()
    """Who gets the same bytes, too, once they have to be sent again: the first may swallow them."""

    def refusal(self, dispatch: Dispatch) -> NotThisWayError | None:
        """Why this dispatch may not go this way; anything may go a more private one."""
        promised = dispatch.private_host
        if promised is None or promised == self.private_host:
            return None
        return NotThisWayError(promised)


ALREADY_TAKEN = frozenset((SendRefusal.ALREADY_KNOWN, SendRefusal.NONCE_TOO_LOW))
"""Refusals that say nothing about failure: these very bytes may be what the node knows."""


class Handing(StrEnum):
    TAKEN = "taken"
    UNCLEAR = "unclear"
    REFUSED = "refused"
    NOT_SENT = "not sent"


_LONGEST_PAUSE = 5.0
_BEST_FIRST = (Handing.TAKEN, Handing.UNCLEAR, Handing.REFUSED, Handing.NOT_SENT)


class Observed(Struct, frozen=True):
    step: PlanStep
    standing: NonceState
    seen: Sighting


class DeliveredTransaction(Struct, frozen=True):
    step: PlanStep
    handing: Handing
    error: RpcError | None


_TRIED_AGAIN = (0.4, 1.0, 2.0)
"""Seconds before each further try, where a gateway refused in passing: the bytes are the same."""


async def hand_over(sends: Reader, raw: bytes) -> tuple[Handing, RpcError | None]:
    """Send once; what came of it, as far as the answer tells."""
    try:
        await sends.ask(requests.send_raw(raw))
    except SendUnclear as error:
        return Handing.UNCLEAR, error
    except SendRefused as error:
        if error.reason is SendRefusal.IN_FLIGHT:
            return Handing.NOT_SENT, error
        taken = error.reason in ALREADY_TAKEN
        return (Handing.UNCLEAR if taken else Handing.REFUSED), error
    except RpcError as error:
        return Handing.NOT_SENT, error
    return Handing.TAKEN, None


async def hand_over_to(sends: Sequence[Reader], raw: bytes) -> tuple[Handing, RpcError | None]:
    """Send the same bytes to each; the best that came of it, of equals the first.

    Where nobody has heard them they are sent again, unless nobody ever will.
    """
    for pause in (*_TRIED_AGAIN, None):
        outcomes = [await hand_over(each, raw) for each in sends]
        handing, error = min(outcomes, key=lambda outcome: _BEST_FIRST.index(outcome[0]))
        if handing is not Handing.NOT_SENT or error is None or error.lasting or pause is None:
            break
        await asyncio.sleep(max(pause, min(error.retry_after or pause, _LONGEST_PAUSE)))
    return handing, error


async def deliver(
    outbox: Outbox,
    reads: Reader,
    route: Route,
    dispatch: Dispatch,
    step: PlanStep,
    *,
    now: float,
    evidence: Evidence = ONE_ENDPOINT,
) -> DeliveredTransaction:
    """Send the newest signed bytes of a step, these and no others, and write down what is known."""
    check_not_over(outbox.dispatch(dispatch.hash))
    newest = step.newest
    if newest is None:
        raise OutboxError(f"{step.title} was never signed: there is nothing to send.")
    check_signed_bytes(newest.transaction)
    if (refusal := route.refusal(dispatch)) is not None:
        return DeliveredTransaction(step, Handing.NOT_SENT, refusal)
    again = newest.sent_at is not None
    endpoints = (route.endpoint, *(route.others if again else ()))
    handing, error = await hand_over_to(endpoints, newest.transaction.raw)
    if handing is Handing.NOT_SENT:
        return DeliveredTransaction(step, handing, error)
    if handing is Handing.REFUSED:
        # A node may refuse what another took: only a hash nobody knows was not taken.
        try:
            observed = await observe(outbox, reads, dispatch, step, now=now, evidence=evidence)
        except RpcError as silence:
            return DeliveredTransaction(step, Handing.UNCLEAR, silence)
        # What a private endpoint once took may be in its keeping, where nobody else can look.
        kept = route.private_host is not None and newest.sent_at is not None
        if observed.standing is NonceState.OTHER_CHAIN or (
            observed.standing is NonceState.MISSING and not kept
        ):
            reason = error.sentence if error else "a node refused it"
            step = outbox.mark_dropped(observed.step, now=now, reason=reason)
            return DeliveredTransaction(step, handing, error)
        return DeliveredTransaction(observed.step, Handing.UNCLEAR, error)
    reason = "" if error is None else error.sentence
    step = outbox.mark_sent(step, newest.transaction.hash, now=now, reason=reason)
    return DeliveredTransaction(step, handing, error)


_DOUBTS: dict[NonceState, tuple[Doubt, EndCode]] = {
    NonceState.REPLACED: (Doubt.NONCE_TAKEN, EndCode.NONCE_SPENT),
    NonceState.REPLACED_FOR_GOOD: (Doubt.NONCE_TAKEN, EndCode.NONCE_SPENT),
    NonceState.GONE: (Doubt.BLOCK_GONE, EndCode.STEP_GONE),
    NonceState.OTHER_CHAIN: (Doubt.OTHER_CHAIN, EndCode.OTHER_CHAIN),
}
"""What ends a plan once it was seen for long enough."""
_DISPROVED_BY_INCLUSION = frozenset((EndCode.NONCE_SPENT, EndCode.STEP_GONE))
"""Ends that were concluded from a transaction's absence, and are wrong once it is in a block."""


async def observe(
    outbox: Outbox,
    reads: Reader,
    dispatch: Dispatch,
    step: PlanStep,
    *,
    now: float,
    evidence: Evidence = ONE_ENDPOINT,
) -> Observed:
    """Look a step up and write down what changed; nothing is sent by looking.

    What endpoints do not agree on is not written down: they may catch up with one another.
    """
    found, seen = await find_verdict(reads, evidence, dispatch, step)
    if found in _DOUBTS:
        return await _doubted(
            outbox, reads, dispatch, Observed(step, found, seen), now=now, evidence=evidence
        )
    match found:
        case NonceState.INCLUDED | NonceState.FINAL:
            step = _included(outbox, step, seen, now=now)
            if dispatch.ended is not None and dispatch.ended.code in _DISPROVED_BY_INCLUSION:
                outbox.lift_end(dispatch.hash)
            if found is NonceState.FINAL:
                step = outbox.settle(step, now=now)
        case NonceState.PENDING:
            step = _sent(outbox, step, now=now)
        case NonceState.EXPIRED:
            reason = "no node has it and its deadline has passed"
            step = outbox.mark_dropped(step, now=now, reason=reason)
        case NonceState.MISSING if dispatch.ended is not None:
            step = outbox.mark_dropped(step, now=now, reason=dispatch.ended.code)
        case NonceState.MISSING:
            if step.state in (StepState.REPLACED, StepState.UNCLEAR):
                step = _sent(outbox, step, now=now)
        case _:
            pass
    return Observed(step, found, seen)


async def _doubted(
    outbox: Outbox,
    reads: Reader,
    dispatch: Dispatch,
    observed: Observed,
    *,
    now: float,
    evidence: Evidence,
) -> Observed:
    """A sign that a plan is over: believed once it lasted, a nonce as spent once who spent it is
    seen."""
    step, found, seen = observed.step, observed.standing, observed.seen
    doubt, code = _DOUBTS[found]
    # What ended a plan is not doubted again because it is looked at again.
    if dispatch.ended is None:
        if not _lasted(step, doubt, evidence, now):
            step = outbox.mark_unclear(step, doubt, now=now)
            return Observed(step, NonceState.UNCLEAR, seen)
        if code is EndCode.NONCE_SPENT:
            after, head = dispatch.anchor.number, seen.head.number
            spender = await find_spender(reads, step, after=after, head=head)
            if spender is None:
                step = outbox.mark_unclear(step, doubt, now=now)
                return Observed(step, NonceState.UNCLEAR, seen)
            if step.version_of(spender.hash) is not None:
                # It is in a block after all; its receipt is still to come.
                return Observed(_sent(outbox, step, now=now), NonceState.PENDING, seen)
    if found is NonceState.OTHER_CHAIN and evidence.embedded:
        code = EndCode.CHAIN_RESTARTED
    return Observed(_ended(outbox, step, found, code, now=now), found, seen)


def _lasted(step: PlanStep, doubt: Doubt, evidence: Evidence, now: float) -> bool:
    """Whether this was seen for so long that it is no lag between endpoints."""
    already = step.state is StepState.UNCLEAR and step.reason == doubt
    return not evidence.doubt_seconds or (
        already and now - step.changed_at >= evidence.doubt_seconds
    )


def _ended(
    outbox: Outbox, step: PlanStep, found: NonceState, code: EndCode, *, now: float
) -> PlanStep:
    """The step as it ends, and its plan with it."""
    if code is EndCode.NONCE_SPENT:
        reason = "its nonce was used by a transaction this journal does not know"
        step = outbox.mark_replaced(step, now=now, reason=reason)
    else:
        step = outbox.mark_dropped(step, now=now, reason=code)
    if found is NonceState.REPLACED_FOR_GOOD:
        step = outbox.settle(step, now=now)
    return outbox.end(step.dispatch, code, now=now).steps[step.position]


def _included(outbox: Outbox, step: PlanStep, seen: Sighting, *, now: float) -> PlanStep:
    receipt = seen.receipt
    if receipt is None:
        raise OutboxError(f"{step.title} cannot be included without a receipt.")
    inclusion = Inclusion(receipt.transaction_hash, receipt.block_number, receipt.block_hash)
    return outbox.mark_included(step, inclusion, succeeded=receipt.succeeded, now=now)


def _sent(outbox: Outbox, step: PlanStep, *, now: float) -> PlanStep:
    """Waiting for a block, for the first time or once more."""
    newest = step.newest
    if newest is None or step.state is StepState.SENT:
        return step
    taken_back = step.inclusion is not None or step.state is StepState.REPLACED
    reason = "its block was reorganised away" if taken_back else ""
    return outbox.mark_sent(step, newest.transaction.hash, now=now, reason=reason)
