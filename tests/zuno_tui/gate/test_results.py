"""When what endpoints tell of an outcome is believed, and when it contradicts itself."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chain.execution.outbox.receipts import NativeChange, Realised
from chain.execution.outbox.records import Dispatch, EndCode, PlanEnd, StepState
from tests.chain.execution.made_up_dispatches import dispatch
from tests.zuno_tui.gate.test_approvals import UNSEALED
from zuno_tui.gate.results import (
    ApplyResult,
    StepResult,
    most_told,
)

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
    assert (str(found.state), found.done) == (state, done)
    assert found.unclear is (state == "unclear")
    assert not found.unclear or found.safe_state is None
    assert found.without_doubtful_amounts.realised == {ONE: None if found.unclear else 5}
