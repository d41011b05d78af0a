"""When what endpoints tell of an outcome is believed, and when it contradicts itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from chain.contracts.networks import NATIVE
from chain.execution.outbox.receipts import NativeChange, Realised
from chain.execution.outbox.records import Dispatch, EndCode, Inclusion, PlanEnd, StepState
from chain.rpc.errors import Malformed
from chain.rpc.records import Receipt
from tests.chain.execution.made_up_dispatches import dispatch
from tests.fakes.told_reader import ToldReader
from zuno_tui.gate.results import (
    ApplyResult,
    StepResult,
    _contradicted,
    _Effect,
    _tells_so,
    most_told,
)

if TYPE_CHECKING:
    from zuno_tui.gate.approvals import Approval

S = StepState
WALLET, ONE, TWO = "0x" + "aa" * 20, "0x" + "11" * 20, "0x" + "22" * 20
HERE, ELSEWHERE = "0x" + "b1" * 32, "0x" + "b2" * 32
INCLUSION = Inclusion("0xab", 7, HERE)
RECEIPT = Receipt("0xab", 0, 7, HERE, WALLET, ONE, None, True, 100, 100, 3, None, ())
NOTHING = Realised({}, NativeChange(0), 100, 300, (), ())


@pytest.mark.parametrize(
    ("state", "answer", "believed"),
    [
        (S.INCLUDED, RECEIPT, True),
        (S.FINAL, RECEIPT, True),
        (S.REVERTED, RECEIPT, False),
        (S.INCLUDED, replace(RECEIPT, succeeded=False), False),
        (S.REVERTED, replace(RECEIPT, succeeded=False), True),
        (S.REPLACED, RECEIPT, True),
        (S.REPLACED, replace(RECEIPT, succeeded=False), True),
        (S.INCLUDED, replace(RECEIPT, block_hash=ELSEWHERE), False),
        (S.REPLACED, replace(RECEIPT, block_hash=ELSEWHERE), False),
        (S.INCLUDED, None, False),
        (S.INCLUDED, Malformed("nothing", endpoint="x"), False),
    ],
)
async def test_an_endpoint_is_believed_that_tells_what_was_written_down(
    state: StepState, answer: object, believed: bool
) -> None:
    reader = ToldReader(lambda _method, _params: answer)

    assert await _tells_so(reader, dispatch(state).steps[0], INCLUSION) is believed


def test_what_most_endpoints_tell_counts_whoever_is_first() -> None:
    lie = replace(NOTHING, tokens={ONE: 5})
    other = replace(NOTHING, tokens={ONE: 6})
    assert most_told([NOTHING]) == (0, 1)
    assert most_told([lie, NOTHING, NOTHING]) == (1, 2)
    assert most_told([NOTHING, lie, NOTHING]) == (0, 2)
    assert most_told([lie, NOTHING, other]) == (0, 1)


def approved(quoted: dict[str, int] | None, *untold: str) -> Approval:
    return cast("Approval", SimpleNamespace(quoted=quoted, untold=untold))


def effects(
    plan: Dispatch,
    *did: tuple[dict[str, int], int | None],
    held: dict[str, int] | None = None,
    sound: bool = True,
) -> list[_Effect]:
    return [
        _Effect(step, replace(NOTHING, tokens=tokens, native=NativeChange(coin)), held or {}, sound)
        for step, (tokens, coin) in zip(plan.steps, did, strict=False)
    ]


NONE: tuple[dict[str, int], int] = ({}, 0)
DONE = dispatch(S.FINAL, S.INCLUDED)


@pytest.mark.parametrize(
    ("quoted", "did", "held", "contradicted"),
    [
        ({ONE: 5}, (NONE, NONE), {}, True),
        ({ONE: 5}, (({ONE: 4}, 0), NONE), {}, False),
        ({ONE: 5}, (NONE, ({ONE: 4}, 0)), {}, False),
        ({ONE: 5}, (NONE, NONE), {ONE: 4}, False),
        ({ONE: 5}, (NONE, NONE), {TWO: 4}, True),
        ({ONE: 5, TWO: -5}, (({TWO: -5}, 0), NONE), {}, False),
        ({NATIVE: 5}, (NONE, NONE), {}, True),
        ({NATIVE: 5}, (({}, 5), NONE), {}, False),
        ({NATIVE: 5}, (NONE, ({}, -5)), {}, False),
        # Nobody can say whether the coin moved: what is known decides.
        ({NATIVE: -5, ONE: 5}, (({}, None), NONE), {}, True),
        ({NATIVE: -5, ONE: 5}, (({}, None), NONE), {ONE: 5}, False),
        ({NATIVE: -5}, (({}, None), NONE), {}, False),
        ({ONE: 0}, (NONE, NONE), {}, False),
        ({}, (NONE, NONE), {}, False),
        (None, (NONE, NONE), {}, False),
    ],
)
def test_success_without_anything_that_was_shown_contradicts_itself(
    quoted: dict[str, int] | None,
    did: tuple[tuple[dict[str, int], int | None], ...],
    held: dict[str, int],
    contradicted: bool,
) -> None:
    found = _contradicted(approved(quoted), DONE, effects(DONE, *did, held=held))

    assert list(found) == (["transfer"] if contradicted else [])


def test_only_a_whole_plan_is_held_to_what_was_shown() -> None:
    shown = approved({ONE: 5})

    assert not _contradicted(shown, DONE, effects(DONE, NONE))
    stopped = dispatch(S.FINAL, S.REVERTED)
    assert not _contradicted(shown, stopped, effects(stopped, NONE, NONE))
    assert not _contradicted(approved({ONE: 5}, ONE), DONE, effects(DONE, NONE, NONE))
    unsound = effects(DONE, NONE, NONE, sound=False)
    assert list(_contradicted(shown, DONE, unsound)) == ["transfer", "transfer"]


def result(plan: Dispatch, *, contradicted: tuple[str, ...] = ()) -> ApplyResult:
    steps = tuple(StepResult(step, 1, 1) for step in plan.steps if step.state is not S.APPROVED)
    return ApplyResult(approved(None), plan, steps, {ONE: 5}, (), (), contradicted)


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
