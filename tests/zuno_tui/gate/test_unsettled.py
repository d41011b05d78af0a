"""What a person hears of unasked, what is said once, and where a plan that stopped left things."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.contracts.networks import NATIVE, network_named
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.receipts import NativeChange, Realised
from chain.execution.outbox.records import EndCode, Inclusion, PlanEnd, StepState
from chain.execution.outbox.resume import StepFinding, StepSituation
from chain.rpc.errors import NoEndpoint
from tests.chain.execution.made_up_dispatches import dispatch
from tests.zuno_tui.gate.test_results import NOTHING, ONE, TWO
from zuno_tui.gate import results
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.results import (
    UnsettledStep,
    _Effect,
    _effect,
    _outcome_with_aftermath,
    _unsettled,
    look_at_outbox,
    read_result,
    remember_heard,
)

if TYPE_CHECKING:
    from chain.execution.outbox.records import Dispatch
    from chain.positions.overview import Sources
    from zuno_tui.gate.approvals import Approval

S, W = StepState, StepSituation
BASE = network_named("base")
SILENT = NoEndpoint("No endpoint answers.")
PLAN = dispatch(S.SENT)
TOLD = UnsettledStep("hash", "plan", "exit", "pending", "It waits.", (), True, True)
QUIET = {W.INCLUDED, W.FINAL}
NEEDS_NOTHING = {W.NEVER_SIGNED, W.REVERTED, W.CANCELLED, W.REPLACED, W.DROPPED, W.OVER}
SOURCES = cast("Sources", SimpleNamespace(network=BASE, client=None, clock=lambda: 5.0))


def _finding(situation: StepSituation, plan: Dispatch = PLAN) -> StepFinding:
    return StepFinding(plan, plan.steps[0], situation, "So it is.")


@pytest.mark.parametrize("situation", list(StepSituation))
def test_what_needs_nothing_is_said_once_and_the_rest_until_it_is_settled(
    situation: StepSituation,
) -> None:
    with Outbox.in_memory() as outbox:
        first = _unsettled(outbox, _finding(situation))
        remember_heard(outbox, (first,), now=1.0)
        again = _unsettled(outbox, _finding(situation))

    is_open = situation not in QUIET
    assert (first.open, first.news) == (is_open, is_open)
    assert again.open is is_open
    assert again.news is (is_open and situation not in NEEDS_NOTHING)
    assert (first.dispatch, first.plan_id, first.step) == (PLAN.hash, "plan", "transfer")
    assert (first.situation, first.sentence) == (situation, "So it is.")
    assert first.choices == tuple(_finding(situation).choices)


@pytest.mark.parametrize(
    ("situation", "is_settled", "resolved_at", "is_open"),
    [
        (W.OVER, False, None, True),
        (W.OVER, False, 5.0, False),
        (W.REVERTED, True, 5.0, False),
        (W.REVERTED, True, None, True),
        (W.REVERTED, False, 5.0, True),
    ],
)
def test_what_was_dealt_with_is_not_open(
    situation: StepSituation, is_settled: bool, resolved_at: float | None, is_open: bool
) -> None:
    plan = replace(dispatch(S.SENT, settled=(0,) if is_settled else ()), resolved_at=resolved_at)
    with Outbox.in_memory() as outbox:
        assert _unsettled(outbox, _finding(situation, plan)).open is is_open


def test_where_the_tokens_are_is_told_or_why_it_is_not() -> None:
    known = cast("Any", SimpleNamespace(sentences=("Here.",)))
    assert TOLD.where == ()
    assert TOLD._replace(aftermath=known, unread="silence").where == ("Here.",)
    assert TOLD._replace(unread="silence.").where == (
        "Where the tokens are now is unknown: silence.",
    )


@pytest.mark.parametrize(
    ("plan", "is_read"),
    [
        (PLAN, False),
        (dispatch(S.REVERTED), True),
        (replace(PLAN, ended=PlanEnd(EndCode.STEP_GONE, 5.0)), True),
    ],
)
async def test_only_of_a_plan_that_stopped_it_is_read_where_the_tokens_are(
    monkeypatch: pytest.MonkeyPatch, plan: Dispatch, is_read: bool
) -> None:
    answers: list[object] = ["aftermath", SILENT]

    async def read(*_: object) -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    approval: list[object] = ["approval"]
    monkeypatch.setattr(results, "read_approval", lambda *_: approval[0])
    monkeypatch.setattr(results, "unread_approval", lambda *_: "It is no longer known.")
    monkeypatch.setattr(results, "read_aftermath", read)
    outbox = cast("Outbox", SimpleNamespace(store=None))

    async def outcome() -> UnsettledStep:
        return await _outcome_with_aftermath(SOURCES, outbox, plan, TOLD)

    if not is_read:
        assert await outcome() == TOLD
        return
    assert await outcome() == TOLD._replace(aftermath=cast("Any", "aftermath"))
    assert (await outcome()).unread == "No endpoint answers."
    approval[0] = None
    assert (await outcome()).unread == "It is no longer known."


async def test_the_last_finding_of_each_plan_tells_where_the_tokens_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = dispatch(S.SENT, S.SENT, plan_id="one"), dispatch(S.SENT, plan_id="two")
    found = [
        StepFinding(plan, plan.steps[place], W.PENDING, "So it is.")
        for plan, place in ((first, 0), (first, 1), (second, 0))
    ]

    async def look(*_: object, **__: object) -> object:
        return found

    async def outcome(_: object, __: object, plan: Dispatch, told: UnsettledStep) -> object:
        return told._replace(unread=plan.plan_id)

    monkeypatch.setattr(results, "look", look)
    monkeypatch.setattr(results, "evidence_of", lambda *_: None)
    monkeypatch.setattr(results, "_outcome_with_aftermath", outcome)
    plans = {plan.hash: plan for plan in (first, second)}
    store = SimpleNamespace(get=lambda *_: None)
    outbox = cast("Outbox", SimpleNamespace(store=store, dispatch=plans.__getitem__))

    told = await look_at_outbox(SOURCES, cast("Connections", None), outbox)

    assert [each.unread for each in told] == ["", "one", "two"]


def _done(plan: Dispatch) -> Dispatch:
    steps = (replace(step, inclusion=Inclusion("0xab", 7, "0xb1")) for step in plan.steps)
    return replace(plan, steps=tuple(steps))


async def test_a_result_is_what_endpoints_tell_of_all_steps_in_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = _done(dispatch(S.FINAL, S.INCLUDED))
    did = replace(NOTHING, tokens={ONE: 5}, native=NativeChange(-3), minted=(9,))
    asked, is_sound = list[Any](), [True]

    async def effect(_: object, __: object, step: Any, ___: object, told: object) -> _Effect:
        asked.append(told)
        return _Effect(step, did, {}, is_sound[0])

    async def given(*_: object) -> str:
        return "allowances"

    async def aftermath(*_: object) -> str:
        return "aftermath"

    async def worth(*_: object) -> float:
        return 2.0

    for name, fake in (
        ("_effect", effect),
        ("read_given", given),
        ("read_aftermath", aftermath),
        ("_usd_per_wei", worth),
        ("evidence_of", lambda *_: None),
    ):
        monkeypatch.setattr(results, name, fake)
    approval = cast(
        "Approval", SimpleNamespace(tokens=(ONE, TWO, NATIVE), untold=(TWO,), quoted={ONE: 5})
    )

    async def read(dispatched: Dispatch) -> Any:
        return await read_result(SOURCES, cast("Connections", None), approval, dispatched)

    found = await read(plan)
    assert asked == [[ONE, NATIVE]] * 2
    assert found.realised == {ONE: 10, TWO: None, NATIVE: -6}
    assert [(each.gas_used, each.gas_cost) for each in found.steps] == [(100, 300)] * 2
    assert (found.minted, found.allowances, found.usd_per_wei) == ((9, 9), "allowances", 2.0)
    assert (found.done, found.contradicted, found.aftermath) == (True, (), None)
    part = replace(plan, steps=(plan.steps[0], replace(plan.steps[1], inclusion=None)))
    found = await read(part)
    assert (found.done, found.aftermath, len(found.steps)) == (False, "aftermath", 1)
    is_sound[0] = False
    found = await read(plan)
    assert found.contradicted == ("transfer", "transfer")
    assert found.realised == dict.fromkeys((ONE, TWO, NATIVE))
    assert found.aftermath == "aftermath"


@pytest.mark.parametrize(
    ("tells", "needed", "denied", "is_sound"),
    [
        ((True, True), 2, False, True),
        ((True, False), 2, False, False),
        ((True, False), 1, False, True),
        ((False, False), 1, False, False),
        ((True, True), 2, True, False),
    ],
)
async def test_an_effect_is_sound_by_as_many_endpoints_as_are_needed(
    monkeypatch: pytest.MonkeyPatch,
    tells: tuple[bool, ...],
    needed: int,
    denied: bool,
    is_sound: bool,
) -> None:
    plan = _done(dispatch(S.FINAL))
    step = plan.steps[0]

    async def tells_so(reads: int, *_: object) -> bool:
        return tells[reads]

    async def read_realised(reads: object, made: str, *_: object, nonces: int) -> object:
        assert (made, nonces) == ("0xab", 1)
        return f"receipt of {reads}", NOTHING

    async def held(reads: object, receipt: object, *_: object) -> Any:
        assert receipt == f"receipt of {reads}"
        return {ONE: 5}

    monkeypatch.setattr(results, "_tells_so", tells_so)
    monkeypatch.setattr(results, "read_realised", read_realised)
    monkeypatch.setattr(results, "read_held_changes", held)
    monkeypatch.setattr(results, "contradicts", lambda *_: denied)
    evidence = cast("Any", SimpleNamespace(readers=lambda _: range(2), needed=needed))
    assert step.inclusion is not None

    found = await _effect(SOURCES, evidence, step, step.inclusion, (ONE,))

    assert found == _Effect(step, NOTHING, {ONE: 5}, is_sound)
    assert isinstance(found.did, Realised)


async def test_gas_is_worth_nothing_known_where_nobody_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def head() -> str:
        return "head"

    async def worth(_: object, tokens: object, at: str) -> object:
        assert (tokens, at) == ((), "head")
        return SimpleNamespace(usd_per_wei=2.5)

    async def fail(*_: object) -> object:
        raise SILENT

    sources = cast("Sources", SimpleNamespace(client=SimpleNamespace(head=head)))
    monkeypatch.setattr(results, "read_worth", worth)
    assert await results._usd_per_wei(sources) == 2.5
    monkeypatch.setattr(results, "read_worth", fail)
    assert await results._usd_per_wei(sources) is None


def test_only_what_was_said_and_needs_nothing_is_remembered() -> None:
    over, waits = TOLD._replace(situation=W.OVER), TOLD._replace(situation=W.PENDING)
    unsaid = over._replace(step="enter", news=False)
    with Outbox.in_memory() as outbox:
        remember_heard(outbox, (over, waits, unsaid), now=1.0)
        assert outbox.store.items("findings-heard") == {"hash:exit:over": True}
