"""The chart of a run of the trade desk, as well as the terminal can show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from zuno_tui.charts.drawing import Rgb, half_blocks, raster, shades
from zuno_tui.desk.link import DeskLink
from zuno_tui.present.charts import Line, StyledText, chart_caption, price_chart
from zuno_tui.present.views import ChartView
from zuno_tui.screen.graphics.picture import FORGET, PictureWay, kitty_picture, sixel_picture
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.text import KeyLine, PlainText, draw_lines
from zuno_tui.screen.screens.sub_screen import SubScreen
from zuno_tui.screen.themes import COLOURLESS

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Resize


_CELL = (8, 16)
"""Dots of a cell, where the terminal is not asked for its own."""
_WITH_MORE = 40
"""Lines from which there is room for more than the chart."""


class Picture(Widget):
    """Drawn in cells, or left empty for the terminal to draw over."""

    DEFAULT_CSS = "Picture { width: 1fr; height: 1fr; }"

    def __init__(self, png: bytes, way: PictureWay) -> None:
        super().__init__()
        self._png = png
        self._way = way
        self._lines: list[Strip] = []

    def on_resize(self, event: Resize) -> None:
        width, height = event.size
        if not width or not height:
            return
        if self._way == "blocks":
            self._lines = self._drawn(width, height)
            self.refresh()
        else:
            self.call_after_refresh(self._draw_over)

    def on_unmount(self) -> None:
        if self._way == "kitty":
            self._write(FORGET)

    def render_line(self, y: int) -> Strip:
        return self._lines[y] if y < len(self._lines) else Strip.blank(self.size.width)

    def _drawn(self, width: int, height: int) -> list[Strip]:
        if self.app.theme == COLOURLESS:
            return [Strip([Segment(line)]) for line in shades(self._png, width, height)]
        return [Strip(_segments(line)) for line in half_blocks(self._png, width, height)]

    def _draw_over(self) -> None:
        region = self.content_region
        if self._way == "kitty":
            picture = FORGET + kitty_picture(self._png, region.width, region.height)
        else:
            dots = raster(self._png, region.width * _CELL[0], region.height * _CELL[1])
            picture = sixel_picture(dots.pixels, dots.palette)
        self._write(f"\x1b7\x1b[{region.y + 1};{region.x + 1}H{picture}\x1b8")

    def _write(self, text: str) -> None:
        driver = self.app._driver
        if driver is not None:
            driver.write(text)


_LEAST_ROWS = 14
"""Of the prices, whatever stands below them."""


class PriceChart(PlainText):
    """The same in characters, where the terminal knows no pictures."""

    DEFAULT_CSS = "PriceChart { width: 1fr; height: 1fr; }"

    def __init__(
        self, about: str, prices: ChartView, below: Callable[[int], Sequence[Line]] = lambda _: ()
    ) -> None:
        super().__init__("")
        self._about = about
        self._prices = prices
        self._below = below
        """In so many cells, where a chart is high enough without."""

    def on_resize(self) -> None:
        width, height = self.content_size
        if width and height:
            above: list[Line] = [(StyledText(each, "strong"),) for each in wrap(self._about, width)]
            above += (chart_caption(self._prices), ())
            below: list[Line] = []
            if height >= _WITH_MORE:
                above, below = [(), *above[:-1]], [(), *self._below(width)]
                below = below[: max(height - len(above) - _LEAST_ROWS, 0)]
            chart = price_chart(self._prices, width, height - len(above) - len(below))
            self.update(draw_lines([*above, *chart, *below]))


def _segments(line: list[tuple[Rgb, Rgb]]) -> list[Segment]:
    return [Segment("▀", Style(color=_hex(upper), bgcolor=_hex(lower))) for upper, lower in line]


def _hex(colour: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


class ChartScreen(SubScreen):
    ABOUT: ClassVar[str] = "chart"

    def __init__(self, link: DeskLink, title: str, picture: Widget) -> None:
        super().__init__(link)
        self._title = title
        self._picture = picture

    def compose(self) -> ComposeResult:
        picture = self._picture
        picture.add_class("visit")
        picture.border_title = literal(self._title)
        yield picture
        yield KeyLine(id="keys")
