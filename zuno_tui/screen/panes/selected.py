"""The position under the cursor in words and pictures, where there is room for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.content import Content

from zuno_tui.present.charts import price_chart, wide_gauge
from zuno_tui.screen.panes.frame import frame, literal, pane_title
from zuno_tui.screen.panes.text import PlainText, drawn

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.geometry import Size

    from zuno_tui.present.views import PositionRow

_FACT = 22
_LABEL = 11
_SHORTEST_CHART = 6
_STANDING = {
    "in range": "$success",
    "near edge": "$warning",
    "out of range": "$error",
    "empty": "$quiet",
}
_NEXT = {
    "out of range": "No fees until the price is back. r: what the agents advise.",
    "near edge": "No fees once the price leaves. r: what the agents advise.",
    "in range": "r: is there anything better?  enter: all that is known of it.",
    "empty": "Nothing is in it. h hides empty positions.",
}


class SelectedPane(VerticalScroll, can_focus=False):
    """Follows the cursor; it asks nobody for anything that the row does not hold."""

    def __init__(self) -> None:
        super().__init__(id="selected", classes="pane")
        self._row: PositionRow | None = None

    def compose(self) -> ComposeResult:
        yield PlainText("", id="selected-words")

    def show(self, row: PositionRow | None) -> None:
        if row == self._row:
            return
        self._row = row
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        row, size = self._row, self.scrollable_content_region.size
        words = self.query_one("#selected-words", PlainText)
        if row is None or not size.width:
            frame(self, pane_title("Position"))
            words.update("")
            return
        frame(self, pane_title(f"#{row.token_id} {row.pair}", row.fee, row.standing))
        words.update(Content("\n").join(selected_lines(row, size)))


def selected_lines(row: PositionRow, size: Size) -> Iterator[Content]:
    """The range, the facts, the next step, and the price of the day in what room is left."""
    style = _STANDING[row.standing]
    above = [
        literal(wide_gauge(row.progress, row.low, row.high, size.width), style),
        Content.assemble(("price now ", "$quiet"), literal(row.price, "bold")),
        Content(""),
        *_facts(row, size.width),
        literal(_NEXT[row.standing], "$quiet"),
    ]
    yield from above
    height = size.height - len(above) - 1
    if row.chart is not None and height >= _SHORTEST_CHART:
        yield Content("")
        yield drawn(price_chart(row.chart, size.width, height))


def _facts(row: PositionRow, width: int) -> Iterator[Content]:
    """Side by side, as many as the width has room for."""
    told = [
        Content.assemble((f"{label:<{_LABEL}}", "$quiet"), literal(f"{value:<{_FACT - _LABEL}}"))
        for label, value in (
            ("value", row.value),
            ("fees", row.fees),
            ("fee APR", row.fee_apr),
            ("vs holding", row.against_holding),
            ("net a day", row.net_a_day),
            ("share", row.share),
            ("notes", ", ".join(row.notes)),
        )
        if value
    ]
    columns = max(1, width // _FACT)
    for first in range(0, len(told), columns):
        yield Content("").join(told[first : first + columns])
