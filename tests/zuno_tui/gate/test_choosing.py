"""A vetoed move is not approved; a range the person named is, unless the pool speaks against it."""

from __future__ import annotations

import pytest

from agents.lp.plan import MoveJudgment, Plan, RuleFinding, plan_identity
from agents.numbers.rules import JudgmentVerdict, Rule
from tests.agents.lp.debating import argue_over
from tests.agents.lp.made_up_markets import market_context
from zuno_tui.gate.choosing import chosen_candidate
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


@pytest.mark.parametrize("rule", [Rule.HOOK, Rule.OWN_SWAP])
async def test_a_pool_that_keeps_or_takes_too_much_is_refused_all_the_same(rule: Rule) -> None:
    plan = await _vetoed(rule, own_range=True)

    with pytest.raises(GateRefusedError, match="vetoed"):
        chosen_candidate(plan, "A")


async def test_nobody_approves_a_vetoed_move_of_the_agents() -> None:
    plan = await _vetoed(Rule.BUFFER_FLOOR, own_range=False)

    with pytest.raises(GateRefusedError, match="vetoed"):
        chosen_candidate(plan, "A")
