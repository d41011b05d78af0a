"""Several commands of one sentence follow each other, and a stranger's position offers nothing."""

from typing import cast

from msgspec.structs import replace
from textual.screen import Screen

from tests.zuno_tui.screen.scenes import (
    ALERTS,
    APPLIED,
    MORNING,
    NOW,
    PLAN,
    ScriptedLink,
    desk_app,
    play,
    text_of,
)
from tests.zuno_tui.screen.visit_scenes import DETAIL
from zuno_tui.commands.position_actions import CollectFees
from zuno_tui.desk.events import DetailReady, PlanChanged
from zuno_tui.intents.intents import ShowAlert
from zuno_tui.screen.panes.alerts import gather_rows
from zuno_tui.screen.panes.prompt import PromptPane
from zuno_tui.screen.screens.active_keys import active_keys


async def test_collecting_all_is_one_plan() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("colon", *"collect all", "enter")
        await pilot.pause()

    assert link.intents == [CollectFees(("all",))]


async def test_of_several_commands_the_next_is_offered_when_one_is_done() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        prompt = pilot.app.screen.query_one(PromptPane)
        await pilot.press("colon", *"reduce all by 25%", "enter")
        await pilot.pause()
        first = prompt.value
        await pilot.press("enter")
        await pilot.pause()
        await play(pilot, PlanChanged(replace(APPLIED, plan_id="decrease_1")))

        [asked] = link.intents
        assert asked.title == first.removesuffix("%")
        assert prompt.value.startswith("decrease ")
        assert prompt.value != first
        assert f"Next: {prompt.value}. Press Enter to run." in text_of(pilot, "#said")


async def test_another_command_ends_the_row() -> None:
    async with desk_app(ScriptedLink()).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        prompt = pilot.app.screen.query_one(PromptPane)
        await pilot.press("colon", *"reduce all by 25%", "enter")
        await pilot.pause()
        prompt.value = "positions"
        await pilot.press("enter")
        await pilot.pause()
        await play(pilot, PlanChanged(replace(APPLIED, plan_id="decrease_1")))

        assert prompt.value == ""


async def test_a_strangers_position_says_so_and_offers_no_action() -> None:
    app = desk_app(ScriptedLink())
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING, DetailReady(replace(DETAIL, owned_by="0x6330")))
        await pilot.pause()

        assert "Not yours: 0x6330 owns it." in text_of(pilot, "#figures")
        offered = {key.label for key in active_keys(cast("Screen[None]", app.screen))}
        assert not offered & {"recommend", "collect…", "compound…", "close…", "range"}


async def test_a_plan_that_keeps_offers_no_approval() -> None:
    app = desk_app(ScriptedLink())
    async with app.run_test(size=(120, 36)) as pilot:
        options = tuple(replace(one, recommended=one.name == "Keep") for one in PLAN.options)
        await play(pilot, *MORNING, PlanChanged(replace(PLAN, options=options)))

        assert "approve…" not in {
            key.label for key in active_keys(cast("Screen[None]", app.screen))
        }


def test_alerts_that_are_over_share_one_row_below_those_that_wait() -> None:
    over = [replace(row, state="resolved") for row in ALERTS.rows[:2]]
    rows = gather_rows((*over, *ALERTS.rows[2:]), NOW)

    assert [row.alert_id for row in rows if row.state == "resolved"] == [rows[-1].alert_id]
    assert rows[-1].members == tuple(row.alert_id for row in over)
    assert rows[-1].message.startswith("2 resolved: #")


async def test_an_alert_opens_by_its_number_and_by_a_key() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("colon", *f"alert {ALERTS.rows[0].alert_id}", "enter")
        await pilot.pause()
        await pilot.press("2", "o")
        await pilot.pause()

    assert link.intents == [ShowAlert(ALERTS.rows[0].alert_id)] * 2


async def test_a_plan_that_is_done_gives_way_to_another_position() -> None:
    async with desk_app(ScriptedLink()).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING, PlanChanged(APPLIED))
        await pilot.press("1", "g")
        await pilot.pause()
        assert pilot.app.screen.has_class("-planned")
        await pilot.press("j", "j")
        await pilot.pause()
        assert not pilot.app.screen.has_class("-planned")
