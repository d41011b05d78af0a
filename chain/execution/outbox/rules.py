"""What the outbox lets through: one effect a plan, one nonce a step, an approval one use."""

import sqlite3
from collections.abc import Sequence
from itertools import pairwise

from chain.execution.outbox.approvals import read_approval
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.records import (
    HOLDS_NONCE,
    REPLACEABLE,
    SUCCEEDED,
    Dispatch,
    EndCode,
    PlannedDispatch,
    PlanStep,
    StepState,
    VersionKind,
)
from chain.execution.transaction import SignedTransaction, UnsignedTransaction

_REPLAN = "Make a new plan from where things stand: zuno recommend ID"


def least_dearer(fee: int) -> int:
    """The smallest fee that is 12.5 % above another, which every known pool takes."""
    return fee + -(-fee // 8)


def check_plan(planned: PlannedDispatch) -> None:
    transactions = [step.transaction for step in planned.steps]
    if not transactions:
        raise OutboxError("A plan without transactions has nothing to send.")
    for before, after in pairwise(transactions):
        if (after.chain_id, after.sender) != (before.chain_id, before.sender):
            raise OutboxError("All transactions of a plan are of one wallet on one chain.")
        if after.nonce != before.nonce + 1:
            # A node takes a gap without a word and lets the rest wait for ever.
            raise OutboxError("The transactions of a plan must have consecutive nonces.")


class PlanOverError(OutboxError):
    """A plan of which nothing may be signed or sent any more."""

    def __init__(self, dispatch: Dispatch, code: EndCode) -> None:
        super().__init__(
            f"Plan {dispatch.plan_id} is over: {END_WORDS[code]}. Nothing was sent.", _REPLAN
        )
        self.code = code


END_WORDS: dict[EndCode, str] = {
    EndCode.CHAIN_RESTARTED: "the chain was restarted since it was approved",
    EndCode.OTHER_CHAIN: "the chain is not the one it was approved on",
    EndCode.STEP_GONE: "a step that was in a block is in none any more",
    EndCode.NONCE_SPENT: "one of its nonces went to another transaction",
    EndCode.TAKEN_BACK: "its approval was taken back",
}


def check_not_over(dispatch: Dispatch) -> None:
    if dispatch.ended is not None:
        raise PlanOverError(dispatch, dispatch.ended.code)


def check_unspent(dispatch: Dispatch, siblings: Sequence[Dispatch]) -> None:
    """Refuse a plan of which another approval has, or may still have, an effect."""
    check_no_other_effect(dispatch, siblings)
    if any(step.state is not StepState.APPROVED for step in dispatch.steps):
        raise OutboxError("This plan was discarded. Nothing was sent.", _REPLAN)


def check_no_other_effect(dispatch: Dispatch, siblings: Sequence[Dispatch]) -> None:
    for sibling in siblings:
        if sibling.ended is not None and sibling.ended.code is EndCode.CHAIN_RESTARTED:
            continue
        for step in sibling.steps:
            if step.state is StepState.FINAL or (step.versions and not step.settled):
                raise OutboxError(
                    f"Plan {dispatch.plan_id} was applied before: its step {step.title}"
                    f" is {step.state}. Nothing was sent now.",
                    "See it: zuno outbox",
                )


def check_can_sign(dispatch: Dispatch, position: int, signed: SignedTransaction) -> None:
    step = dispatch.steps[position]
    if signed.unsigned != step.transaction:
        raise OutboxError(f"What was signed is not what was approved for {step.title}.")
    if dispatch.consumed_at is None:
        raise OutboxError("Nothing is signed before its approval is used.")
    if step.state is not StepState.APPROVED:
        raise OutboxError(f"{step.title} is {step.state} and is not signed a second time.")
    for earlier in dispatch.steps[:position]:
        if earlier.state not in SUCCEEDED:
            raise OutboxError(f"{step.title} waits for {earlier.title}, which is {earlier.state}.")


def check_can_replace(step: PlanStep) -> None:
    if step.settled or step.state not in REPLACEABLE:
        raise OutboxError(
            f"{step.title} is {step.state}: there is nothing to speed up or cancel.",
            "See where things stand: zuno outbox",
        )


def check_replacement(step: PlanStep, unsigned: UnsignedTransaction) -> VersionKind:
    """Which kind of replacement this is, or the refusal of one that is neither."""
    original = step.transaction
    if (unsigned.chain_id, unsigned.sender, unsigned.nonce) != (
        original.chain_id,
        original.sender,
        original.nonce,
    ):
        raise OutboxError("A replacement keeps the chain, the wallet and the nonce.")
    for version in step.versions:
        before = version.transaction.unsigned
        if unsigned.max_fee_per_gas < least_dearer(before.max_fee_per_gas) or (
            unsigned.max_priority_fee_per_gas < least_dearer(before.max_priority_fee_per_gas)
        ):
            raise OutboxError("A replacement must pay at least 12.5% more in both fees.")
    if (unsigned.to, unsigned.value, unsigned.data) == (unsigned.sender, 0, b""):
        return VersionKind.CANCEL
    if any(version.kind is VersionKind.CANCEL for version in step.versions):
        raise OutboxError(f"{step.title} is being cancelled and is not sent again.", _REPLAN)
    if (unsigned.to, unsigned.value, unsigned.data, unsigned.gas) != (
        original.to,
        original.value,
        original.data,
        original.gas,
    ):
        raise OutboxError("A replacement does the same as before, or nothing at all.")
    return VersionKind.SPEED_UP


def check_signature(signed: SignedTransaction) -> None:
    from chain.contracts.addresses import keccak

    if "0x" + keccak(signed.raw).hex() != signed.hash:
        raise OutboxError("The signed bytes do not have the hash that was given for them.")


def check_used(journal: sqlite3.Connection, approval: str) -> None:
    """Refuse what was signed without using its approval."""
    given = read_approval(journal, approval)
    if given is None or given.used_at is None:
        raise OutboxError("Nothing is signed before its approval is used.")


def claim_nonce(journal: sqlite3.Connection, dispatch: Dispatch, position: int) -> None:
    """Refuse a nonce that another plan's transaction has taken or may still take."""
    nonce = dispatch.steps[position].transaction.nonce
    holders = journal.execute(
        "SELECT d.plan_id, s.state FROM outbox_steps s JOIN outbox_dispatches d"
        " ON d.hash = s.dispatch WHERE d.chain_id = ? AND d.sender = ? AND s.nonce = ?"
        " AND s.settled = 0 AND s.dispatch != ?",
        (dispatch.chain_id, dispatch.sender, nonce, dispatch.hash),
    )
    for plan_id, state in holders:
        if StepState(state) in HOLDS_NONCE:
            raise OutboxError(
                f"Nonce {nonce} belongs to a transaction of plan {plan_id} that is {state}.",
                "Wait for it, or cancel it: zuno outbox cancel",
            )
