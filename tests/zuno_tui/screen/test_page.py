"""A printed answer on a page: drawn as it is, moved through by keys, copied, closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import ScrollableContainer
from textual.widgets import Static

from tests.zuno_tui.screen.scenes import desk_app, play
from zuno_tui.desk.events import PageReady
from zuno_tui.screen.screens.page import PageScreen

if TYPE_CHECKING:
    from textual.pilot import Pilot

LINES = tuple(f"line {number}" for number in range(200))


async def _open(pilot: Pilot[None], *lines: str) -> PageScreen:
    await play(pilot, PageReady("zuno doctor", lines))
    screen = pilot.app.screen
    assert isinstance(screen, PageScreen)
    return screen


async def test_keys_move_through_it_and_escape_closes_it() -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        screen = await _open(pilot, *LINES)
        page = screen.query_one(ScrollableContainer)
        await pilot.press("j", "j")
        assert page.scroll_y == 2
        await pilot.press("G")
        assert page.scroll_y == page.max_scroll_y > 100
        await pilot.press("g", "space")
        assert 10 < page.scroll_y < 30
        await pilot.press("escape")
        await pilot.pause()

        assert not isinstance(pilot.app.screen, PageScreen)


async def test_the_same_page_again_takes_its_place() -> None:
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, "before")
        await play(pilot, PageReady("zuno doctor", ("after",)))

        assert pilot.app.screen is screen
        assert str(screen.query_one("#page-lines", Static).content) == "after"


async def test_what_was_printed_is_neither_markup_nor_control() -> None:
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, "[@click=app.quit]x[/] [/]", "\x1b[2J\x9b31m\u202eevil", "")
        await pilot.press("y")
        drawn = str(screen.query_one("#page-lines", Static).content)

        assert drawn == "[@click=app.quit]x[/] [/]\n[2J31mevil\n"
        assert pilot.app.clipboard == drawn


async def test_a_command_that_printed_nothing_says_so() -> None:
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot)

        assert str(screen.query_one("#page-lines", Static).content) == "No output."
