"""A page that arrives late takes no key; it opens where nothing was typed since it was asked."""

import asyncio
import random
import time
from typing import Any

import pytest
from msgspec.structs import replace
from textual.app import App
from textual.events import Event as TextualEvent
from textual.events import Key
from textual.screen import Screen

from chain.protocols.reference import v4_position
from tests.zuno_tui.screen.scenes import MORNING, STATUS, ScriptedLink, desk_app, play, text_of
from tests.zuno_tui.screen.visit_scenes import DETAIL
from zuno_tui.desk.events import DetailReady, PageReady, StatusChanged
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import Cancel, Inspect
from zuno_tui.present.views import JobView
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.panes.positions import PositionsPane
from zuno_tui.screen.panes.prompt import PromptPane
from zuno_tui.screen.screens.desk import DeskScreen
from zuno_tui.screen.screens.page import PageScreen
from zuno_tui.screen.screens.position import PositionScreen

PAGE = PageReady("zuno history", ("a line",))
KEYS = ("down", "r", "v", "colon", "escape", "enter", "1", "G", "space", "ctrl+o")


async def test_it_opens_where_nothing_was_typed_since() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("1", "enter")
        await pilot.pause()
        await play(pilot, PAGE)

        assert isinstance(pilot.app.screen, PageScreen)


async def test_it_is_offered_where_something_was_typed_and_opens_by_its_key() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("1", "enter")
        await pilot.pause()
        await pilot.press("down")
        await play(pilot, PAGE)

        assert isinstance(pilot.app.screen, DeskScreen)
        assert "zuno history is ready: ctrl+o opens it." in text_of(pilot, "#said")
        await pilot.press("ctrl+o")
        assert isinstance(pilot.app.screen, PageScreen)


async def test_what_is_in_the_prompt_is_not_interrupted() -> None:
    app = desk_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("colon", *"doc")
        app._note_asked()  # asked before the first letter came through
        await play(pilot, PAGE)
        await pilot.press("t")

        assert pilot.app.screen.query_one(PromptPane).value == "doct"


@pytest.mark.parametrize("asks_meanwhile", [(), ("colon", *"records", "enter")])
async def test_what_is_read_later_of_a_closed_page_brings_it_not_back(
    asks_meanwhile: tuple[str, ...],
) -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("1", "enter")
        await pilot.pause()
        await play(pilot, DetailReady(DETAIL))
        assert isinstance(pilot.app.screen, PositionScreen)
        await pilot.press("escape", *asks_meanwhile)
        await pilot.pause()
        await play(pilot, DetailReady(DETAIL, opens=False))

        assert isinstance(pilot.app.screen, DeskScreen)
        assert "is ready" not in text_of(pilot, "#said")


async def test_a_page_that_waits_opens_with_all_that_was_read_of_it() -> None:
    more = replace(DETAIL, title="the whole of it")
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("1", "enter", "down")
        await play(pilot, DetailReady(DETAIL), DetailReady(more, opens=False))
        await pilot.press("ctrl+o")

        page = pilot.app.screen.query_one("#detail")
        assert str(page.border_title) == "the whole of it"


@pytest.mark.parametrize("first", [(), ("colon",)])
async def test_escape_ends_the_reading_of_a_page(first: tuple[str, ...]) -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        job = JobView("inspect", "Reading position #28", opens_page=True)
        debate = JobView("debate", "Arguing")
        await play(pilot, StatusChanged(replace(STATUS, jobs=(job, debate))))
        await pilot.press(*first, "escape")

        assert link.intents == [Cancel("inspect")]


async def test_what_was_typed_and_sent_gives_the_focus_back() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("colon", *"inspect 7", "enter")
        await pilot.pause()

        assert link.intents == [Inspect(v4_position(7))]
        assert isinstance(pilot.app.focused, PositionsPane)


class _SlowLink(ScriptedLink):
    """Answers whatever is asked with a page, some milliseconds later."""

    app: ZunoApp
    chance: random.Random

    def ask(self, intent: Intent) -> None:
        super().ask(intent)
        page = PageReady(f"page {len(self.intents)}", ("a line",))
        asyncio.get_running_loop().call_later(self.chance.random() / 20, self.app.hear, page)


@pytest.mark.parametrize(
    ("seed", "keys"), [(1, 100), *(pytest.param(n, 200, marks=pytest.mark.soak) for n in (1, 2, 3))]
)
async def test_keys_at_random_moments_reach_no_page_they_were_not_typed_at(
    seed: int, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, link = random.Random(seed), _SlowLink()
    painted: dict[Screen[Any], float] = {}
    reached: list[tuple[float, Screen[Any]]] = []
    display, dispatch = App._display, App.on_event

    def note_paint(app: App[None], screen: Screen[Any], renderable: Any) -> None:
        display(app, screen, renderable)
        painted.setdefault(screen, time.monotonic())

    async def note_key(app: App[None], event: TextualEvent) -> None:
        if isinstance(event, Key):
            reached.append((event.time, app.screen))
        await dispatch(app, event)

    monkeypatch.setattr(App, "_display", note_paint)
    monkeypatch.setattr(App, "on_event", note_key)
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        link.app, link.chance = pilot.app, chance  # type: ignore[assignment]
        await play(pilot, *MORNING)
        for _ in range(keys):
            pilot.app.post_message(Key(chance.choice(KEYS), None))
            await asyncio.sleep(chance.choice((0, 0.002, 0.01, 0.02, 0.05, 0.1)))
        await pilot.pause(0.1)

    pages = {screen for screen in painted if isinstance(screen, PageScreen)}
    assert len(pages) > 3
    early = [at for at, screen in reached if screen in pages and at < painted[screen]]
    assert not early
