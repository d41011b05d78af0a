"""The position under the cursor in words and pictures, where there is room for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.content import Content

from zuno_tui.screen.panes.frame import frame, literal, pane_title
from zuno_tui.screen.panes.plain_text import PlainText
from zuno_tui.shown.drawing.pieces import sparkline, wide_gauge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult

    from zuno_tui.shown.views import PositionRow

_LABEL = 12
_STANDING = {
    "in range": "$success",
    "near edge": "$warning",
    "out of range": "$error",
    "empty": "$quiet",
}
_NEXT = {
    "out of range": "It earns nothing now. r lets the agents argue what to do.",
    "near edge": "It may soon earn nothing. r lets the agents argue what to do.",
    "in range": "r asks whether there is something better; enter opens all that is known.",
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
        row, width = self._row, self.scrollable_content_region.width
        if row is None or not width:
            frame(self, pane_title("Position"))
            return
        frame(self, pane_title(f"#{row.token_id} {row.pair}", row.fee, row.standing))
        words = self.query_one("#selected-words", PlainText)
        words.update(Content("\n").join(selected_lines(row, width)))


def selected_lines(row: PositionRow, width: int) -> Iterator[Content]:
    style = _STANDING[row.standing]
    yield Content("")
    yield literal(wide_gauge(row.progress, row.low, row.high, width), style)
    yield literal(f"price now {row.price}".center(width).rstrip(), "bold")
    yield Content("")
    if trend := sparkline(row.trail, width - _LABEL):
        yield Content.assemble((f"{'in range':<{_LABEL}}", "$quiet"), (trend, "$primary"))
        hours = len(row.trail) - 1
        yield Content.assemble(" " * _LABEL, (f"the last {hours} h, newest right", "$quiet"))
        yield Content("")
    for label, value in (
        ("value", row.value),
        ("fees", f"{row.fees} waiting"),
        ("fee APR", row.fee_apr),
        ("vs holding", row.against_holding),
        ("net a day", row.net_a_day),
        ("share", row.share),
        ("notes", ", ".join(row.notes)),
    ):
        if value:
            yield Content.assemble((f"{label:<{_LABEL}}", "$quiet"), literal(value))
    yield Content("")
    yield literal(_NEXT[row.standing], "$quiet")
