"""Every write of the outbox by itself: what it checks first, what it leaves, what it refuses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.heads import Genesis, Head
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import (
    Doubt,
    EndCode,
    Inclusion,
    PlanEnd,
    PlanStep,
    StepState,
    VersionKind,
)
from chain.execution.outbox.rules import (
    PlanOverError,
    check_can_replace,
    check_no_other_effect,
    check_replacement,
    check_unspent,
    least_dearer,
)
from chain.execution.transaction import SignedTransaction, UnsignedTransaction
from tests.chain.execution.made_up_dispatches import dispatch
from tests.chain.execution.outbox_kit import GWEI, dearer, planned, signed_by, transfer
from tests.chain.execution.told_node import sent

S = StepState
FIRST, SECOND = transfer(5, step="exit"), transfer(6, step="enter")
FASTER = dearer(FIRST)
NOTHING = replace(FASTER, to=FIRST.sender, value=0, data=b"", gas=21_000)
OTHER = "0x" + "66" * 20


def sign(transaction: UnsignedTransaction) -> SignedTransaction:
    return signed_by(DEMO_WALLET, transaction)


@pytest.fixture
def outbox() -> Iterator[Outbox]:
    with Outbox.in_memory() as opened:
        opened.plan(planned(FIRST, SECOND), now=1)
        opened.approve("hash", now=2)
        opened.consume("hash", now=3)
        yield opened


def first(outbox: Outbox) -> PlanStep:
    return outbox.dispatch("hash").steps[0]


def signed(outbox: Outbox) -> PlanStep:
    return outbox.record_signed("hash", 0, sign(FIRST), now=4)


def included(step: PlanStep, number: int = 9) -> Inclusion:
    assert step.newest is not None
    return Inclusion(step.newest.transaction.hash, number, f"0xb{number}")


def history(outbox: Outbox) -> list[tuple[int, StepState, str, float]]:
    changes = outbox.history("hash")
    return [(change.position, change.state, change.reason, change.at) for change in changes]


def test_a_plan_is_written_once_and_approved_step_by_step() -> None:
    with Outbox.in_memory() as outbox:
        plan = planned(FIRST, SECOND, deadline=77)
        made = outbox.plan(plan, now=1)
        assert outbox.plan(plan, now=9) == made == outbox.dispatch("hash")
        assert [(step.state, step.deadline, step.changed_at) for step in made.steps] == [
            (S.PLANNED, 77, 1),
            (S.PLANNED, 77, 1),
        ]
        assert (made.planned_at, made.expires_at, made.consumed_at) == (1, None, None)
        approved = outbox.approve("hash", now=2)
        assert (approved.expires_at, approved.consumed_at) == (602, None)
        assert {(step.state, step.changed_at) for step in approved.steps} == {(S.APPROVED, 2)}
        assert outbox.consume("hash", now=3).consumed_at == 3
        assert history(outbox) == [
            (0, S.PLANNED, "", 1),
            (1, S.PLANNED, "", 1),
            (0, S.APPROVED, "", 2),
            (1, S.APPROVED, "", 2),
        ]
        with pytest.raises(OutboxError, match="consecutive nonces"):
            outbox.plan(planned(SECOND, FIRST, hash="other"), now=1)
        assert len(outbox.dispatches()) == 1


def test_signed_bytes_are_written_down_as_the_first_version(outbox: Outbox) -> None:
    step = signed(outbox)
    assert (step.state, step.changed_at, len(step.versions)) == (S.SIGNED, 4, 1)
    (version,) = step.versions
    assert (version.kind, version.signed_at, version.sent_at) == (VersionKind.ORIGINAL, 4, None)
    assert version.transaction == sign(FIRST)
    sent = outbox.mark_sent(step, version.transaction.hash, now=5, reason="so")
    assert (sent.state, sent.reason, sent.versions[0].sent_at) == (S.SENT, "so", 5)
    again = outbox.mark_sent(sent, version.transaction.hash, now=6, reason="other")
    # When it was first sent and why stays; sending again is no change.
    assert (again.versions[0].sent_at, again.reason, again.changed_at) == (5, "so", 5)
    assert len(outbox.history("hash")) == 4 + 2


def test_nothing_is_signed_for_a_plan_that_is_over(outbox: Outbox) -> None:
    outbox._connection.execute(
        "INSERT INTO outbox_ends VALUES ('hash', ?, 5)", (EndCode.NONCE_SPENT,)
    )
    with pytest.raises(PlanOverError):
        signed(outbox)
    assert first(outbox).versions == ()


def test_a_later_step_of_a_plan_may_follow_whatever_another_approval_did(outbox: Outbox) -> None:
    """Only the first step is held against other approvals: with it the plan has begun."""
    step = signed(outbox)
    outbox.mark_included(step, included(step), succeeded=True, now=5)
    outbox.plan(planned(transfer(9), hash="again"), now=1)
    outbox._connection.execute("UPDATE outbox_steps SET state = 'final' WHERE dispatch = 'again'")
    assert outbox.record_signed("hash", 1, sign(SECOND), now=6).state is S.SIGNED
    with pytest.raises(OutboxError, match="applied before"):
        check_no_other_effect(outbox.dispatch("hash"), [outbox.dispatch("again")])


def test_what_replaces_a_step_is_checked_whenever_it_is_used(outbox: Outbox) -> None:
    step = signed(outbox)
    outbox.approve_replacement("hash", 0, FASTER, now=5)
    wrong = replace(sign(FASTER), raw=b"\1")
    outbox.consume_replacement("hash", 0, FASTER, now=6)
    with pytest.raises(OutboxError, match="do not have the hash"):
        outbox.record_replacement("hash", 0, wrong, now=7)
    made = outbox.record_replacement("hash", 0, sign(FASTER), now=7)
    assert (made.state, made.reason, made.changed_at) == (S.SIGNED, "speed-up signed", 7)
    assert [version.kind for version in made.versions] == [
        VersionKind.ORIGINAL,
        VersionKind.SPEED_UP,
    ]
    assert step.newest is not None
    outbox.mark_included(made, included(made), succeeded=True, now=8)
    for write in (outbox.approve_replacement, outbox.consume_replacement):
        with pytest.raises(OutboxError, match="nothing to speed up or cancel"):
            write("hash", 0, dearer(FASTER), now=9)
    with pytest.raises(OutboxError, match="nothing to speed up or cancel"):
        outbox.record_replacement("hash", 0, sign(dearer(FASTER)), now=9)


def test_a_nonce_that_another_plan_holds_is_not_taken_by_a_dearer_version(outbox: Outbox) -> None:
    step = signed(outbox)
    outbox.mark_dropped(step, now=5, reason="no node has it")
    outbox.plan(planned(transfer(5, value=7), hash="other", plan_id="other"), now=1)
    outbox.approve("other", now=2)
    outbox.consume("other", now=3)
    outbox.record_signed("other", 0, sign(transfer(5, value=7)), now=6)
    outbox.approve_replacement("hash", 0, FASTER, now=7)
    outbox.consume_replacement("hash", 0, FASTER, now=7)
    with pytest.raises(OutboxError, match="Nonce 5 belongs to a transaction of plan other that is"):
        outbox.record_replacement("hash", 0, sign(FASTER), now=8)


def test_of_a_plan_that_is_over_a_step_is_cancelled_and_not_sped_up(outbox: Outbox) -> None:
    signed(outbox)
    outbox.end("hash", EndCode.NONCE_SPENT, now=5)
    with pytest.raises(PlanOverError):
        outbox.approve_replacement("hash", 0, FASTER, now=6)
    outbox.approve_replacement("hash", 0, NOTHING, now=6)
    outbox.consume_replacement("hash", 0, NOTHING, now=6)
    cancelling = outbox.record_replacement("hash", 0, sign(NOTHING), now=7)
    assert cancelling.reason == f"{VersionKind.CANCEL} signed"
    done = outbox.mark_included(cancelling, included(cancelling), succeeded=False, now=8)
    assert (done.state, done.reason) == (S.REPLACED, "cancelled")


def test_what_is_in_a_block_is_one_of_its_versions(outbox: Outbox) -> None:
    step = signed(outbox)
    with pytest.raises(OutboxError, match="0xff is no version of close"):
        outbox.mark_included(step, Inclusion("0xff", 9, "0xb9"), succeeded=True, now=5)
    done = outbox.mark_included(step, included(step), succeeded=True, now=5)
    assert (done.state, done.reason, done.inclusion) == (S.INCLUDED, "", included(step))
    failed = outbox.mark_included(done, included(step), succeeded=False, now=6)
    assert (failed.state, failed.reason) == (S.REVERTED, "the chain ran it and it reverted")


@pytest.mark.parametrize(
    ("before", "reason", "changes"),
    [
        (S.SENT, "", True),
        (S.UNCLEAR, Doubt.NONCE_TAKEN, False),
        (S.UNCLEAR, Doubt.BLOCK_GONE, True),
    ],
)
def test_a_doubt_keeps_its_time_until_it_is_another(
    outbox: Outbox, before: StepState, reason: str, changes: bool
) -> None:
    signed(outbox)
    outbox._connection.execute(
        "UPDATE outbox_steps SET state = ?, reason = ?, changed_at = 5 WHERE position = 0",
        (before, reason),
    )
    step = outbox.mark_unclear(first(outbox), Doubt.NONCE_TAKEN, now=9)
    assert (step.state, step.reason) == (S.UNCLEAR, Doubt.NONCE_TAKEN)
    assert step.changed_at == (9 if changes else 5)


def test_the_same_block_again_is_no_change_and_another_is(outbox: Outbox) -> None:
    step = signed(outbox)
    one = outbox.mark_included(step, included(step), succeeded=True, now=5)
    assert outbox.mark_included(one, included(step), succeeded=True, now=6).changed_at == 5
    other = outbox.mark_included(one, included(step, 10), succeeded=True, now=7)
    assert (other.changed_at, other.inclusion) == (7, included(step, 10))
    # Who saw it in the first block only decides nothing any more.
    for late in (
        outbox.mark_replaced(one, now=8, reason="late"),
        outbox.mark_dropped(one, now=8, reason="late"),
        outbox.mark_unclear(one, Doubt.BLOCK_GONE, now=8),
        outbox.settle(one, now=8),
    ):
        assert late == other
    assert outbox.mark_replaced(other, now=9, reason="why").reason == "why"
    assert first(outbox).state is S.REPLACED


@pytest.mark.parametrize(
    ("state", "settled"),
    [(S.INCLUDED, S.FINAL), (S.REVERTED, S.REVERTED), (S.REPLACED, S.REPLACED)],
)
def test_what_is_final_is_settled_as_it_is(
    outbox: Outbox, state: StepState, settled: StepState
) -> None:
    step = signed(outbox)
    if state is S.REPLACED:
        decided = outbox.mark_replaced(step, now=5, reason="why")
    else:
        decided = outbox.mark_included(step, included(step), succeeded=state is S.INCLUDED, now=5)
    done = outbox.settle(decided, now=6)
    assert (done.state, done.settled, done.inclusion) == (settled, True, decided.inclusion)
    assert done.changed_at == (6 if state is S.INCLUDED else 5)
    assert outbox.settle(done, now=7) == done
    assert outbox.mark_dropped(done, now=8, reason="late") == done
    assert len(history(outbox)) == 4 + (3 if state is S.INCLUDED else 2)


def test_what_is_given_up_is_never_signed_and_what_is_signed_stays(outbox: Outbox) -> None:
    step = signed(outbox)
    given_up = outbox.discard_unsigned("hash", now=5, reason="why")
    assert given_up.steps[0] == step
    last = given_up.steps[1]
    assert (last.state, last.reason, last.settled, last.changed_at) == (S.DISCARDED, "why", True, 5)


@pytest.mark.parametrize("code", list(EndCode))
def test_a_plan_ends_once_and_a_restart_voids_what_was_signed(
    outbox: Outbox, code: EndCode
) -> None:
    signed(outbox)
    ended = outbox.end("hash", code, now=5)
    assert ended.ended == PlanEnd(code, 5)
    one, other = ended.steps
    assert (other.state, other.reason, other.settled) == (S.DISCARDED, code, True)
    voided = code is EndCode.CHAIN_RESTARTED
    assert (one.state, one.settled) == ((S.DROPPED, True) if voided else (S.SIGNED, False))
    assert one.reason == (code if voided else "")
    assert outbox.end("hash", EndCode.OTHER_CHAIN, now=6).ended == PlanEnd(code, 5)
    lifted = outbox.lift_end("hash")
    assert (lifted.ended, lifted.steps[1].state) == (None, S.DISCARDED)


@pytest.mark.parametrize("ending", [None, EndCode.CHAIN_RESTARTED])
def test_a_chain_that_begins_again_ends_its_plans_where_it_should(
    outbox: Outbox, ending: EndCode | None
) -> None:
    signed(outbox)
    outbox.plan(planned(replace(FIRST, chain_id=1), hash="elsewhere", plan_id="e"), now=1)
    chain = Genesis(31337, "0xg")
    outbox.note_head(chain, Head(100, "0x1"), now=4)
    outbox.begin_again(chain, Head(7, "0x7"), ending=ending, now=5)
    assert outbox.highest_head(chain) == Head(7, "0x7")
    ended = outbox.dispatch("hash")
    assert ended.ended == (None if ending is None else PlanEnd(ending, 5))
    assert ended.steps[0].state is (S.SIGNED if ending is None else S.DROPPED)
    assert outbox.dispatch("elsewhere").ended is None


def test_the_person_says_that_it_is_dealt_with(outbox: Outbox) -> None:
    assert outbox.resolve("hash", now=8).resolved_at == 8
    with pytest.raises(OutboxError, match="Nothing with the hash none"):
        outbox.dispatch("none")


def test_a_journal_on_disk_is_applied_by_one_at_a_time(tmp_path: Path) -> None:
    with (
        Outbox.in_memory() as memory,
        memory.hold_apply_lock() as alone,
        memory.hold_apply_lock() as too,
    ):
        assert (alone, too) == (True, True)
    with (
        Outbox.open(tmp_path / "outbox.db") as one,
        Outbox.open(tmp_path / "outbox.db") as other,
        one.hold_apply_lock() as alone,
        other.hold_apply_lock() as too,
    ):
        assert (alone, too) == (True, False)
    with pytest.raises(OutboxError, match="cannot be read"):
        one.dispatches()


@pytest.mark.parametrize(
    ("fee", "least"), [(0, 0), (1, 2), (7, 8), (8, 9), (9, 11), (16, 18), (1000, 1125)]
)
def test_a_fee_an_eighth_above_another_is_rounded_up(fee: int, least: int) -> None:
    assert least_dearer(fee) == least


VERSION = sent()[1].versions[0]


@pytest.mark.parametrize(
    ("state", "versions", "settled", "code", "has_effect"),
    [
        (S.APPROVED, (), False, None, False),
        (S.SIGNED, (VERSION,), False, None, True),
        (S.REVERTED, (VERSION,), True, None, False),
        (S.FINAL, (VERSION,), True, None, True),
        (S.FINAL, (), True, None, True),
        (S.DISCARDED, (), True, None, False),
        (S.SIGNED, (VERSION,), False, EndCode.NONCE_SPENT, True),
        (S.FINAL, (VERSION,), True, EndCode.CHAIN_RESTARTED, False),
        (S.FINAL, (VERSION,), True, EndCode.OTHER_CHAIN, True),
    ],
)
def test_another_approval_of_a_plan_that_has_an_effect_stands_in_its_way(
    state: StepState, versions: Any, settled: bool, code: EndCode | None, has_effect: bool
) -> None:
    plan = dispatch(S.APPROVED, S.APPROVED)
    made = dispatch(S.DISCARDED, state, settled=(0, 1) if settled else (0,))
    ended = None if code is None else PlanEnd(code, 5.0)
    sibling = replace(
        made, ended=ended, steps=(made.steps[0], replace(made.steps[1], versions=versions))
    )
    restarted = replace(
        dispatch(S.FINAL), ended=PlanEnd(EndCode.CHAIN_RESTARTED, 5.0), hash="restarted"
    )
    for siblings in ([sibling], [restarted, sibling]):
        if has_effect:
            with pytest.raises(OutboxError, match=f"its step transfer is {state}"):
                check_unspent(plan, siblings)
        else:
            check_unspent(plan, siblings)
    for discarded in (S.DISCARDED, S.SIGNED):
        with pytest.raises(OutboxError, match="This plan was discarded"):
            check_unspent(dispatch(S.APPROVED, discarded), [])


@pytest.mark.parametrize("state", list(StepState))
@pytest.mark.parametrize("settled", [False, True])
def test_what_may_be_replaced(state: StepState, settled: bool) -> None:
    (step,) = dispatch(state, settled=(0,) if settled else ()).steps
    if state in (S.SIGNED, S.SENT, S.DROPPED) and not settled:
        check_can_replace(step)
    else:
        with pytest.raises(OutboxError, match=f"is {state}: there is nothing to speed up"):
            check_can_replace(step)


def test_what_a_replacement_may_be(outbox: Outbox) -> None:
    step = signed(outbox)
    assert check_replacement(step, FASTER) is VersionKind.SPEED_UP
    assert check_replacement(step, NOTHING) is VersionKind.CANCEL
    fee, tip = FASTER.max_fee_per_gas, FASTER.max_priority_fee_per_gas
    assert (fee, tip) == (22_500_000_000, 1_125_000_000)
    refused: dict[str, tuple[dict[str, Any], ...]] = {
        "keeps the chain": ({"chain_id": 1}, {"sender": OTHER}, {"nonce": 6}),
        "at least 12.5% more": (
            {"max_fee_per_gas": fee - 1},
            {"max_priority_fee_per_gas": tip - 1},
        ),
        "does the same as before": (
            {"to": OTHER},
            {"value": 2},
            {"data": b"\1"},
            {"gas": 60_001},
            {"to": FIRST.sender, "value": 1},
            {"to": FIRST.sender, "value": 0, "data": b"\1"},
        ),
    }
    for words, changes in refused.items():
        for change in changes:
            with pytest.raises(OutboxError, match=words):
                check_replacement(step, replace(FASTER, **change))
    assert check_replacement(step, replace(FASTER, max_fee_per_gas=90 * GWEI)) is (
        VersionKind.SPEED_UP
    )


def test_a_replacement_is_dearer_than_every_version_and_nothing_undoes_a_cancellation(
    outbox: Outbox,
) -> None:
    step = signed(outbox)
    (version,) = step.versions
    for kind, unsigned in ((VersionKind.SPEED_UP, FASTER), (VersionKind.CANCEL, NOTHING)):
        later = replace(version, kind=kind, transaction=sign(unsigned))
        both = replace(step, versions=(version, later))
        with pytest.raises(OutboxError, match=r"at least 12\.5% more"):
            check_replacement(both, FASTER)
        assert check_replacement(both, dearer(NOTHING)) is VersionKind.CANCEL
        if kind is VersionKind.SPEED_UP:
            assert check_replacement(both, dearer(FASTER)) is kind
        else:
            with pytest.raises(OutboxError, match="close is being cancelled"):
                check_replacement(both, dearer(FASTER))


@pytest.mark.parametrize("succeeded", [True, False])
def test_that_a_block_held_a_step_once_is_not_forgotten(outbox: Outbox, succeeded: bool) -> None:
    step = signed(outbox)
    assert not step.was_included
    ran = outbox.mark_included(step, included(step), succeeded=succeeded, now=5)
    taken_back = outbox.mark_sent(ran, included(step).transaction_hash, now=6)
    assert (ran.was_included, taken_back.was_included, taken_back.inclusion) == (True, True, None)
    assert not outbox.dispatch("hash").steps[1].was_included


def test_what_was_cancelled_was_in_no_block(outbox: Outbox) -> None:
    assert not outbox.mark_replaced(signed(outbox), now=5, reason="why").was_included
