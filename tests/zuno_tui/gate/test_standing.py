"""The name of where a plan stands."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chain.execution.outbox.records import Dispatch, EndCode, PlanEnd, StepState
from tests.chain.execution.made_up_dispatches import dispatch
from zuno_tui.gate.results import stands

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
