"""A command's answer as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import ScrollableContainer
from textual.content import Content
from textual.screen import Screen

from zuno_tui.desk.events import Event, PageReady
from zuno_tui.present.pages.page import draw_page
from zuno_tui.screen.keys import PAGE
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.text import PlainText, draw_lines
from zuno_tui.screen.screens.asking import Asking

if TYPE_CHECKING:
    from textual.app import ComposeResult


_NOTHING = "No output."


class PageScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [*PAGE]
    CSS = """
    PageScreen { background: $background; }
    #page {
        border: round $primary; padding: 0 0 0 1; height: 1fr; background: $background;
        border-title-style: bold; border-title-color: $primary; border-subtitle-color: $quiet;
        scrollbar-gutter: stable;
    }
    #page-lines { width: auto; min-width: 100%; height: auto; }
    """

    def __init__(self, page: PageReady) -> None:
        super().__init__()
        self._ready = page
        self._width = 0

    def compose(self) -> ComposeResult:
        keys = "escape closes · space and b turn the page · y copies"
        view = self._ready.view
        with ScrollableContainer(id="page") as page:
            page.border_title = literal(self._ready.title if view is None else view.title)
            page.border_subtitle = literal(f"$ {self._ready.title} · {keys}" if view else keys)
            yield PlainText(self._text(), id="page-lines")

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Lines are drawn for the width there is."""
        width = self._page.scrollable_content_region.width
        if self._ready.view is not None and width != self._width:
            self._width = width
            self._draw()

    def hear(self, event: Event) -> bool:
        """The same page, printed anew, takes this one's place."""
        match event:
            case PageReady(title) if title == self._ready.title:
                self._ready = event
                self._draw()
                return True
            case _:
                return False

    def action_prompt(self) -> None:
        """What is typed right after it goes to the prompt already."""
        self.dismiss()
        if isinstance(desk := self.app.screen_stack[0], Asking):
            desk.offer("")

    def action_scroll(self, step: int) -> None:
        self._page.scroll_relative(y=step, animate=False)

    def action_page(self, direction: int) -> None:
        self._page.scroll_relative(y=direction * max(1, self._page.size.height - 1), animate=False)

    def action_edge(self, last: int) -> None:
        self._page.scroll_to(y=self._page.max_scroll_y * last, animate=False)

    def action_sideways(self, direction: int) -> None:
        self._page.scroll_relative(x=direction * 8, animate=False)

    def action_copy_page(self) -> None:
        self.app.copy_to_clipboard(self._text().plain)

    @property
    def _page(self) -> ScrollableContainer:
        return self.query_one("#page", ScrollableContainer)

    def _draw(self) -> None:
        self.query_one("#page-lines", PlainText).update(self._text())

    def _text(self) -> Content:
        if self._ready.view is not None:
            return draw_lines(draw_page(self._ready.view, self._width or None))
        return Content("\n").join(literal(line) for line in self._ready.lines or (_NOTHING,))
