"""The position under the cursor in words and pictures, where there is room for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import gmtime, strftime
from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size

from chain.base.units import DAY
from chain.protocols.reference import position_label
from zuno_tui.present.charts import (
    StyledText,
    amount_figure,
    book_chart,
    fee_days,
    price_caption,
    price_chart,
    side_by_side,
    wide_gauge,
)
from zuno_tui.present.views import ChartView, GlanceView, PositionRow
from zuno_tui.screen.panes.frame import frame, literal, pane_title
from zuno_tui.screen.panes.text import PlainText, draw_lines

if TYPE_CHECKING:
    from textual.app import ComposeResult

from zuno_tui.present.charts import Line

_GAP = 3
_LABEL = 8
_SHORTEST_CHART = 6
_CHART_OVER_DAYS = 12
"""Lines of a chart that has what each day brought below it."""
_ABOVE_CHART = 2
"""Its heading, and the line before it."""
_ABOVE_DAYS = 3
"""The headings of chart and days, and the line between them."""
_STANDING = {
    "in range": "$success",
    "near edge": "$warning",
    "out of range": "$error",
    "empty": "$quiet",
}
_ADVICE = "r: ask for advice · enter: details"
_EMPTY = "Empty. h hides empty positions."


class SelectedPane(VerticalScroll, can_focus=False):
    """Follows the cursor; it asks nobody for anything that the row does not hold."""

    def __init__(self) -> None:
        super().__init__(id="selected", classes="pane")
        self._row: PositionRow | None = None
        self._height = 0

    def compose(self) -> ComposeResult:
        yield PlainText("", id="selected-words")

    def show(self, row: PositionRow | None) -> None:
        if row != self._row:
            self._row = row
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    @property
    def fewest_lines(self) -> int:
        """In which there is a chart, of a position that has one."""
        if self._row is None:
            return 1
        chart = self._row.week or self._row.chart
        return len(_told(self._row)) + (_ABOVE_CHART + _SHORTEST_CHART if chart else _ABOVE_CHART)

    def _draw(self) -> None:
        row, size = self._row, self.scrollable_content_region.size
        words = self.query_one("#selected-words", PlainText)
        if row is None or not size.width:
            frame(self, pane_title("Position"))
            words.update("")
            self._height = 0
            return
        frame(self, pane_title(f"{position_label(row.ref)} {row.pair}", row.fee, row.standing))
        told = Content("\n").join(selected_lines(row, size))
        # Arranging the whole desk anew takes longer than all that is drawn here.
        height = told.get_height({}, size.width)
        words.update(told, layout=height != self._height)
        self._height = height


def _pictured(
    glance: GlanceView | None,
) -> tuple[Sequence[tuple[float, float, float]], Sequence[tuple[str, float]]]:
    return ((), ()) if glance is None else (glance.by_hour, glance.by_day)


def selected_lines(row: PositionRow, size: Size) -> Iterator[Content]:
    """The facts, the next step, and past prices in what room is left, else the range alone."""
    facts, chart = _told(row), row.week or row.chart
    height = size.height - len(facts) - _ABOVE_CHART
    if chart is None or height < _SHORTEST_CHART:
        gauge = wide_gauge(row.progress, row.low, row.high, size.width)
        yield from (literal(gauge, _STANDING[row.standing]), Content(""), *facts)
        return
    by_day = _fee_days(row.week, size.width) if row.week else []
    if height - len(by_day) < _CHART_OVER_DAYS:
        by_day = []
    yield from facts
    yield Content("")
    yield draw_lines([(StyledText("PRICE  ", "title"), *price_caption(chart))])
    yield draw_lines([*price_chart(chart, size.width, height - len(by_day)), *by_day])


def _fee_days(week: ChartView, width: int) -> list[Line]:
    """What each UTC day brought that brought anything, under a line of its own."""
    days: dict[int, float] = {}
    for begin, amount in week.fees:
        days[int(begin) // DAY] = days.get(int(begin) // DAY, 0.0) + amount
    paid = [
        (strftime("%d %b", gmtime(day * DAY)), fees) for day, fees in sorted(days.items()) if fees
    ]
    return [(), _days_title(paid), *fee_days(paid, width)] if paid else []


def _days_title(days: Sequence[tuple[str, float]]) -> Line:
    small = max((fees for _, fees in days), default=0.0) < 1
    together = amount_figure(sum(round(fees, 4 if small else 2) for _, fees in days), small=small)
    return _titled("FEES", f"{together} by day")


class BookPane(PlainText):
    """What all positions gained in the day, and what fees their days brought."""

    def __init__(self) -> None:
        super().__init__(id="book", classes="pane")
        self._glance: GlanceView | None = None

    def show(self, glance: GlanceView | None) -> None:
        if _pictured(glance) != _pictured(self._glance):
            self._glance = glance
            self._draw()

    def on_mount(self) -> None:
        frame(self, pane_title("All positions", "by hour and day, UTC"))

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        size = self.scrollable_content_region.size
        if size.width:
            self.update(draw_lines(book_lines(*_pictured(self._glance), size)))


def book_lines(
    by_hour: Sequence[tuple[float, float, float]], by_day: Sequence[tuple[str, float]], size: Size
) -> list[Line]:
    """The day hour by hour, and under it or beside it the days where more than one is known."""
    if len(by_hour) < 2:
        return [(StyledText("No closed hour is known yet.", "dim"),)]
    stacked = size.height - len(by_day) - _ABOVE_DAYS >= _SHORTEST_CHART
    half = size.width if stacked or len(by_day) < 2 else size.width * 3 // 5
    days: list[Line] = []
    if len(by_day) > 1:
        room = size.width if stacked else size.width - half - _GAP
        days = [_days_title(by_day), *fee_days(by_day, room)]
    height = size.height - 1 - (len(days) + 1 if stacked and days else 0)
    chart = [
        _titled("GAIN", "prices and fees; bars: fees"),
        *book_chart(by_hour, half, height),
    ]
    if not days:
        return chart
    return [*chart, (), *days] if stacked else side_by_side(chart, days[: size.height], half, _GAP)


def _titled(title: str, beside: str) -> Line:
    return StyledText(title, "title"), StyledText(f"  {beside}", "dim")


def _told(row: PositionRow) -> list[Content]:
    step = literal(_EMPTY if row.standing == "empty" else _ADVICE, "$quiet")
    return [*_facts(row), step]


def _facts(row: PositionRow) -> Iterator[Content]:
    """What no column of the row says: what is in it, and how far the range's ends are."""
    for label, words in (
        ("price", f"{row.price}{_distances(row)}"),
        ("holds", row.holds),
        ("worth", f"at {row.dollars}" if row.dollars else ""),
        ("share", "" if row.share == "–" else f"{row.share} of the liquidity that earns now"),
        ("notes", ", ".join(row.notes)),
    ):
        if words:
            yield Content.assemble((f"{label:<{_LABEL}}", "$quiet"), literal(words))


def _distances(row: PositionRow) -> str:
    chart = row.chart
    if chart is None or not chart.prices[-1] or row.standing == "empty":
        return ""
    low, high = (
        f"{100 * (edge / chart.prices[-1] - 1):+.1f}%".replace("-", "−")
        for edge in (chart.low, chart.high)
    )
    return f"; low end {low}, high end {high}"
