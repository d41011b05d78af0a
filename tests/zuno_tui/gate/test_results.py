"""What came of plans, where they stand, and which of them waits."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.receipts import NativeChange, Realised
from chain.execution.outbox.records import (
    Dispatch,
    EndCode,
    Inclusion,
    PlanEnd,
    PlanStep,
    StepState,
)
from tests.chain.execution.made_up_dispatches import dispatch
from tests.chain.execution.outbox_kit import planned, signed_by, transfer
from tests.zuno_tui.gate.test_approvals import UNSEALED
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.results import ApplyResult, StepResult, most_told, stands
from zuno_tui.gate.resume import waiting_dispatch

S = StepState
ONE = "0x" + "11" * 20
NOTHING = Realised({}, NativeChange(0), 100, 300, (), ())


def test_what_most_endpoints_tell_counts_whoever_is_first() -> None:
    lie = replace(NOTHING, tokens={ONE: 5})
    other = replace(NOTHING, tokens={ONE: 6})
    assert most_told([NOTHING]) == (0, 1)
    assert most_told([lie, NOTHING, NOTHING]) == (1, 2)
    assert most_told([NOTHING, lie, NOTHING]) == (0, 2)
    assert most_told([lie, NOTHING, other]) == (0, 1)


DONE = dispatch(S.FINAL, S.INCLUDED)


def result(plan: Dispatch, *, contradicted: tuple[str, ...] = ()) -> ApplyResult:
    steps = tuple(StepResult(step, 1, 1) for step in plan.steps if step.state is not S.APPROVED)
    return ApplyResult(replace(UNSEALED, quoted=None), plan, steps, {ONE: 5}, (), (), contradicted)


OVER = replace(DONE, ended=PlanEnd(EndCode.NONCE_SPENT, 5.0))


@pytest.mark.parametrize(
    ("found", "state", "done"),
    [
        (result(DONE), "included", True),
        (result(dispatch(S.FINAL, S.FINAL)), "final", True),
        (result(dispatch(S.FINAL, S.REVERTED)), "reverted", False),
        (result(dispatch(S.FINAL, S.UNCLEAR)), "unclear", False),
        (result(dispatch(S.FINAL, S.APPROVED)), "approved", False),
        (result(DONE, contradicted=("exit",)), "unclear", False),
        (result(OVER), "over: nonce spent elsewhere", False),
        (result(OVER, contradicted=("exit",)), "unclear", False),
    ],
)
def test_where_a_plan_stands_afterwards(found: ApplyResult, state: str, done: bool) -> None:
    assert (str(found.state), found.is_done) == (state, done)
    assert found.unclear is (state == "unclear")
    assert not found.unclear or found.safe_state is None
    assert found.without_doubtful_amounts.realised == {ONE: None if found.unclear else 5}


FINISHED = dispatch(S.FINAL, S.FINAL)


@pytest.mark.parametrize(
    ("plan", "name"),
    [
        (replace(FINISHED, ended=PlanEnd(EndCode.STEP_GONE, 5.0)), "over: included step gone"),
        (replace(dispatch(S.APPROVED), consumed_at=None), "approved, not applied"),
        (dispatch(S.FINAL, S.REVERTED), "closed, both tokens in the wallet"),
        (dispatch(S.REVERTED, S.FINAL, included=(1,)), "transfer reverted"),
        (FINISHED, "final"),
        (dispatch(S.FINAL, S.INCLUDED), "included"),
        (dispatch(S.INCLUDED, S.INCLUDED), "included"),
        (dispatch(S.SENT, S.APPROVED), "under way"),
        (dispatch(S.FINAL, S.SENT, S.APPROVED), "under way"),
        (dispatch(S.APPROVED, S.APPROVED), "approved"),
    ],
)
def test_where_a_plan_stands(plan: Dispatch, name: str) -> None:
    assert stands(plan) == name


def test_an_approval_nobody_used_in_time_has_lapsed() -> None:
    unused = replace(dispatch(S.APPROVED), consumed_at=None, expires_at=600.0)

    assert stands(unused, 599.0) == "approved, not applied"
    assert stands(unused, 600.0) == "approval lapsed, nothing sent"
    assert stands(replace(unused, consumed_at=500.0), 700.0) == "approved"


CHAIN, OTHER_CHAIN = 31337, 8453


@pytest.fixture
def outbox() -> Iterator[Outbox]:
    with Outbox.in_memory() as opened:
        yield opened


def sent(outbox: Outbox, plan_id: str, nonce: int) -> PlanStep:
    plan = planned(transfer(nonce), plan_id=plan_id, hash=f"hash of {plan_id}")
    outbox.plan(plan, now=nonce)
    outbox.approve(plan.hash, now=nonce)
    outbox.consume(plan.hash, now=nonce)
    signed = signed_by(DEMO_WALLET, plan.steps[0].transaction)
    step = outbox.record_signed(plan.hash, 0, signed, now=nonce)
    return outbox.mark_sent(step, signed.hash, now=nonce)


def include(outbox: Outbox, step: PlanStep) -> None:
    assert step.newest is not None
    inclusion = Inclusion(step.newest.transaction.hash, 9, "0x" + "ab" * 32)
    outbox.mark_included(step, inclusion, succeeded=True, now=50)


def test_without_a_name_it_is_the_only_one_that_waits(outbox: Outbox) -> None:
    include(outbox, sent(outbox, "first", 0))
    sent(outbox, "second", 1)

    assert waiting_dispatch(outbox, CHAIN, None).plan_id == "second"


def test_among_several_it_must_be_named(outbox: Outbox) -> None:
    sent(outbox, "first", 0)
    sent(outbox, "second", 1)

    with pytest.raises(GateRefusedError, match="first, second"):
        waiting_dispatch(outbox, CHAIN, None)
    assert waiting_dispatch(outbox, CHAIN, "first").plan_id == "first"
    assert waiting_dispatch(outbox, CHAIN, "second").plan_id == "second"


@pytest.mark.parametrize("plan_id", [None, "first", "unknown"])
def test_what_does_not_wait_here_is_refused(outbox: Outbox, plan_id: str | None) -> None:
    with pytest.raises(GateRefusedError, match="waits to be included"):
        waiting_dispatch(outbox, CHAIN, plan_id)
    step = sent(outbox, "first", 0)
    with pytest.raises(GateRefusedError, match="waits to be included"):
        waiting_dispatch(outbox, OTHER_CHAIN, plan_id)
    include(outbox, step)
    with pytest.raises(GateRefusedError, match="waits to be included"):
        waiting_dispatch(outbox, CHAIN, plan_id)
