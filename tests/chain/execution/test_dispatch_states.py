"""What the states of its steps make of a plan, and what a person may do about each."""

import pytest
from msgspec.structs import replace

from chain.execution.outbox.journal import OutboxError, move_step
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import (
    HOLDS_NONCE,
    NEXT_STATES,
    REPLACEABLE,
    STOPPED,
    SUCCEEDED,
    Dispatch,
    EndCode,
    PlanEnd,
    StepState,
)
from chain.execution.outbox.resume import CHOICES, ResumeChoice, StepSituation
from tests.chain.execution.made_up_dispatches import dispatch
from tests.chain.execution.outbox_kit import HALF_WAY, NOTHING_HAPPENED, planned, transfer

OUT = frozenset(StepState) - {StepState.PLANNED, StepState.APPROVED, StepState.DISCARDED}


S = StepState


@pytest.mark.parametrize(
    ("plan", "stopped", "half_done", "safe_state"),
    [
        (dispatch(S.SENT, S.APPROVED), None, False, None),
        (dispatch(S.FINAL, S.INCLUDED), None, False, None),
        (dispatch(S.REVERTED, S.DISCARDED), 0, False, NOTHING_HAPPENED),
        (dispatch(S.FINAL, S.REVERTED), 1, True, HALF_WAY),
        (dispatch(S.INCLUDED, S.DROPPED), 1, True, HALF_WAY),
        (dispatch(S.INCLUDED, S.REPLACED, included=(1,)), 1, True, HALF_WAY),
        (dispatch(S.UNCLEAR, S.REVERTED), 1, False, None),
        (dispatch(S.SENT, S.DISCARDED), 1, False, None),
        (dispatch(S.REPLACED, S.FINAL, included=(1,)), 0, False, None),
        (dispatch(S.DROPPED, S.DROPPED, included=(1,)), 0, False, None),
        (dispatch(S.REVERTED, S.REVERTED, included=(0, 1)), 0, False, NOTHING_HAPPENED),
        (dispatch(S.FINAL, S.REVERTED, S.REVERTED, S.FINAL, included=(3,)), 1, True, None),
        (dispatch(S.FINAL, S.FINAL, S.REVERTED, included=(0, 1)), 2, True, HALF_WAY),
    ],
)
def test_where_a_plan_leaves_a_person(
    plan: Dispatch, stopped: int | None, half_done: bool, safe_state: str | None
) -> None:
    assert (None if plan.stopped_at is None else plan.stopped_at.position) == stopped
    assert (plan.half_done, plan.safe_state) == (half_done, safe_state)
    over = replace(plan, ended=PlanEnd(EndCode.STEP_GONE, 5.0))
    assert over.safe_state is None


def test_when_a_plan_needs_attention() -> None:
    whole = dispatch(S.FINAL, S.FINAL, settled=(0, 1))
    half = dispatch(S.FINAL, S.REVERTED, settled=(0, 1))
    over = replace(whole, ended=PlanEnd(EndCode.STEP_GONE, 5.0))

    assert (whole.is_finished, dispatch(S.FINAL, S.FINAL, settled=(0,)).is_finished) == (
        True,
        False,
    )
    assert not whole.needs_attention
    assert dispatch(S.FINAL, S.SENT, settled=(0,)).needs_attention
    for open_one in (half, over):
        assert open_one.needs_attention
        assert not replace(open_one, resolved_at=9.0).needs_attention
        assert not replace(open_one, consumed_at=None).needs_attention


def test_what_left_the_desk_is_wherever_the_chain_says_and_what_is_final_stays() -> None:
    assert NEXT_STATES.keys() == set(StepState)
    assert NEXT_STATES[S.PLANNED] == {S.APPROVED, S.DISCARDED}
    assert NEXT_STATES[S.APPROVED] == {S.SIGNED, S.DISCARDED}
    assert NEXT_STATES[S.FINAL] == NEXT_STATES[S.DISCARDED] == frozenset()
    assert all(NEXT_STATES[state] == OUT for state in OUT - {S.FINAL})
    assert {S.INCLUDED, S.FINAL} == SUCCEEDED
    assert {S.REVERTED, S.REPLACED, S.DROPPED, S.DISCARDED} == STOPPED
    assert {S.SIGNED, S.SENT, S.DROPPED} == REPLACEABLE
    assert OUT - {S.REPLACED, S.DROPPED} == HOLDS_NONCE


@pytest.mark.parametrize("before", list(StepState))
def test_a_step_moves_only_where_it_may(before: StepState) -> None:
    plan = planned(transfer(0))
    for after in StepState:
        with Outbox.in_memory() as outbox:
            outbox.plan(plan, now=0)
            step = replace(outbox.dispatch(plan.hash).steps[0], state=before)
            settled = replace(step, settled=True)
            with pytest.raises(OutboxError, match="cannot become"):
                move_step(outbox._connection, settled, after, now=1)
            if after in NEXT_STATES[before]:
                move_step(outbox._connection, step, after, now=1, reason="so")
                moved = outbox.dispatch(plan.hash).steps[0]
                assert (moved.state, moved.reason, moved.changed_at) == (after, "so", 1)
            else:
                with pytest.raises(OutboxError, match="cannot become"):
                    move_step(outbox._connection, step, after, now=1)
                assert outbox.dispatch(plan.hash).steps[0].state is StepState.PLANNED


@pytest.mark.parametrize(
    ("choice", "situations"),
    [
        (ResumeChoice.SEND_AGAIN, {StepSituation.NOT_SENT}),
        (
            ResumeChoice.SPEED_UP,
            {StepSituation.NOT_SENT, StepSituation.PENDING, StepSituation.DROPPED},
        ),
        (
            ResumeChoice.CANCEL,
            {
                StepSituation.NOT_SENT,
                StepSituation.PENDING,
                StepSituation.PENDING_TOO_LATE,
                StepSituation.DROPPED,
            },
        ),
        (
            ResumeChoice.WAIT,
            {
                StepSituation.BEING_APPLIED,
                StepSituation.PENDING,
                StepSituation.UNCLEAR,
                StepSituation.INCLUDED,
                StepSituation.UNKNOWN,
            },
        ),
        (
            ResumeChoice.NEW_PLAN,
            {
                StepSituation.NEVER_SIGNED,
                StepSituation.REVERTED,
                StepSituation.CANCELLED,
                StepSituation.REPLACED,
                StepSituation.DROPPED,
                StepSituation.OVER,
            },
        ),
    ],
)
def test_what_may_be_done_where(choice: ResumeChoice, situations: set[StepSituation]) -> None:
    assert {one for one, choices in CHOICES.items() if choice in choices} == situations
    assert CHOICES.keys() == set(StepSituation)
    assert CHOICES[StepSituation.FINAL] == ()
