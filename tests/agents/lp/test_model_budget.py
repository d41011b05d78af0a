"""A model's budget: who is counted, and what happens when it is used up."""

import logging
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from agents.model.budget import BudgetLimits, TokenRate
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
