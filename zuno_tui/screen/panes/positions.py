"""The positions: where each price stands in its range, what it is worth and what it earned."""

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from chain.protocols.reference import PositionRef, position_label, position_name
from zuno_tui.present.charts import WIDTH as GAUGE_WIDTH
from zuno_tui.present.charts import range_gauge
from zuno_tui.present.views import PositionRow, PositionsView, Standing
from zuno_tui.present.words import UNKNOWN
from zuno_tui.screen.kept_view import KeptView
from zuno_tui.screen.keys import POSITIONS
from zuno_tui.screen.panes.frame import ago, frame, join_parts, literal, pane_title
from zuno_tui.screen.panes.row_table import Cell, Row, Rows, RowTable, TableColumn

_SHORT_GAUGE, _LONG_GAUGE = 10, 26
_USUAL_GAUGE_FROM, _LONG_GAUGE_FROM = 90, 170
"""Cells of the pane from which on there is room for it."""
_SAME_AGE_SECONDS = 60.0
_DYNAMIC = "* dynamic fee"
_COLUMNS = (
    TableColumn("ID", 0, 9),
    TableColumn("PAIR", 1, 22),
    TableColumn("VER", 14, 3, spacious=True),
    TableColumn("STATE", 2, 12),
    TableColumn("RANGE", 3, _LONG_GAUGE),
    TableColumn("VALUE", 4, 13, right=True),
    TableColumn("COLLECT", 5, 11, right=True),
    TableColumn("APR 24H", 7, 8, right=True),
    TableColumn("VS HOLD", 6, 12, right=True),
    TableColumn("NET 24H", 8, 11, right=True),
    TableColumn("PRICE 24H", 11, 9, right=True, spacious=True),
    TableColumn("PRICE", 12, 12, right=True, spacious=True),
    TableColumn("FROM – TO", 13, 27, right=True, spacious=True),
    TableColumn(" NOTES", 10, 22),
)
_MONEY = (5, 6, 8, 9)
"""The columns of `PositionRow.figures`."""
_NEEDS = {"out of range": 3.0, "near edge": 2.0, "in range": 1.0, "empty": 0.0}
_ORDERS: dict[str, tuple[int, Callable[[PositionRow], float | None]]] = {
    "by what needs you": (3, lambda row: _NEEDS[row.standing]),
    "by value": (5, lambda row: row.worth),
    "by fees": (6, lambda row: row.fees_worth),
    "by APR": (7, lambda row: row.apr),
    "by vs hold": (8, lambda row: row.gained),
    "by number": (0, lambda _: 0.0),
}
"""What the rows can be sorted by, with its column, the most first; what is unknown comes last."""
ORDERS = tuple(_ORDERS)
_BY_COLUMN = {column: name for name, (column, _) in _ORDERS.items()}
# The glyph is for the eye, the word for everyone.
_STATES: dict[Standing, tuple[str, str]] = {
    "in range": ("● in range", "good"),
    "near edge": ("▲ near edge", "warn"),
    "out of range": ("✗ out", "bad"),
    "empty": ("○ empty", "dim"),
}


class _Manner(NamedTuple):
    """How every row is drawn: the gauge's cells, whether two protocols are told apart, its age."""

    gauge: int
    several: bool
    stale: bool


class PositionsPane(RowTable):
    BINDINGS: ClassVar[list[BindingType]] = [*POSITIONS]

    class FilterAsked(Message):
        """A line to narrow the rows by is wanted."""

    def __init__(self, kept: KeptView = KeptView()) -> None:  # noqa: B008 - frozen
        super().__init__(_COLUMNS, id="positions", classes="pane -front")
        self._drawn_rows: dict[PositionRef, tuple[PositionRow, _Manner, Row]] = {}
        self._view: PositionsView | None = None
        self._order = kept.order if kept.order in _ORDERS else ORDERS[0]
        self.sorted_by = _ORDERS[self._order][0]
        self._filter = kept.filter
        self._hides_empty = kept.hides_empty

    def on_mount(self) -> None:
        self.fill((), empty=_nothing(PositionsView()))

    def on_resize(self) -> None:
        self.forget_widths()  # the gauge is as long as there is room
        super().on_resize()
        self._again(None)

    def show(self, view: PositionsView, now: float) -> None:
        if self._view is not None and self._view.unit != view.unit:
            self.forget_widths()
        self._view = view
        self._fill(view)
        self.show_age(now)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._retitle(None)

    def narrow(self, words: str, now: float) -> None:
        """Only rows that hold every one of these words."""
        self._filter = words
        self._again(now)

    def action_sort(self) -> None:
        self._sort(ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)])

    def on_row_table_head_clicked(self, event: RowTable.HeadClicked) -> None:
        event.stop()
        if (name := _BY_COLUMN.get(event.column)) is not None:
            self._sort(name)

    def _sort(self, order: str) -> None:
        self._order, self.sorted_by = order, _ORDERS[order][0]
        self.forget_widths()
        self._again(None)

    def keep(self, front: str) -> KeptView:
        """How it is looked at, for the next time."""
        return KeptView(front, self._order, self._filter, self._hides_empty)

    def action_hide_empty(self) -> None:
        self._hides_empty = not self._hides_empty
        self._again(None)

    def action_filter(self) -> None:
        self.post_message(self.FilterAsked())

    def _again(self, now: float | None) -> None:
        if self._view is not None:
            self._fill(self._view)
            self._retitle(now)

    def _retitle(self, now: float | None) -> None:
        if self._view is not None:
            self.show_age(self._view.read_at or 0.0 if now is None else now)

    def _title(self, column: int) -> str:
        named = f" {self._view.unit}" if self._view and self._view.unit and column in _MONEY else ""
        return f"{self._columns[column].title}{named}{'▼' if column == self.sorted_by else ''}"

    def _fill(self, view: PositionsView) -> None:
        stale = view.stale is not None or view.remembered
        rows = shown_rows(view.rows, self._order, self._filter, hides_empty=self._hides_empty)
        nothing = (
            _nothing(view) if not view.rows else ("No position matches: / then escape shows all.",)
        )
        several = len({row.ref.protocol for row in view.rows}) > 1
        manner = _Manner(_gauge_for(self.size.width), several, stale)
        keys = [position_name(row.ref) for row in rows]
        drawn = Rows(keys, lambda place: self._drawn(rows[place], manner))
        self.fill(drawn, empty=nothing)

    def _drawn(self, row: PositionRow, manner: _Manner) -> Row:
        """As it was drawn last, where nothing of it changed: most of many rows stay from read
        to read."""
        known = self._drawn_rows.get(row.ref)
        if known is not None and known[:2] == (row, manner):
            return known[2]
        drawn = _row(row, manner)
        self._drawn_rows[row.ref] = (row, manner, drawn)
        return drawn

    def _manner(self) -> str:
        """How the rows are chosen and sorted, where it is not as they are."""
        told = (
            "" if self._order == ORDERS[0] else self._order,
            f"“{self._filter}”" if self._filter else "",
            "empty ones hidden" if self._hides_empty else "",
        )
        return ", ".join(text for text in told if text)

    def _counted(self, view: PositionsView) -> str:
        """How many were found, or how many of them fit what is looked for."""
        shown, known = len(self.rows), len(view.rows)
        return view.found if shown == known else f"{shown} of {known} shown"

    def show_age(self, now: float) -> None:
        view = self._view
        if view is None:
            frame(self, pane_title("1 Positions"))
            return
        age = "" if view.read_at is None else ago(now - view.read_at)
        frame(
            self,
            pane_title(
                "1 Positions",
                "" if view.glance is not None else view.total,
                self._counted(view),
                f"remembered, {age}" if view.remembered else age,
                _older_results(view, now),
                self._manner(),
                _DYNAMIC if any(row.fee.endswith("*") for row in view.rows) else "",
            ),
            _below(view, self.selection, self.rows_below, told=self.size.width >= _LONG_GAUGE_FROM),
        )

    @property
    def copy_text(self) -> str:
        row = self.selection
        return "" if row is None else f"{position_label(row.ref)} {row.pair} {row.fee} {row.value}"

    @property
    def selection(self) -> PositionRow | None:
        if self._view is None or self.key is None:
            return None
        return next(row for row in self._view.rows if position_name(row.ref) == self.key)


def _older_results(view: PositionsView, now: float) -> str:
    """The age of results, where it is another than that of worth and fees."""
    if view.results_at is None or view.read_at is None or view.remembered:
        return ""
    if view.read_at - view.results_at < _SAME_AGE_SECONDS:
        return ""
    old = "~ VS HOLD, " if any(row.against_holding_old for row in view.rows) else ""
    return f"{old}APR, NET {ago(now - view.results_at)}"


def shown_rows(
    rows: Sequence[PositionRow], order: str, words: str, *, hides_empty: bool
) -> list[PositionRow]:
    wanted = words.lower().split()
    kept = [
        row
        for row in rows
        if not (hides_empty and row.standing == "empty")
        and all(word in _searched(row) for word in wanted)
    ]
    _, figure = _ORDERS[order]

    def rank(row: PositionRow) -> tuple[bool, float]:
        value = figure(row)
        return value is None, -(value or 0.0)

    return sorted(kept, key=rank)


def _searched(row: PositionRow) -> str:
    return " ".join((position_label(row.ref), row.pair, row.fee, row.standing, *row.notes)).lower()


def _gauge_for(width: int) -> int:
    if width >= _LONG_GAUGE_FROM:
        return _LONG_GAUGE
    return GAUGE_WIDTH if width >= _USUAL_GAUGE_FROM else _SHORT_GAUGE


def _row(row: PositionRow, manner: _Manner) -> Row:
    state, tone = _STATES[row.standing]
    empty = row.standing == "empty"
    texts = (row.value, row.fees, row.against_holding, row.net_a_day)
    value, fees, against, net = row.figures or texts
    cells = (
        Cell(position_label(row.ref), "strong"),
        Cell(f"{row.pair} {row.fee}", "dim" if empty else "plain"),
        Cell(row.ref.protocol if manner.several else "", "dim"),
        Cell(state, tone),
        Cell(range_gauge(None if empty else row.progress, manner.gauge), tone),
        Cell(value, "dim" if empty else "plain"),
        Cell(fees, "dim" if not row.fees_worth else "plain"),
        Cell(_dash_unknown(row.fee_apr), "dim" if row.standing == "out of range" else "plain"),
        Cell(
            f"{'~' if row.against_holding_old else ''}{_dash_unknown(against)}",
            row.against_holding_tone,
        ),
        Cell(_dash_unknown(net), _tone_of(net)),
        Cell(_change(row.chart.prices) if row.chart else "…", "dim"),
        Cell(row.price),
        Cell(f"{row.low} – {row.high}", "dim"),
        # Apart from the figures before it, which end where it begins.
        Cell(
            f" {', '.join(row.notes)}" if row.notes else "",
            "dim" if row.notes == ("subscribed",) else "warn",
        ),
    )
    return Row(position_name(row.ref), cells, manner.stale)


def _change(prices: Sequence[float]) -> str:
    if not prices[0]:
        return "–"
    told = f"{100 * (prices[-1] / prices[0] - 1):+.1f}%"
    return "0.0%" if told == "-0.0%" else told.replace("-", "−")


def _dash_unknown(figure: str) -> str:
    """A word would widen its column; why it is unknown stands on the position's page."""
    return "–" if figure == UNKNOWN else figure


def _tone_of(gain: str) -> str:
    """As the result's: the sign decides, and nothing is neither."""
    if not any(digit in gain for digit in "123456789"):
        return "dim"
    return {"+": "good", "−": "bad"}.get(gain[0], "plain")


def _below(
    view: PositionsView, selected: PositionRow | None, hidden: int, *, told: bool
) -> Content:
    """What of the row under the cursor no column tells."""
    if view.stale is None:
        return _outlined(None if told else selected, f"▼ {hidden} more" if hidden else "")
    return literal("▲ not updated", "$warning") if view.rows else Content("")


def _outlined(row: PositionRow | None, more: str) -> Content:
    """The row under the cursor in more words than a column has room for."""
    told: list[str | Content] = []
    if row is not None:
        notes = literal(", ".join(row.notes), "$warning") if row.notes else ""
        name = f"{position_label(row.ref)} {row.standing}"
        told = [name, f"{row.low} – {row.high}", f"price {row.price}", notes]
    return join_parts(*told, literal(more, "bold") if more else "")


def _nothing(view: PositionsView) -> tuple[str, ...]:
    if view.stale is not None:
        return ("Positions could not be read.",)
    if view.read_at is None:
        return ("Reading the positions…",)
    return ("This wallet holds no position here.", "Type: create 0.5 WETH with USDC")
