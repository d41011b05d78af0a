"""A range chosen on the form becomes the plan of that range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.plan_store import PlanStore
from agents.lp.plan_document import plan_in
from chain.base.home import Home
from chain.protocols.reference import v4_position
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.app.range import planning
from zuno_tui.catalog.intents import ChooseRange
from zuno_tui.desk.events import PlanChanged, RangeReady, Said

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady
    from tests.zuno_tui.desk.conftest import Node


async def test_the_plan_has_the_edges_and_figures_of_the_form(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(ChooseRange(str(token_id)))
        (form,) = (await desk.until(RangeReady)).forms
        ticks = form.moved(form.begins, -4 * form.step, 3 * form.step)
        await desk.ask(planning(form, ticks))
        view = (await desk.until(PlanChanged, lambda told: told.view is not None)).view
        await desk.desk.idle()
        await desk.ask(ChooseRange("0.5 WETH/USDC"))
        opened = (await desk.until(RangeReady, lambda told: told.asked.ref is None)).forms
        await desk.ask(ChooseRange(str(10**9)))
        await desk.until(Said, lambda said: said.tone == "bad")

    assert view is not None
    plan = plan_in(PlanStore(Home.locate({}, tmp_path).plans).find(view.plan_id))
    (move,) = plan.candidates
    assert (move.tick_lower, move.tick_upper) == tuple(ticks)
    shown = form.evaluated(ticks).candidate
    if plan.block == form.context.block:
        assert (move.liquidity, move.cost_usd) == (shown.liquidity, shown.cost_usd)
    assert len(form.past) > 1
    assert form.liquidity(2_000)
    assert len(opened) > 1
    for one in opened:
        assert one.begins.lower < one.evaluation.observed.pool.tick < one.begins.upper
