"""A model's budget: who is counted, and what happens when it is used up."""

import logging
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from agents.lp.payloads import SCOUT
from agents.model.budget import NAMESPACE, BudgetLimits, TokenRate
from tests.agents.lp.honest_model import honest, sceptical
from tests.agents.lp.made_up_markets import market_context
from tests.agents.lp.model_table import (
    A_CALL,
    MODEL,
    QUESTIONS,
    Table,
    assert_kept_well,
    plan_of_the_rules,
)
from tests.fakes.model_endpoint import says


@pytest.fixture
def table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Table:
    caplog.set_level(logging.DEBUG)
    return Table(tmp_path)


async def test_agents_are_counted_apart_and_dollars_only_by_prices(table: Table) -> None:
    prices = {MODEL: TokenRate.per_million(Decimal("0.15"), Decimal("0.60"))}
    unpriced = await table.hold(says(sceptical, size=200))
    priced = await replace(table, prices=prices).hold(says(sceptical, size=200))

    by_role = {"arbiter": A_CALL, "critic": 2 * A_CALL, "scout": A_CALL}
    by_role["strategist"] = 2 * A_CALL
    for held, day in ((unpriced, 1), (priced, 2)):
        budget = held.document["budget"]
        assert budget["byRole"] == by_role
        assert budget["tokens"] == sum(by_role.values()) == QUESTIONS * A_CALL
        assert budget["dayTokens"] == day * budget["tokens"]
        assert (budget["debateLimit"], budget["dayLimit"]) == (60_000, 1_000_000)
    assert unpriced.document["budget"]["dollars"] is None
    dollars = QUESTIONS * (120 * 150 + 45 * 600) / 10**9
    assert priced.document["budget"]["dollars"] == pytest.approx(dollars, rel=1e-12)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (BudgetLimits(debate_tokens=1_000), "of the 1,000 for this debate, 0 are used."),
        (BudgetLimits(day_tokens=1_000), "of the 1,000 for this day, 0 are used."),
        (BudgetLimits(debate_nano_usd=1_000), "of the $0.0000 for this debate, $0.0000"),
        (BudgetLimits(day_nano_usd=0), "of the $0.0000 for this day, $0.0000 are spent."),
    ],
)
async def test_over_budget_nobody_is_called_and_the_rules_decide(
    table: Table, caplog: pytest.LogCaptureFixture, limits: BudgetLimits, said: str
) -> None:
    context = market_context("idle day")
    prices = {MODEL: TokenRate.per_million(Decimal("0.15"), Decimal("0.60"))}
    held = await replace(table, limits=limits, prices=prices).hold(says(honest), context)

    assert held.requests == []
    assert held.plan == await plan_of_the_rules(context)
    assert len(held.silences) == QUESTIONS
    assert all(said in silence for silence in held.silences)
    assert all(silence.endswith("The rules speak instead.") for silence in held.silences)
    assert held.document["budget"]["tokens"] == 0
    await assert_kept_well(held, caplog.text)


async def test_a_fuse_that_blows_in_the_middle_stops_the_next_call(table: Table) -> None:
    tight = replace(table, limits=BudgetLimits(debate_tokens=3_000), max_tokens=200)
    context = market_context("idle day")
    held = await tight.hold(says(sceptical, size=200, tokens=(900, 100)), context)

    assert 1 <= len(held.requests) <= 3
    assert len(held.requests) + len(held.silences) == QUESTIONS
    assert held.document["budget"]["tokens"] == 1_000 * len(held.requests) <= 3_000
    spoke = [turn.role for turn in held.ended.transcript if turn.thought.cited]
    assert spoke[0] is SCOUT


async def test_the_day_is_over_for_every_debate_of_it(table: Table) -> None:
    daily = replace(table, limits=BudgetLimits(day_tokens=9_000))
    first = await daily.hold(says(honest, size=200, tokens=(8_000, 900)))
    second = await daily.hold(says(honest))

    assert len(first.requests) >= 1
    assert second.requests == []
    assert "for this day" in second.silences[0]


async def test_a_day_that_cannot_be_read_costs_the_model_not_the_plan(table: Table) -> None:
    table.store.put(NAMESPACE, "1970-01-01", "much", now=0)
    held = await table.hold(says(honest))

    assert held.requests == []
    assert "cannot be read from zuno.db" in held.silences[0]
    assert held.document["budget"]["dayTokens"] is None
