"""What Strategist, Critic and Arbiter look up is what code computes, with ids they can cite."""

from __future__ import annotations

import pytest

from agents.lp.evaluation import evaluate
from agents.lp.evaluation_context import evaluation_of
from agents.lp.facts import AdviceRecord, DeskMemory
from agents.lp.plan import ShapeChoice
from agents.lp.propose import candidates_of, shapes_by_rules
from agents.lp.role_tools import (
    ArbiterTools,
    CriticTools,
    RangeArguments,
    StrategistTools,
    Stress,
    StressArguments,
)
from agents.lp.scout_tools import NoArguments
from agents.model.claims import Unit
from agents.model.speaking import Brief
from agents.model.tools import ToolError
from chain.base.units import usd
from tests.agents.lp.made_up import Market
from tests.agents.lp.made_up_markets import market_context

CONTEXT = Market(0.03, 1.3, half_width=0.1, off_centre=2.5, gwei=0.05).position()


async def test_the_strategist_is_told_the_very_figures_of_a_candidate() -> None:
    brief = Brief("")
    told = await StrategistTools(CONTEXT, brief).answer(
        "range_figures", RangeArguments(width_multiplier=1.1)
    )
    shape = ShapeChoice(width_multiplier=1.1, center_offset_ticks=0)
    found = evaluate(evaluation_of(CONTEXT), shape, 0).candidate
    ledger = Brief("").ledger
    assert f"nets [n5] {ledger.cite(found.net_7d or 0.0, Unit.USD).partition(' ')[2]}" in told
    assert "".join(("cost [n4] ", usd(found.cost_usd))) in told
    assert brief.ledger.check(told).flags == ()
    with pytest.raises(ToolError):
        await StrategistTools(CONTEXT, brief).answer(
            "range_figures", RangeArguments(width_multiplier=1.1, pool=3)
        )


async def test_the_critic_stresses_one_candidate() -> None:
    moves = candidates_of(CONTEXT, shapes_by_rules(CONTEXT, ()))
    tools = CriticTools(CONTEXT, moves, Brief(""))

    async def told(what: Stress) -> str:
        return await tools.answer("stressed", StressArguments(candidate=0, what=what))

    calm, wild = moves[0].numbers.buffers, await told(Stress.VOLATILITY_TWICE)
    assert f"{calm.at_2x:.3g}"[:3] in wild
    net, price = moves[0].candidate.net_7d, moves[0].price
    assert net is not None
    assert price.gas is not None
    assert usd(net - 2 * price.gas)[:4] in await told(Stress.GAS_THREEFOLD)
    assert "nets" in await told(Stress.FEES_HALF)
    with pytest.raises(ToolError, match="No swap"):
        await told(Stress.PRICE_A_DAY_AGO)
    idle = market_context("idle day")
    there = candidates_of(idle, shapes_by_rules(idle, ()))
    past = CriticTools(idle, there, Brief(""))
    asked = StressArguments(candidate=0, what=Stress.PRICE_A_DAY_AGO)
    assert "price a day ago" in await past.answer("stressed", asked)


async def test_the_arbiter_reads_how_such_plans_came_out() -> None:
    record = AdviceRecord(kind="move", days=7, beat=3, judged=4)
    told = await ArbiterTools(DeskMemory(advice_records=(record,)), Brief("")).answer(
        "past_plans", NoArguments()
    )
    assert "3 beat holding" in told.replace("[n2] ", "")
    empty = await ArbiterTools(DeskMemory(), Brief("")).answer("past_plans", NoArguments())
    assert empty.startswith("No plan")
