"""The palette lists what is possible now, and nothing in it can sign."""

from textual.command import CommandList, CommandPalette
from textual.pilot import Pilot

from tests.zuno_tui.screen.scenes import (
    APPLIED,
    APPROVED,
    BUSY,
    MORNING,
    ScriptedLink,
    desk_app,
    play,
    until,
)
from zuno_tui.desk.events import PlanChanged, StatusChanged
from zuno_tui.intents.intents import Apply, Doctor
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.app.palette import DeskCommands
from zuno_tui.screen.panes.prompt import PromptPane


async def _listed(pilot: Pilot[None]) -> list[str]:
    provider = DeskCommands(pilot.app.screen)
    return [hit.text or "" async for hit in provider.discover()]


async def test_only_what_is_possible_now_is_listed() -> None:
    async with desk_app().run_test() as pilot:
        empty = await _listed(pilot)
        assert not any(name.startswith(("recommend", "approve", "market")) for name in empty)
        assert "cancel the work under way" not in empty

        await play(pilot, *MORNING, StatusChanged(BUSY))
        listed = await _listed(pilot)
        for name in (
            *("recommend 7", "inspect 7", "collect 7 …", "approve A …", "approve close …"),
            *("market: pause", "cancel the work under way", "outbox", "theme zuno-light"),
        ):
            assert name in listed
        assert "theme zuno-dark" not in listed

        await play(pilot, PlanChanged(APPLIED))
        assert "approve A …" not in await _listed(pilot)


async def test_nothing_in_the_palette_asks_for_a_signature() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await play(pilot, *MORNING, StatusChanged(BUSY), PlanChanged(APPROVED))
        provider = DeskCommands(pilot.app.screen)
        for hit in [hit async for hit in provider.discover()]:
            assert "apply" not in (hit.text or "")
            if hit.text not in ("quit", "help"):
                hit.command()
        await pilot.pause()

        assert link.confirmed == []
        assert not any(isinstance(intent, Apply) for intent in link.intents)
        assert Doctor() in link.intents


def _found(palette: CommandPalette) -> list[str]:
    return [str(option.prompt) for option in palette.query_one(CommandList).options]


async def test_a_command_is_found_by_typing_and_what_costs_money_waits_in_the_prompt() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("ctrl+p", *"collect")
        palette = pilot.app.screen
        assert isinstance(palette, CommandPalette)
        await until(pilot, lambda: any("collect 7" in line for line in _found(palette)))
        await pilot.press("enter")
        await until(pilot, lambda: bool(pilot.app.screen.query(PromptPane)))

        prompt = pilot.app.screen.query_one(PromptPane)
        await until(pilot, lambda: prompt.value != "")
        assert prompt.value == "collect 7"
        assert link.intents == []


def test_no_action_of_the_app_signs() -> None:
    names = {
        name
        for node in (ZunoApp, *_classes())
        for name in dir(node)
        if name.startswith(("action_", "key_"))
    }

    assert not [name for name in names if "apply" in name or "confirm" in name or "sign" in name]


def _classes() -> tuple[type, ...]:
    from zuno_tui.screen.panes.plan import PlanPane
    from zuno_tui.screen.screens.desk import DeskScreen

    return DeskScreen, PlanPane
