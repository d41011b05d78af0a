"""A vetoed move is not approved; a range the person named is, unless the pool speaks against it."""

import asyncio

import pytest

from agents.lp.plan import MoveJudgment, Plan, RuleFinding, plan_identity
from agents.numbers.rules import JudgmentVerdict, Rule
from tests.agents.lp.debating import argue_over
from tests.agents.lp.made_up_markets import market_context
from zuno_tui.gate.actions.plan import chosen_candidate
from zuno_tui.gate.refusal import GateRefusedError


def _judged(verdict: JudgmentVerdict, *findings: tuple[Rule, JudgmentVerdict]) -> MoveJudgment:
    made = tuple(
        RuleFinding(rule=rule, verdict=against, value=1.0, limit=2.0, words="too little")
        for rule, against in findings
    )
    return MoveJudgment(verdict=verdict, by_rules=verdict, findings=made, reason="too little.")


def _changed(plan: Plan, **fields: object) -> Plan:
    changed = plan.model_copy(update=fields)
    return changed.model_copy(update={"plan_id": plan_identity(changed)})


@pytest.fixture(scope="module")
def plan() -> Plan:
    """One that moves; its first option is judged as a test wants it."""
    return asyncio.run(argue_over(market_context("outside"))).plan


VETO, ACCEPT = JudgmentVerdict.VETO, JudgmentVerdict.ACCEPT
HOOKED, SHORT = Rule.HOOK, Rule.BUFFER_FLOOR


@pytest.mark.parametrize(
    ("judgment", "own_range", "is_refused"),
    [
        (_judged(ACCEPT), False, False),
        (_judged(VETO), False, True),
        (_judged(VETO), True, False),
        (_judged(VETO, (SHORT, VETO)), True, False),
        (_judged(VETO, (SHORT, VETO)), False, True),
        (_judged(VETO, (HOOKED, VETO)), True, True),
        (_judged(VETO, (HOOKED, ACCEPT), (SHORT, VETO)), True, False),
        (_judged(VETO, (SHORT, VETO), (Rule.OWN_SWAP, VETO)), True, True),
        (_judged(VETO, (Rule.REPLAY, VETO)), True, False),
        (_judged(ACCEPT, (HOOKED, VETO)), False, False),
    ],
)
def test_what_may_be_chosen(
    plan: Plan, judgment: MoveJudgment, own_range: bool, is_refused: bool
) -> None:
    first = plan.candidates[0].model_copy(update={"judgment": judgment})
    moves = (first, *plan.candidates[1:])
    asked = _changed(plan, candidates=moves, own_range=own_range)
    if not is_refused:
        assert chosen_candidate(asked, "A") == first
        return
    with pytest.raises(GateRefusedError, match=f"Option A of {asked.plan_id} was ruled out: too l"):
        chosen_candidate(asked, "A")


def test_an_option_is_named_by_letter_or_number_and_unnamed_is_the_recommended(plan: Plan) -> None:
    assert plan.choice.kind == "move"
    assert chosen_candidate(plan, None) == plan.recommended
    fine = [one.model_copy(update={"judgment": _judged(ACCEPT)}) for one in plan.candidates]
    open_ = _changed(plan, candidates=tuple(fine))
    for named, option in (("A", fine[0]), ("b", fine[1]), ("1", fine[1])):
        assert chosen_candidate(open_, named) == option
    for named in ("exit", "Close"):
        assert chosen_candidate(open_, named) == plan.exit


def test_what_there_is_to_choose_is_said(plan: Plan) -> None:
    letters = ", ".join("ABCDEFGH"[: len(plan.candidates)])
    for unknown in ("Z", "me"):
        with pytest.raises(GateRefusedError, match=f"no option '{unknown}'. It has: {letters}, c"):
            chosen_candidate(plan, unknown)
    bare = _changed(plan, candidates=(), exit=None)
    with pytest.raises(GateRefusedError, match="opens a position: there is nothing"):
        chosen_candidate(bare, "exit")


def test_a_plan_that_was_edited_is_refused(plan: Plan) -> None:
    edited = plan.model_copy(update={"own_range": not plan.own_range})
    with pytest.raises(GateRefusedError, match="was changed since it was made"):
        chosen_candidate(edited, "A")
