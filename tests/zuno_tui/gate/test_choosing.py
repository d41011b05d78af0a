"""A vetoed move is not approved; a range the person named is, unless the pool speaks against it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from agents.lp.plan import MoveJudgment, Plan, RuleFinding, plan_identity
from agents.numbers.rules import JudgmentVerdict, Rule
from tests.agents.lp.debating import argue_over
from tests.agents.lp.made_up_markets import market_context
from zuno_tui.app.approve import action_of_candidate
from zuno_tui.gate.actions.action import Action
from zuno_tui.gate.actions.plan import chosen_candidate
from zuno_tui.gate.refusal import GateRefusedError


async def _vetoed(rule: Rule, *, own_range: bool) -> Plan:
    plan = (await argue_over(market_context("outside"))).plan
    veto = JudgmentVerdict.VETO
    finding = RuleFinding(rule=rule, verdict=veto, value=1.0, limit=2.0, words="too little")
    judgment = MoveJudgment(verdict=veto, by_rules=veto, findings=(finding,), reason="too little")
    first = plan.candidates[0].model_copy(update={"judgment": judgment})
    moves = (first, *plan.candidates[1:])
    changed = plan.model_copy(update={"candidates": moves, "own_range": own_range})
    return changed.model_copy(update={"plan_id": plan_identity(changed)})


async def test_a_floor_does_not_keep_anybody_from_a_range_they_named() -> None:
    plan = await _vetoed(Rule.BUFFER_FLOOR, own_range=True)

    assert chosen_candidate(plan, "A") == plan.candidates[0]


async def test_the_limits_that_an_option_breaks_go_with_its_approval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Shell and desk approve by the same function, and print its warnings."""
    plan = await _vetoed(Rule.BUFFER_FLOOR, own_range=True)
    bare = Action("plan_7", "Move #7", cast("Any", None), cast("Any", None), ())

    async def made(*_: object) -> Action:
        return bare

    monkeypatch.setattr("zuno_tui.app.approve.action_of_plan", made)
    monkeypatch.setattr("zuno_tui.app.approve.same_network", lambda *_: None)
    session, sources = cast("Any", SimpleNamespace(address="0x1")), cast("Any", None)

    broken = await action_of_candidate(session, plan, "A")(sources)
    kept = await action_of_candidate(session, plan, "close")(sources)

    assert broken.breaks == (
        "A was ruled out: it lasts only 1 h at 95% confidence; your floor is 2 h.",
    )
    assert kept.breaks == ()


@pytest.mark.parametrize("rule", [Rule.HOOK, Rule.OWN_SWAP])
async def test_a_pool_that_keeps_or_takes_too_much_is_refused_all_the_same(rule: Rule) -> None:
    plan = await _vetoed(rule, own_range=True)

    with pytest.raises(GateRefusedError, match="ruled out"):
        chosen_candidate(plan, "A")


async def test_nobody_approves_a_vetoed_move_of_the_agents() -> None:
    plan = await _vetoed(Rule.BUFFER_FLOOR, own_range=False)

    with pytest.raises(GateRefusedError, match="ruled out"):
        chosen_candidate(plan, "A")


HOOKED, SHORT = Rule.HOOK, Rule.BUFFER_FLOOR
VETO, ACCEPT = JudgmentVerdict.VETO, JudgmentVerdict.ACCEPT


def _judged(verdict: JudgmentVerdict, *findings: tuple[Rule, JudgmentVerdict]) -> SimpleNamespace:
    made = [SimpleNamespace(rule=rule, verdict=against) for rule, against in findings]
    return SimpleNamespace(verdict=verdict, findings=made, reason="too little.")


def _option(index: int | None, judgment: object = None, kind: str = "move") -> SimpleNamespace:
    return SimpleNamespace(index=index, judgment=judgment, kind=kind)


LEAVING = _option(None, kind="exit")


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A plan that moves, recommends its second option and can be left."""
    moves = [_option(0), _option(1)]
    made = SimpleNamespace(
        plan_id="plan_7",
        candidates=moves,
        exit=LEAVING,
        own_range=False,
        choice=SimpleNamespace(kind="move"),
        recommended=moves[1],
    )
    monkeypatch.setattr("agents.lp.plan.plan_identity", lambda _: "plan_7")
    return made


@pytest.mark.parametrize(
    ("judgment", "own_range", "named", "is_refused"),
    [
        (None, False, "A", False),
        (_judged(ACCEPT), False, "A", False),
        (_judged(VETO), False, "A", True),
        (_judged(VETO), True, "A", False),
        # Recommended, and so named by nobody.
        (_judged(VETO), True, None, True),
        (_judged(VETO, (SHORT, VETO)), True, "A", False),
        (_judged(VETO, (HOOKED, VETO)), True, "A", True),
        (_judged(VETO, (HOOKED, ACCEPT), (SHORT, VETO)), True, "A", False),
        (_judged(VETO, (SHORT, VETO), (Rule.OWN_SWAP, VETO)), True, "A", True),
        (_judged(VETO, (Rule.REPLAY, VETO)), True, "A", False),
        (_judged(ACCEPT, (HOOKED, VETO)), False, "A", False),
    ],
)
def test_what_may_be_chosen(
    plan: Any, judgment: object, own_range: bool, named: str | None, is_refused: bool
) -> None:
    plan.own_range, plan.candidates[0].judgment = own_range, judgment
    plan.recommended = plan.candidates[0]
    if not is_refused:
        assert chosen_candidate(plan, named) is plan.candidates[0]
        return
    with pytest.raises(GateRefusedError, match="Option A of plan_7 was ruled out: too little"):
        chosen_candidate(plan, named)


def test_an_option_is_named_by_letter_or_number_and_unnamed_is_the_recommended(plan: Any) -> None:
    first, second = plan.candidates
    assert chosen_candidate(plan, None) is second
    for named, option in (
        ("A", first),
        ("b", second),
        ("1", second),
        ("exit", LEAVING),
        ("Close", LEAVING),
    ):
        assert chosen_candidate(plan, named) is option


@pytest.mark.parametrize(
    ("leaving", "options"), [(LEAVING, "A, B, close"), (None, "A, B")], ids=["held", "opens"]
)
def test_what_there_is_to_choose_is_said(plan: Any, leaving: object, options: str) -> None:
    plan.exit, nameless = leaving, _option(None)
    for unknown in ("C", "me"):
        with pytest.raises(GateRefusedError, match=f"no option '{unknown}'. It has: {options}\\.$"):
            chosen_candidate(plan, unknown)
    plan.choice.kind = "hold"
    with pytest.raises(GateRefusedError, match=f"says keep.* name an option: {options}\\.$"):
        chosen_candidate(plan, None)
    plan.candidates = [nameless]
    with pytest.raises(GateRefusedError, match="It has: move"):
        chosen_candidate(plan, "me")
    plan.candidates, plan.exit = [], None
    with pytest.raises(GateRefusedError, match=r"nothing to sign\.$"):
        chosen_candidate(plan, None)
    with pytest.raises(GateRefusedError, match="plan_7 opens a position: there is nothing"):
        chosen_candidate(plan, "exit")


def test_a_plan_that_was_edited_is_refused(plan: Any) -> None:
    plan.plan_id = "plan_8"
    with pytest.raises(GateRefusedError, match="plan_8 was changed since it was made"):
        chosen_candidate(plan, "A")
