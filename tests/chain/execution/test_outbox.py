"""The journal: what it lets through, what it refuses, and that it is on disk when it says so."""

import pytest
from msgspec.structs import replace

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import (
    EndCode,
    Inclusion,
    PlannedDispatch,
    PlanStep,
    StepState,
)
from chain.execution.outbox.rules import PlanOverError
from chain.execution.transaction import SignedTransaction, UnsignedTransaction
from tests.chain.execution.outbox_kit import dearer, planned, signed_by, transfer

BLOCK = "0x" + "ab" * 32


def sign(transaction: UnsignedTransaction) -> SignedTransaction:
    return signed_by(DEMO_WALLET, transaction)


def applied(outbox: Outbox, plan: PlannedDispatch) -> PlanStep:
    """A plan whose first step is signed."""
    outbox.plan(plan, now=0)
    outbox.approve(plan.hash, now=0)
    outbox.consume(plan.hash, now=1)
    return outbox.record_signed(plan.hash, 0, sign(plan.steps[0].transaction), now=2)


def included(step: PlanStep) -> Inclusion:
    assert step.newest is not None
    return Inclusion(step.newest.transaction.hash, 9, BLOCK)


def test_a_step_walks_from_planned_to_final_and_its_history_tells(outbox: Outbox) -> None:
    step = applied(outbox, planned(transfer(0)))
    version = step.newest
    assert version is not None
    step = outbox.mark_sent(step, version.transaction.hash, now=3)
    step = outbox.mark_included(step, included(step), succeeded=True, now=4)
    step = outbox.settle(step, now=5)
    assert step.state is StepState.FINAL
    assert step.settled
    assert step.inclusion == Inclusion(version.transaction.hash, 9, BLOCK)
    assert [(change.state, change.at) for change in outbox.history("hash")] == [
        (StepState.PLANNED, 0),
        (StepState.APPROVED, 0),
        (StepState.SIGNED, 2),
        (StepState.SENT, 3),
        (StepState.INCLUDED, 4),
        (StepState.FINAL, 5),
    ]
    assert outbox.dispatch("hash").is_finished
    assert outbox.unresolved_dispatches() == ()


def test_an_approval_is_used_once(outbox: Outbox) -> None:
    outbox.plan(planned(transfer(0)), now=0)
    with pytest.raises(OutboxError, match="never approved"):
        outbox.consume("hash", now=1)
    outbox.approve("hash", now=0)
    outbox.consume("hash", now=1)
    with pytest.raises(OutboxError, match="used already"):
        outbox.consume("hash", now=1)
    with pytest.raises(OutboxError, match="used once"):
        outbox.approve("hash", now=2)


@pytest.mark.parametrize(("age", "allowed"), [(599.9, True), (600.0, False), (1e9, False)])
def test_an_approval_lasts_ten_minutes(outbox: Outbox, age: float, allowed: bool) -> None:
    outbox.plan(planned(transfer(0)), now=1000)
    outbox.approve("hash", now=1000)
    if allowed:
        outbox.consume("hash", now=1000 + age)
    else:
        with pytest.raises(OutboxError, match="older than ten minutes"):
            outbox.consume("hash", now=1000 + age)
        assert outbox.dispatch("hash").consumed_at is None


def test_approving_one_never_signs_another(outbox: Outbox) -> None:
    outbox.plan(planned(transfer(0)), now=0)
    outbox.plan(planned(transfer(0, value=2), hash="other", plan_id="other"), now=0)
    outbox.approve("hash", now=0)
    outbox.consume("hash", now=0)
    with pytest.raises(OutboxError, match="not what was approved"):
        outbox.record_signed("hash", 0, sign(transfer(0, value=2)), now=0)
    with pytest.raises(OutboxError, match="before its approval"):
        outbox.record_signed("other", 0, sign(transfer(0, value=2)), now=0)
    with pytest.raises(OutboxError, match="Nothing with the hash"):
        outbox.consume("a third", now=0)


def test_a_plan_approved_twice_has_one_effect(outbox: Outbox) -> None:
    first = planned(transfer(0))
    outbox.plan(planned(transfer(0, fee=10**11), hash="again"), now=0)
    outbox.approve("again", now=0)
    step = applied(outbox, first)
    with pytest.raises(OutboxError, match="applied before"):
        outbox.consume("again", now=1)
    step = outbox.mark_included(step, included(step), succeeded=True, now=4)
    outbox.settle(step, now=5)
    with pytest.raises(OutboxError, match="applied before"):
        outbox.consume("again", now=6)


def test_of_two_approvals_used_at_once_one_is_signed(outbox: Outbox) -> None:
    """As where two processes apply one plan, and the first is slow to sign."""
    outbox.plan(planned(transfer(0)), now=0)
    outbox.approve("hash", now=0)
    outbox.consume("hash", now=0)
    applied(outbox, planned(transfer(1), hash="again"))
    with pytest.raises(OutboxError, match="applied before"):
        outbox.record_signed("hash", 0, sign(transfer(0)), now=3)


def test_a_plan_that_had_no_effect_may_be_applied_again(outbox: Outbox) -> None:
    step = applied(outbox, planned(transfer(0)))
    step = outbox.mark_included(step, included(step), succeeded=False, now=4)
    assert step.state is StepState.REVERTED
    outbox.plan(planned(transfer(1), hash="again"), now=0)
    outbox.approve("again", now=0)
    with pytest.raises(OutboxError, match="applied before"):
        outbox.consume("again", now=1)
    outbox.settle(step, now=5)
    assert outbox.consume("again", now=6).consumed_at == 6


def test_a_step_is_signed_once_and_in_turn(outbox: Outbox) -> None:
    plan = planned(transfer(0, step="exit"), transfer(1, step="enter"))
    step = applied(outbox, plan)
    with pytest.raises(OutboxError, match="waits for close"):
        outbox.record_signed("hash", 1, sign(plan.steps[1].transaction), now=3)
    with pytest.raises(OutboxError, match="not signed a second time"):
        outbox.record_signed("hash", 0, sign(plan.steps[0].transaction), now=3)
    outbox.mark_included(step, included(step), succeeded=True, now=4)
    signed = outbox.record_signed("hash", 1, sign(plan.steps[1].transaction), now=5)
    assert signed.state is StepState.SIGNED


def test_a_nonce_belongs_to_one_plan_at_a_time(outbox: Outbox) -> None:
    held = applied(outbox, planned(transfer(0)))
    other = planned(transfer(0, value=7), hash="other", plan_id="other")
    outbox.plan(other, now=0)
    outbox.approve("other", now=0)
    outbox.consume("other", now=0)
    with pytest.raises(OutboxError, match="Nonce 0 belongs"):
        outbox.record_signed("other", 0, sign(transfer(0, value=7)), now=3)
    outbox.mark_dropped(held, now=4, reason="no node has it")
    taken = outbox.record_signed("other", 0, sign(transfer(0, value=7)), now=5)
    assert taken.state is StepState.SIGNED


def test_gaps_and_strangers_are_refused(outbox: Outbox) -> None:
    for nonce in (4, 5, 7):
        with pytest.raises(OutboxError, match="consecutive"):
            outbox.plan(planned(transfer(5), transfer(nonce)), now=0)
    for other in (replace(transfer(6), chain_id=1), replace(transfer(6), sender="0x" + "66" * 20)):
        with pytest.raises(OutboxError, match="one wallet on one chain"):
            outbox.plan(planned(transfer(5), other), now=0)
    with pytest.raises(OutboxError, match="without transactions"):
        outbox.plan(replace(planned(transfer(0)), steps=()), now=0)


def test_bytes_under_a_wrong_hash_are_refused(outbox: Outbox) -> None:
    signed = sign(transfer(0))
    outbox.plan(planned(transfer(0)), now=0)
    outbox.approve("hash", now=0)
    outbox.consume("hash", now=0)
    wrong = SignedTransaction(signed.unsigned, signed.raw + b"\0", signed.hash)
    with pytest.raises(OutboxError, match="do not have the hash"):
        outbox.record_signed("hash", 0, wrong, now=0)


def test_a_replacement_is_approved_and_used_once(outbox: Outbox) -> None:
    step = applied(outbox, planned(transfer(0)))
    faster = dearer(transfer(0))
    with pytest.raises(OutboxError, match="never approved"):
        outbox.consume_replacement("hash", 0, faster, now=3)
    with pytest.raises(OutboxError, match="before its approval"):
        outbox.record_replacement("hash", 0, sign(faster), now=3)
    outbox.approve_replacement("hash", 0, faster, now=3)
    with pytest.raises(OutboxError, match="before its approval"):
        outbox.record_replacement("hash", 0, sign(faster), now=3)
    with pytest.raises(OutboxError, match="older than ten minutes"):
        outbox.consume_replacement("hash", 0, faster, now=603)
    outbox.consume_replacement("hash", 0, faster, now=4)
    with pytest.raises(OutboxError, match="used already"):
        outbox.consume_replacement("hash", 0, faster, now=4)
    step = outbox.record_replacement("hash", 0, sign(faster), now=4)
    assert [version.kind for version in step.versions] == ["original", "speed-up"]
    with pytest.raises(OutboxError):
        outbox.record_replacement("hash", 0, sign(faster), now=5)


def test_a_reorg_takes_a_state_back_until_it_is_settled(outbox: Outbox) -> None:
    step = applied(outbox, planned(transfer(0)))
    assert step.newest is not None
    sent = step.newest.transaction.hash
    step = outbox.mark_included(step, included(step), succeeded=True, now=4)
    step = outbox.mark_sent(step, sent, now=5, reason="its block was reorganised away")
    assert (step.state, step.inclusion) == (StepState.SENT, None)
    step = outbox.mark_included(step, included(step), succeeded=True, now=6)
    stale = step
    step = outbox.settle(step, now=7)
    assert outbox.mark_sent(stale, sent, now=8).state is StepState.FINAL
    assert outbox.mark_dropped(stale, now=8, reason="late").state is StepState.FINAL


def test_a_decision_made_without_a_newer_version_is_not_taken(outbox: Outbox) -> None:
    stale = applied(outbox, planned(transfer(0)))
    outbox.approve_replacement("hash", 0, dearer(transfer(0)), now=3)
    outbox.consume_replacement("hash", 0, dearer(transfer(0)), now=3)
    outbox.record_replacement("hash", 0, sign(dearer(transfer(0))), now=4)
    assert outbox.mark_dropped(stale, now=5, reason="unseen").state is StepState.SIGNED


def test_a_step_seen_before_it_moved_on_settles_nothing(outbox: Outbox) -> None:
    step = applied(outbox, planned(transfer(0)))
    first = outbox.mark_included(step, included(step), succeeded=True, now=4)
    other = replace(included(step), block_number=11, block_hash="0x" + "cd" * 32)
    moved = outbox.mark_included(first, other, succeeded=True, now=5)
    assert not outbox.settle(first, now=6).settled
    assert outbox.settle(moved, now=7).settled
    assert outbox.settle(moved, now=8).state is StepState.FINAL


def test_a_plan_left_half_done_is_shown_until_it_is_resolved(outbox: Outbox) -> None:
    plan = planned(transfer(0, step="exit"), transfer(1, step="enter"))
    step = applied(outbox, plan)
    step = outbox.mark_included(step, included(step), succeeded=True, now=4)
    outbox.settle(step, now=5)
    dispatch = outbox.discard_unsigned("hash", now=6, reason="its deadline passed")
    assert dispatch.is_finished
    assert dispatch.half_done
    assert dispatch.stopped_at is not None
    assert dispatch.stopped_at.safe_state == "closed, both tokens in the wallet"
    assert outbox.unresolved_dispatches() == (dispatch,)
    outbox.resolve("hash", now=7)
    assert outbox.unresolved_dispatches() == ()


def test_the_approval_of_a_plan_that_is_over_cannot_be_spent(outbox: Outbox) -> None:
    outbox.plan(planned(transfer(0)), now=0)
    outbox.approve("hash", now=0)
    outbox.end("hash", EndCode.CHAIN_RESTARTED, now=1)
    with pytest.raises(PlanOverError) as refused:
        outbox.consume("hash", now=2)
    assert refused.value.code is EndCode.CHAIN_RESTARTED
    assert outbox.dispatch("hash").consumed_at is None


def test_what_was_discarded_is_never_signed(outbox: Outbox) -> None:
    outbox.plan(planned(transfer(0)), now=0)
    outbox.approve("hash", now=0)
    outbox.consume("hash", now=0)
    outbox.discard_unsigned("hash", now=1, reason="left by a process that ended")
    with pytest.raises(OutboxError, match="discarded"):
        outbox.record_signed("hash", 0, sign(transfer(0)), now=2)
