"""How every scroll bar is drawn: one cell wide, and apart from the words beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBarRender

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


class SpacedScrollBar(ScrollBarRender):
    """Of a wider upright bar the last cell is drawn, and those before it stay blank."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        space = options.max_width - 1
        if not self.vertical or space < 1:
            yield from super().__rich_console__(console, options)
            return
        blank = Segment(" " * space, Style(bgcolor=console.get_style(self.style).bgcolor))
        for bar in super().__rich_console__(console, options.update(max_width=1)):
            for cell in bar.segments if isinstance(bar, Segments) else ():
                yield from (blank, cell, Segment.line())
