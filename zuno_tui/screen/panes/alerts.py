"""The alerts the monitor keeps: how bad, since when, and what to do about it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from msgspec.structs import replace
from textual.binding import BindingType
from textual.message import Message

from chain.base.units import age_text
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, position_label
from zuno_tui.present.alert_words import alert_words
from zuno_tui.present.views import AlertRow, AlertsView, PositionRow, PositionsView
from zuno_tui.present.words import money_figure, round_usd
from zuno_tui.screen.keys import ALERTS
from zuno_tui.screen.panes.frame import ago, frame, join_parts, literal, pane_title
from zuno_tui.screen.panes.row_table import Cell, Row, RowTable, TableColumn

_COLUMNS = (
    TableColumn("NO", 3, 6, right=True),
    TableColumn("ALERT", 0, 10),
    TableColumn("ID", 1, 9),
    TableColumn("MESSAGE", 2, 80, grows=True, goes_below=True),
    TableColumn("NEXT", 4, 24),
    TableColumn("AGE", 5, 8, least=6, right=True),
)
_FRAME_ENDS = 6
_AROUND_ROW = 6
"""The frame, the cursor's mark and a cell before the scroll bar."""
_ARROW_FROM = 60
_MUCH_USD = 1_000.0
"""So much that waits to be collected comes before a range that was left."""
_FEES = "fees"
"""The key of the row that stands for every alert about fees."""
_OVER = "over"
_MINUTE = 60
_SEVERITIES = {
    "critical": ("✗ critical", "bad"),
    "warning": ("▲ warning", "warn"),
    "info": ("· info", "dim"),
}
_WATCHERS = {
    "desk": "monitored by this desk",
    "daemon": "monitor: running",
    "nobody": "monitor: not running",
}


class AlertsPane(RowTable):
    BINDINGS: ClassVar[list[BindingType]] = [*ALERTS]

    class Opened(Message):
        def __init__(self, alert_id: str) -> None:
            self.alert_id = alert_id
            super().__init__()

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
        self._positions: Mapping[PositionRef, PositionRow] = {}
        self._unit = ""
        """As they were read last: an alert's own figures are of when it was raised."""
        self._rows_shown: tuple[AlertRow, ...] = ()
        self._now: float | None = None
        self._age_of_all = ""
        """Said once where it is the same of every row."""
        self._tells_next = True
        """Whether there is room for what to do in every row: else it is told of one."""
        self.waiting = 0
        """How many wait for somebody, those about fees together as one."""

    def show(self, view: AlertsView, now: float) -> None:
        self._view = view
        self.show_age(now)

    def show_positions(self, positions: PositionsView, now: float) -> None:
        """Prices and fees as they are now."""
        rows = {row.ref: row for row in positions.rows}
        if rows != self._positions:
            self._positions, self._unit = rows, positions.unit
            self.show_age(now)

    def show_age(self, now: float) -> None:
        view = self._view
        if view is None:
            frame(self, pane_title("2 Alerts"))
            return
        self._now = now
        self._rows_shown = gather_rows(
            [_as_now(row, self._position(row)) for row in view.rows], now, self._all_fees
        )
        # By when they began, not by their words: a column must not come and go as minutes pass.
        begun = sorted(row.since for row in self._rows_shown)
        alike = len(begun) > 1 and begun[-1] - begun[0] < _MINUTE
        self._age_of_all = _age(now - begun[0]) if alike else ""
        aged = not self._age_of_all
        # Two cells too many for a narrow pane that shows ages as well.
        arrow = "" if aged and self.size.width < _ARROW_FROM else "→ "
        words = [alert_words(row, self._position(row)) for row in self._rows_shown]
        rows = [
            alert_cells(row, now, each.words, aged=aged, arrow=arrow)
            for row, each in zip(self._rows_shown, words, strict=True)
        ]
        if self.size.width < _ARROW_FROM:
            short = [_shortened(row, each.brief) for row, each in zip(rows, words, strict=True)]
            tells_next = not _fits(short, self.size.width - _AROUND_ROW)
            if tells_next is not self._tells_next:
                self._tells_next = tells_next
                self.forget_widths()
            rows = rows if self._tells_next else short
        else:
            self._tells_next = True
        # While nobody reads them the cursor waits at its place: what is over sinks to the end.
        self.fill(rows, empty=(view.unseen or "Nothing needs you.",), stays=self.has_focus)
        self.waiting = sum(row.state in ("open", "reopened") for row in view.rows)
        self._retitle()

    def _all_fees(self, rows: Sequence[AlertRow]) -> str:
        """In the unit of the positions' own columns."""
        found = [position for position in map(self._position, rows) if position is not None]
        if not self._unit or len(found) < len(rows):
            return dollars_of_fees(rows)
        total = sum(position.fees_worth or 0.0 for position in found)
        return f"{money_figure(Fraction(total), WorthUnit(self._unit))} {self._unit}"

    def _position(self, row: AlertRow) -> PositionRow | None:
        return None if row.ref is None or row.place else self._positions.get(row.ref)

    def _retitle(self) -> None:
        view, now = self._view, self._now
        if view is None or now is None:
            return
        seen = "" if view.last_seen is None else f"seen {ago(now - view.last_seen)}"
        more = literal(f"▼ {self.rows_below} more", "bold") if self.rows_below else ""
        trouble = literal(view.trouble, "$warning") if view.trouble else ""
        below = join_parts(trouble, _WATCHERS[view.watched_by], seen, more)
        if not self._tells_next:
            watched = "" if view.watched_by == "desk" else _WATCHERS[view.watched_by]
            row = self.selection
            step = _next(row) if row is not None else ""
            does = literal(f"→ {step}", "$primary") if step else ""
            below = join_parts(trouble, watched, does, more)
        if below.cell_length > self.size.width - _FRAME_ENDS:
            below = join_parts(trouble, _WATCHERS[view.watched_by], more)
        age = self._age_of_all.replace("<", "under ")
        since = f"all {age}" if age else ""
        frame(self, pane_title("2 Alerts", _open_words(self.waiting, view), since), below)

    def on_resize(self) -> None:
        self.forget_widths()  # an arrow takes room that a narrow pane does not have
        super().on_resize()
        if self._now is not None:
            self.show_age(self._now)

    def on_row_table_pointed(self) -> None:
        self._retitle()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._retitle()

    @property
    def selection(self) -> AlertRow | None:
        if self._view is None or self.key is None:
            return None
        return next(row for row in self._rows_shown if row.alert_id == self.key)

    @property
    def _meant(self) -> tuple[str, ...]:
        """The numbers of the alerts under the cursor."""
        row = self.selection
        return () if row is None else row.members or (row.alert_id,)

    @property
    def copy_text(self) -> str:
        row = self.selection
        return "" if row is None else row.message

    def action_open(self) -> None:
        for alert_id in self._meant[:1]:
            self.post_message(self.Opened(alert_id))

    def action_acknowledge(self) -> None:
        for alert_id in self._meant:
            self.post_message(self.Acknowledged(alert_id))

    def action_mute(self, seconds: int) -> None:
        for alert_id in self._meant:
            self.post_message(self.Muted(alert_id, seconds))


def _open_words(waiting: int, view: AlertsView) -> str:
    """That none is open is only said once everything was looked at."""
    if waiting:
        return f"{waiting} open"
    return "none open" if view.unseen is None else ""


def alert_cells(
    row: AlertRow, now: float, words: str, *, aged: bool = True, arrow: str = "→ "
) -> Row:
    much = _waiting(row) >= _MUCH_USD
    severity, tone = ("$ collect", "good") if much else _SEVERITIES[row.severity]
    muted = row.muted_until is not None and row.muted_until > now
    waiting = row.state in ("open", "reopened") and not muted
    state = severity if waiting else f"· {'muted' if muted else row.state}"
    cells = (
        Cell("" if row.members else row.alert_id, "dim"),
        Cell(state, tone if waiting else "dim"),
        Cell(
            "" if row.ref is None else position_label(row.ref),
            "plain" if waiting else "dim",
        ),
        Cell(words, "plain" if waiting else "dim"),
        Cell(f"{arrow}{step}" if (step := _next(row)) else "", "strong" if waiting else "dim"),
        Cell(_age(now - row.since) if aged else "", "dim"),
    )
    return Row(row.alert_id, cells)


def _shortened(row: Row, brief: str) -> Row:
    """In one line of a narrow pane: the sign of how bad it is, and the figure that matters."""
    number, state, about, message, _, age = row.cells
    marked = Cell(f"{number.text:>2} {state.text[:1]}", state.tone)
    words = Cell(brief, message.tone)
    return row._replace(cells=(marked, Cell(""), about, words, Cell(""), age))


def _fits(rows: Sequence[Row], room: int) -> bool:
    """Whether every message stands whole beside what is left of its row."""
    widths = [max((len(row.cells[place].text) for row in rows), default=0) for place in range(4)]
    return sum(widths) + sum(map(bool, widths)) - 1 <= room


def _next(row: AlertRow) -> str:
    """What to type; of many positions only the verb, since the key types them all."""
    verb, _, named = row.next_command.partition(" ")
    return f"{verb} these" if row.members and " " in named else row.next_command


def _as_now(row: AlertRow, position: PositionRow | None) -> AlertRow:
    """With the fees that wait by the last read, where it is about those of this wallet."""
    known = position is not None and position.fees.startswith("$")
    if position is None or row.fees is None or row.place or row.state == "resolved" or not known:
        return row
    worth = position.fees_worth
    return row if worth is None else replace(row, fees=worth, waiting=worth)


def dollars_of_fees(rows: Sequence[AlertRow]) -> str:
    return round_usd(sum(row.fees or 0.0 for row in rows))


def gather_rows(
    rows: Sequence[AlertRow],
    now: float,
    words_of_fees: Callable[[Sequence[AlertRow]], str] = dollars_of_fees,
) -> tuple[AlertRow, ...]:
    """Those about fees in one row, in the place of the first; those that are over in the last."""
    over = [row for row in rows if row.state == "resolved"]
    if len(over) > 1:
        about = dict.fromkeys(position_label(row.ref) for row in over if row.ref is not None)
        folded = AlertRow(
            alert_id=_OVER,
            severity="info",
            state="resolved",
            ref=None,
            since=max(row.since for row in over),
            message=f"{len(over)} resolved: {', '.join(about)}"
            if about
            else f"{len(over)} resolved",
            next_command="",
            members=tuple(row.alert_id for row in over),
        )
        rows = (*(row for row in rows if row.state != "resolved"), folded)
    waiting = [row for row in rows if _waits_for_fees(row, now)]
    if len(waiting) < 2:
        return _most_first(rows)
    total = sum(row.fees or 0.0 for row in waiting)
    words = f"Worth collecting on {len(waiting)}, {words_of_fees(waiting)}"
    together = AlertRow(
        alert_id=_FEES,
        severity="info",
        state="open",
        ref=None,
        since=min(row.since for row in waiting),
        message=words,
        next_command=f"collect {' '.join(str(row.ref) for row in waiting)}",
        fees=total,
        waiting=total,
        members=tuple(row.alert_id for row in waiting),
    )
    first, numbers = waiting[0], {row.alert_id for row in waiting}
    return _most_first(
        together if row is first else row
        for row in rows
        if row is first or row.alert_id not in numbers
    )


def _most_first(rows: Iterable[AlertRow]) -> tuple[AlertRow, ...]:
    """As they come, but much money that only waits to be collected before what is a warning."""

    def rank(row: AlertRow) -> tuple[int, float]:
        if row.state not in ("open", "reopened"):
            return 2, 0.0
        much = _waiting(row) >= _MUCH_USD and row.severity != "critical"
        return (1, -_waiting(row)) if much else (0 if row.severity == "critical" else 2, 0.0)

    return tuple(sorted(rows, key=rank))


def _waiting(row: AlertRow) -> float:
    return row.waiting or 0.0


def _waits_for_fees(row: AlertRow, now: float) -> bool:
    muted = row.muted_until is not None and row.muted_until > now
    waiting = row.state in ("open", "reopened") and not muted
    return row.fees is not None and waiting and not row.place


def _age(seconds: float) -> str:
    """In whole minutes, then hours and days: a row's age is drawn once a minute at most."""
    minutes = int(seconds) // _MINUTE
    if minutes < 1:
        return "<1 min"
    return "1 min" if minutes == 1 else age_text(minutes * _MINUTE)
