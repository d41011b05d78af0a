"""What may be chosen of a plan, and how much less than planned its swap may pay."""

import asyncio

import pytest

from agents.lp.plan import Candidate, MoveJudgment, Plan, RuleFinding, plan_identity
from agents.numbers.inventory import PrepSwap
from agents.numbers.rules import JudgmentVerdict, Rule
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.execution.plan.requests import QuotedSwap
from chain.math.drift import Span
from tests.agents.lp.debating import argue_over
from tests.agents.lp.made_up_markets import market_context
from zuno_tui.gate.actions.plan import chosen_candidate, planned_span, refuse_worse_than_planned
from zuno_tui.gate.refusal import GateRefusedError

KEY = PoolKey(NATIVE, "0x" + "22" * 20, 3_000, 60, NATIVE)


MOVE = asyncio.run(argue_over(market_context("outside"))).plan.candidates[0]


def planned(swap: PrepSwap | None) -> Candidate:
    return MOVE.model_copy(update={"prep_action": swap})


def quoted(amount_in: int, amount_out: int, *, zero_for_one: bool = True) -> QuotedSwap:
    return QuotedSwap(KEY, zero_for_one, amount_in, amount_out, 1)


@pytest.mark.parametrize(
    ("amount_in", "amount_out", "refused"),
    [
        (1_000, 2_000, False),
        (1_000, 1_980, False),
        (1_000, 1_979, True),
        (2_000, 3_960, False),
        (2_000, 3_959, True),
        (500, 990, False),
        (500, 989, True),
        (1_000, 9_000, False),
        (1_000_000, 1_980_000, False),
        (1_000_000, 1_979_999, True),
    ],
)
def test_it_may_pay_one_per_cent_less_for_each_unit(
    amount_in: int, amount_out: int, refused: bool
) -> None:
    candidate = planned(PrepSwap(True, 1_000, 2_000, 3_000, 1))
    swap = quoted(amount_in, amount_out)
    if refused:
        with pytest.raises(GateRefusedError, match="over 1% less"):
            refuse_worse_than_planned(candidate, swap)
    else:
        refuse_worse_than_planned(candidate, swap)


def test_a_swap_that_was_not_planned_or_goes_the_other_way_is_not_held_to_it() -> None:
    refuse_worse_than_planned(planned(None), quoted(1_000, 1))
    other_way = planned(PrepSwap(False, 1_000, 2_000, 3_000, 1))
    refuse_worse_than_planned(other_way, quoted(1_000, 1))
    with pytest.raises(GateRefusedError):
        refuse_worse_than_planned(other_way, quoted(1_000, 1, zero_for_one=False))


@pytest.mark.parametrize(("lower", "upper"), [(None, 60), (60, None), (None, None)])
def test_a_choice_without_a_range_is_refused(lower: int | None, upper: int | None) -> None:
    whole = MOVE.model_copy(update={"tick_lower": -60, "tick_upper": 60})
    part = MOVE.model_copy(update={"tick_lower": lower, "tick_upper": upper})

    assert planned_span(whole) == Span(-60, 60)
    with pytest.raises(GateRefusedError):
        planned_span(part)


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
