"""The alerts the monitor keeps: how bad, since when, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from zuno_tui.screen.keys import ALERTS
from zuno_tui.screen.panes.frame import ago, coarse_age, frame, joined, literal, pane_title
from zuno_tui.screen.panes.row_table import Cell, Row, RowTable, TableColumn

if TYPE_CHECKING:
    from textual.binding import BindingType

    from zuno_tui.shown.views import AlertRow, AlertsView

_COLUMNS = (
    TableColumn("ALERT", 0, 10),
    TableColumn("ID", 1, 9),
    TableColumn("AGE", 4, 8, least=6, right=True),
    TableColumn("MESSAGE", 2, 80, grows=True),
    TableColumn("NEXT", 3, 22),
)
_NEW_SECONDS = 300
_SEVERITIES = {
    "critical": ("✗ critical", "bad"),
    "warning": ("▲ warning", "warn"),
    "info": ("· info", "dim"),
}
_WATCHERS = {
    "desk": "monitor: this desk",
    "daemon": "monitor: running",
    "nobody": "monitor: nobody watches",
}


class AlertsPane(RowTable):
    BINDINGS: ClassVar[list[BindingType]] = [*ALERTS]

    class Acknowledged(Message):
        def __init__(self, alert_id: str) -> None:
            self.alert_id = alert_id
            super().__init__()

    class Muted(Message):
        def __init__(self, alert_id: str, seconds: int) -> None:
            self.alert_id = alert_id
            self.seconds = seconds
            super().__init__()

    def __init__(self) -> None:
        super().__init__(_COLUMNS, id="alerts", classes="pane")
        self._view: AlertsView | None = None

    def show(self, view: AlertsView, now: float) -> None:
        self._view = view
        self.show_age(now)

    def show_age(self, now: float) -> None:
        view = self._view
        if view is None:
            frame(self, pane_title("2 Alerts"))
            return
        rows = [_row(row, now) for row in view.rows]
        # While nobody reads them the cursor waits at its place: what is over sinks to the end.
        self.fill(rows, empty=(view.unseen or "Nothing needs you.",), stays=self.has_focus)
        waiting = sum(row.state in ("open", "reopened") for row in view.rows)
        seen = "" if view.last_seen is None else f"seen {ago(now - view.last_seen)}"
        frame(
            self,
            pane_title("2 Alerts", f"{waiting} open" if waiting else "none open"),
            joined(
                literal(view.trouble, "$warning") if view.trouble else "",
                _WATCHERS[view.watched_by],
                seen,
            ),
        )

    @property
    def selected(self) -> AlertRow | None:
        if self._view is None or self.key is None:
            return None
        return next(row for row in self._view.rows if row.alert_id == self.key)

    @property
    def copied(self) -> str:
        row = self.selected
        return "" if row is None else row.message

    def action_acknowledge(self) -> None:
        if self.key is not None:
            self.post_message(self.Acknowledged(self.key))

    def action_mute(self, seconds: int) -> None:
        if self.key is not None:
            self.post_message(self.Muted(self.key, seconds))


def _row(row: AlertRow, now: float) -> Row:
    severity, tone = _SEVERITIES[row.severity]
    muted = row.muted_until is not None and row.muted_until > now
    waiting = row.state in ("open", "reopened") and not muted
    state = severity if waiting else f"· {'muted' if muted else row.state}"
    cells = (
        Cell(state, tone if waiting else "dim"),
        Cell("" if row.token_id is None else f"#{row.token_id}", "strong" if waiting else "dim"),
        Cell(_age(now - row.since), "dim"),
        # Which position it is about stands in its own column already.
        Cell(_message(row), "plain" if waiting else "dim"),
        Cell(row.next_command, "good" if waiting else "dim"),
    )
    return Row(row.alert_id, cells)


def _message(row: AlertRow) -> str:
    words = row.message.removeprefix(f"#{row.token_id} ")
    return f"{row.place}: {words}" if row.place else words


def _age(seconds: float) -> str:
    """Coarser than elsewhere: alerts come many at once, and would all be drawn anew each minute."""
    return "<5 min" if seconds < _NEW_SECONDS else coarse_age(seconds)
