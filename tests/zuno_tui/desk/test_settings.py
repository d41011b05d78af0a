"""Settings and forms of ranges at the desk."""

from pathlib import Path

from agents.bus.plan_store import PlanStore
from agents.lp.plan_document import plan_in
from chain.base.home import Home
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import Sitting, opening, sitting
from zuno_tui.app.range import plan_request
from zuno_tui.app.session import Session
from zuno_tui.desk.context import DeskOpening
from zuno_tui.desk.events import (
    PlanChanged,
    PositionsChanged,
    RangeReady,
    Said,
    SettingsReady,
    StatusChanged,
)
from zuno_tui.intents.intents import ChangeSetting, ChooseRange, Show
from zuno_tui.settings import Flags, load_settings

DEAD = "http://127.0.0.1:1/v2/CANARY1"


def _opening(home: Path, written: str) -> DeskOpening:
    path = home / "settings.toml"
    path.write_text(written)
    settings = load_settings(path, {}, Flags())
    session = Session(Home.locate({}, home), settings, settings.chosen_network(), as_json=False)
    return DeskOpening(session, deterministic=True, environment={"ZUNO_RISK_PROFILE": "balanced"})


def _answer(desk: Sitting) -> Said:
    """What was said to the last change: the desk may speak of other things meanwhile."""
    return [said for said in desk.all_heard(Said) if said.twin.startswith("zuno setting")][-1]


async def test_a_dead_endpoint_is_replaced_from_the_desk(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    written = f'# mine\nnetwork = "devnet"\n\n[rpc]\ndevnet = "{DEAD}"  # slow\n'
    async with sitting(_opening(tmp_path, written)) as desk:
        await desk.until(StatusChanged, lambda told: told.view.trouble is not None)
        await desk.ask(Show("settings"))
        before = desk.heard_last(SettingsReady)
        await desk.ask(ChangeSetting("rpc.devnet", "nowhere"))
        refused = _answer(desk)
        await desk.ask(ChangeSetting("rpc.devnet", devnet.url))
        kept = _answer(desk)
        rows = await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
        await desk.ask(ChangeSetting("limits.daily_usd", "500"))
        await desk.ask(ChangeSetting("debate.profile", "aggressive"))
        overruled = _answer(desk)
        after = {row.name: row for row in desk.heard_last(SettingsReady).rows}

    assert (refused.tone, kept.tone, overruled.tone) == ("bad", "good", "warn")
    assert kept.twin == "zuno setting rpc.devnet …"
    assert rows.view.stale is None
    assert (after["limits.daily_usd"].value, after["limits.daily_usd"].origin) == (
        "500",
        "settings.toml",
    )
    assert after["debate.profile"].value == "balanced"
    assert "CANARY1" not in str(before) + str(desk.heard_last(SettingsReady))
    assert (
        (tmp_path / "settings.toml")
        .read_text()
        .startswith(f'# mine\nnetwork = "devnet"\n\n[rpc]\ndevnet = "{devnet.url}"  # slow\n')
    )


async def test_the_plan_has_the_edges_and_figures_of_the_form(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(ChooseRange(str(token_id)))
        (form,) = (await desk.until(RangeReady)).forms
        ticks = form.move_edges(form.begins, -4 * form.step, 3 * form.step)
        await desk.ask(plan_request(form, ticks))
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
    shown = form.evaluate_range(ticks).candidate
    if plan.block == form.context.block:
        assert (move.liquidity, move.cost_usd) == (shown.liquidity, shown.cost_usd)
    assert len(form.past) > 1
    assert form.liquidity(2_000)
    assert len(opened) > 1
    for one in opened:
        assert one.begins.lower < one.evaluation.observed.pool.tick < one.begins.upper
