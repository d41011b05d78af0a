"""The name of where a plan stands, and which of several may be sent again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chain.execution.outbox.records import Dispatch, EndCode, PlanEnd, StepState
from chain.execution.outbox.resume import StepFinding, StepSituation
from tests.chain.execution.made_up_dispatches import dispatch
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.results import stands
from zuno_tui.gate.resume import _one_missing

S = StepState
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


def finding(plan: Dispatch, situation: StepSituation = StepSituation.NOT_SENT) -> StepFinding:
    return StepFinding(plan, plan.steps[0], situation, "So it is.")


FIRST, SECOND = dispatch(S.SIGNED, plan_id="first"), dispatch(S.SIGNED, plan_id="second")


def test_the_one_that_waits_is_meant_and_of_several_the_one_that_is_named() -> None:
    waits = finding(SECOND)
    pending = finding(FIRST, StepSituation.PENDING)

    assert _one_missing((pending, waits), None) is waits
    assert _one_missing((finding(FIRST), waits), "second") is waits
    assert _one_missing((waits, finding(SECOND)), None) is waits
    with pytest.raises(GateRefusedError, match="first, second"):
        _one_missing((finding(FIRST), waits), None)


@pytest.mark.parametrize(
    ("plan_id", "situation", "told"),
    [
        (None, StepSituation.PENDING, "^Nothing waits"),
        (
            "second",
            StepSituation.PENDING,
            "^Nothing of second waits to be sent again. It stands here",
        ),
        (
            "first",
            StepSituation.PENDING,
            "^Nothing of first waits to be sent again. Nothing was sent",
        ),
        ("second", StepSituation.OVER, "^So it is. Make a new plan"),
        (None, StepSituation.OVER, "^So it is. Make a new plan"),
    ],
)
def test_why_nothing_waits_is_said(
    plan_id: str | None, situation: StepSituation, told: str
) -> None:
    with pytest.raises(GateRefusedError, match=told):
        _one_missing((finding(SECOND, situation),), plan_id)
