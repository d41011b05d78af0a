"""The trade desk on the screen: a run as it goes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content

from zuno_tui.charts.drawing import ChartError, require_chart_packages
from zuno_tui.desk.events import Event
from zuno_tui.desk.link import DeskLink
from zuno_tui.features.trade.drawing import (
    chart_words,
    head_lines,
    is_in_columns,
    outcome_lines,
    sections,
    without_orphan,
)
from zuno_tui.features.trade.events import TradeChanged, TradeOpened
from zuno_tui.features.trade.intents import Trade
from zuno_tui.present.charts import StyledText, price_chart
from zuno_tui.screen.graphics.picture import PictureWay
from zuno_tui.screen.keys import TRADING
from zuno_tui.screen.panes.frame import SEPARATOR, heading, join_parts, literal
from zuno_tui.screen.panes.text import KeyLine, PlainText, draw_lines
from zuno_tui.screen.screens.sub_screen import SubScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from zuno_tui.features.trade.run_parts import TradeRunView


_NARROWEST = 40
_TALL = 36
_LEAST_CHART, _ABOVE_CHART = 10, 2
_INDENT = StyledText("  ")


@runtime_checkable
class Picturing(Protocol):
    """An app that knows which way its terminal can show a picture."""

    pictures: PictureWay


_BESIDE = ("experts", "conflict-map")
_IN_COLUMNS = tuple(f"trade-{name}" for name in _BESIDE)


class TradeScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*TRADING]
    ABOUT = "trade"

    def __init__(self, link: DeskLink, view: TradeRunView) -> None:
        super().__init__(link)
        self._view = view
        self._alone = False
        """Whether the experts have the whole width."""

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="trade", classes="visit", can_focus=False):
            yield PlainText(id="trade-verdict")
            yield PlainText(id="trade-ladder")
            with Container(id="trade-columns"):
                yield from (PlainText(id=f"trade-{name}") for name in _BESIDE)
            yield PlainText(id="trade-sources")
            yield PlainText(id="trade-prices")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._draw()
        for change in ("scroll_y", "virtual_size"):
            self.watch(self._page, change, self._show_rest, init=False)

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._draw)

    def hear(self, event: Event) -> bool:
        match event:
            case TradeOpened(view) | TradeChanged(view):
                self._view = view
                self._draw()
                self._show_keys()
                return True
            case _:
                return False

    def action_go_on(self, _step: Literal["approve", "apply", "anyway"]) -> None:
        self.leave_with(self._view.next_phrase)

    def action_ask(self, subject: Literal["why", "report", "status", "memory"]) -> None:
        self.link.ask(Trade(subject))

    def action_chart(self) -> None:
        """As a picture where the terminal knows them, else in characters."""
        from zuno_tui.screen.screens.chart import ChartScreen, Picture, PriceChart

        view = self._view
        way = self.app.pictures if isinstance(self.app, Picturing) else "blocks"
        if view.prices is not None and (way == "blocks" or not view.chart):
            title = f"{view.subject} · the last 7 days, UTC"
            below = partial(outcome_lines, view)
            chart = PriceChart(chart_words(view), view.prices, below)
            self.app.push_screen(ChartScreen(self.link, title, chart))
            return
        try:
            require_chart_packages()
            png = Path(view.chart).read_bytes()
        except (ChartError, OSError):
            self._page.border_subtitle = literal("the picture is gone, or the extra charts is")
            return
        self.app.push_screen(ChartScreen(self.link, view.subject, Picture(png, way)))

    def action_scroll_lines(self, step: int) -> None:
        self._page.scroll_relative(y=step, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "go_on":
                return self._view.next_phrase.rpartition(" ")[2] in parameters
            case "chart":
                return bool(self._view.chart) or self._view.prices is not None
            case "ask":
                return bool(self._view.plan_id) or parameters in (("status",), ("memory",))
            case _:
                return super().check_action(action, parameters)

    @property
    def _page(self) -> VerticalScroll:
        return self.query_one("#trade", VerticalScroll)

    def _draw(self) -> None:
        view = self._view
        page = self._page
        mode = view.mode if view.ref is None else ""
        venue = view.venue.replace(":", SEPARATOR)
        page.border_title = literal(SEPARATOR.join(filter(None, (view.subject, mode, venue))))
        self._show_rest()
        top = self.query_one("#trade-verdict", PlainText)
        width = self._cells(top)
        whole = self.size.height >= _TALL
        told = () if whole and is_in_columns(view, width) else sections(view, whole=whole)
        verdict = head_lines(view, width, whole=whole)
        head = without_orphan(verdict, page.scrollable_content_region.height)
        top.update(draw_lines(head))
        for part in self.query(
            "#trade-ladder, #trade-sources, #trade-experts, #trade-conflict-map"
        ):
            part.display = False
        self._alone = not any(section.title == "CONFLICT MAP" for section in told)
        self.query_one("#trade-experts").set_class(self._alone, "-alone")
        for section in told:
            name = section.title.lower().replace(" ", "-")
            part = self.query_one(f"#trade-{name}", PlainText)
            inner = section.draw(self._cells(part) - len(_INDENT.text))
            lines = [draw_lines([(_INDENT, *line) for line in inner])] if inner else []
            part.display = True
            part.update(
                Content("\n").join([Content(""), heading(section.title, section.beside), *lines])
            )
        self.query_one("#trade-prices").display = False
        self.call_after_refresh(self._draw_prices)

    def _draw_prices(self) -> None:
        """The week's prices in what room is left; a key opens them where there is none."""
        page, part = self._page, self.query_one("#trade-prices", PlainText)
        drawn_to = max(child.virtual_region.bottom for child in page.children if child.display)
        left = page.scrollable_content_region.height - drawn_to
        if self._view.prices is None or left < _LEAST_CHART or part.display:
            return
        width = max(_NARROWEST, page.scrollable_content_region.width - 1)
        chart = draw_lines(price_chart(self._view.prices, width, left - _ABOVE_CHART))
        part.update(
            Content("\n").join([Content(""), heading("PRICE", "the last 7 days, UTC"), chart])
        )
        part.display = True

    def _show_rest(self) -> None:
        """What leads on, and how many lines are below the last one in sight."""
        page, view = self._page, self._view
        below = round(page.max_scroll_y - page.scroll_offset.y)
        more = literal(f"▼ {below} more", "bold") if below > 0 else ""
        page.border_subtitle = join_parts(more, view.working or _next_words(view))
        prices = self.query_one("#trade-prices")
        if prices.display and below > 0:
            prices.display = False  # Drawn before the parts above it had their height.
        elif not prices.display:
            self.call_after_refresh(self._draw_prices)

    def _cells(self, part: PlainText) -> int:
        """Of one that was hidden until now a little less than it will have."""
        in_columns = self.has_class("-wide") and part.id in _IN_COLUMNS
        page = self._page.scrollable_content_region.width
        if in_columns and self._alone:
            return max(_NARROWEST, page - 1)
        return max(_NARROWEST, part.content_size.width or page // (3 if in_columns else 1))


def _next_words(view: TradeRunView) -> str | Content:
    if view.next_phrase:
        step = view.next_phrase
        return literal(f"{'enter' if step == 'apply' else 'a'}: {step}", "bold $accent")
    return "nothing is sent" if not view.progress else ""
