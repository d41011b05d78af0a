"""Text on the screen: as high as its newest words, and never markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App

from zuno_tui.screen.panes.text import PlainText

if TYPE_CHECKING:
    from textual.app import ComposeResult


class _One(App[None]):
    CSS = "PlainText { height: auto; }"

    def compose(self) -> ComposeResult:
        yield PlainText("one")


async def test_words_that_follow_a_layout_at_once_are_all_shown() -> None:
    async with _One().run_test() as pilot:
        text = pilot.app.query_one(PlainText)
        await pilot.pause()

        text.update("two\nlines")
        # As when another pane changes before this one was idle.
        pilot.app.screen._clear_arrangement_cache()
        pilot.app.screen._refresh_layout()
        text.update("now\nthere\nare\nfive\nlines")
        await pilot.pause()

        assert text.size.height == 5


async def test_words_in_brackets_are_words() -> None:
    async with _One().run_test() as pilot:
        text = pilot.app.query_one(PlainText)

        text.update("[red]USDC[/red]")
        await pilot.pause()

        assert str(text.visual) == "[red]USDC[/red]"
