"""One position with everything that is known of it: pictures, facts, history, its hook."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Container, VerticalScroll
from textual.content import Content

from zuno_tui.commands.range import ChooseRange
from zuno_tui.commands.recommend import Recommend
from zuno_tui.desk.events import DetailReady
from zuno_tui.screen.keys import DETAIL
from zuno_tui.screen.panes.drawn import drawn
from zuno_tui.screen.panes.frame import heading, literal
from zuno_tui.screen.panes.lines import KeyLine
from zuno_tui.screen.panes.plain_text import PlainText
from zuno_tui.screen.screens.sub_screen import SubScreen
from zuno_tui.shown.drawing.chart import price_chart
from zuno_tui.shown.drawing.days import day_bars
from zuno_tui.shown.drawing.depth import depth_picture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from zuno_tui.desk.events import Event
    from zuno_tui.desk.link import DeskLink
    from zuno_tui.shown.views import DetailView

_CHART = 12
_DEPTH = 8
_LABEL = 13
_NARROWEST = 30


class PositionScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*DETAIL]
    ABOUT = "position"

    def __init__(self, link: DeskLink, view: DetailView) -> None:
        super().__init__(link)
        self._view = view

    def compose(self) -> ComposeResult:
        with (
            VerticalScroll(id="detail", classes="visit", can_focus=False) as page,
            Container(id="detail-columns"),
        ):
            page.border_title = literal(self._view.title)
            yield PlainText(id="pictures")
            yield PlainText(id="facts")
        yield KeyLine(id="keys")

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._draw)

    def hear(self, event: Event) -> bool:
        """The same position read again, or another one asked for from here."""
        match event:
            case DetailReady(view):
                self._view = view
                self.query_one("#detail").border_title = literal(view.title)
                self._draw()
                return True
            case _:
                return False

    def action_recommend(self) -> None:
        self.leave_asking(Recommend(self._view.token_id))

    def action_range(self) -> None:
        self.leave_asking(ChooseRange(str(self._view.token_id)))

    def action_offer(self, verb: str) -> None:
        self.leave_with(f"{verb} {self._view.token_id}")

    def action_scroll_lines(self, step: int) -> None:
        self.query_one("#detail", VerticalScroll).scroll_relative(y=step, animate=False)

    def _draw(self) -> None:
        pictures, facts = (self.query_one(name, PlainText) for name in ("#pictures", "#facts"))
        width, beside = (max(_NARROWEST, each.content_size.width) for each in (pictures, facts))
        pictures.update(_stacked(_pictures(self._view, width)))
        facts.update(_stacked(_words(self._view, beside)))


def _pictures(view: DetailView, width: int) -> Iterator[Content]:
    chart = view.price
    if chart is None or not chart.prices:
        yield heading("PRICE")
        yield literal("No swap of this pool is known yet.", "$quiet")
    else:
        yield heading("PRICE", "between the two lines it earns")
        yield drawn(price_chart(chart, width, _CHART))
    yield Content("")
    if chart is not None and chart.prices and view.liquidity:
        yield heading("LIQUIDITY", "around the price; the line below is the range")
        yield drawn(
            depth_picture(
                view.liquidity,
                low=chart.low,
                high=chart.high,
                price=chart.prices[-1],
                width=width,
                height=_DEPTH,
            )
        )
        yield Content("")
    yield heading("BY DAY", "fees less what arbitrage took (LVR)")
    if view.fees_by_day:
        yield drawn(day_bars(view.fees_by_day, width))
        yield from (literal(line, "$quiet") for line in wrap(view.days_sum, width))
    else:
        yield literal("No whole day is known yet.", "$quiet")


def _words(view: DetailView, width: int) -> Iterator[Content]:
    yield heading("FACTS")
    for label, words in view.facts:
        lines = wrap(words, width - _LABEL, break_on_hyphens=False) or [""]
        for place, line in enumerate(lines):
            yield Content.assemble(
                literal(f"{'' if place else label:<{_LABEL}}", "$quiet"), literal(line)
            )
    if view.hook:
        yield Content("")
        yield heading("HOOK", "what it may do to you")
        yield from (literal(sentence) for sentence in view.hook)
    yield Content("")
    yield heading("HISTORY")
    yield from (literal(line) for line in view.history or ("Nothing is known of it.",))


def _stacked(parts: Iterator[Content]) -> Content:
    return Content("\n").join(parts)
