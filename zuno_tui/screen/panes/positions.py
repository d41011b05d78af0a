"""The positions: where each price stands in its range, what it is worth and what it earned."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.content import Content

from zuno_tui.screen.keys import POSITIONS
from zuno_tui.screen.panes.frame import ago, frame, joined, literal, pane_title
from zuno_tui.screen.panes.row_table import Cell, Row, RowTable, TableColumn
from zuno_tui.shown.drawing.pieces import WIDTH as GAUGE_WIDTH
from zuno_tui.shown.drawing.pieces import range_gauge
from zuno_tui.shown.views import PositionsView

if TYPE_CHECKING:
    from textual.binding import BindingType

    from zuno_tui.shown.views import PositionRow, Standing

_COLUMNS = (
    TableColumn("ID", 0, 9),
    TableColumn("PAIR", 1, 22),
    TableColumn("STATE", 2, 8),
    TableColumn("RANGE", 3, GAUGE_WIDTH),
    TableColumn("VALUE", 4, 13, right=True),
    TableColumn("VS HOLD", 5, 12, right=True),
    TableColumn("FEES", 6, 11, right=True),
    TableColumn("NET/DAY", 7, 11, right=True),
    TableColumn("PRICE", 9, 12, right=True),
    TableColumn("FROM – TO", 10, 27),
    TableColumn("NOTES", 8, 18),
)
# The glyph is for the eye, the word for everyone.
_STATES: dict[Standing, tuple[str, str]] = {
    "in range": ("● in", "good"),
    "near edge": ("▲ edge", "warn"),
    "out of range": ("✗ out", "bad"),
    "empty": ("· empty", "dim"),
}


class PositionsPane(RowTable):
    BINDINGS: ClassVar[list[BindingType]] = [*POSITIONS]

    def __init__(self) -> None:
        super().__init__(_COLUMNS, id="positions", classes="pane -front")
        self._view: PositionsView | None = None

    def on_mount(self) -> None:
        self.fill((), empty=_nothing(PositionsView()))

    def show(self, view: PositionsView, now: float) -> None:
        self._view = view
        stale = view.stale is not None or view.remembered
        self.fill([_row(row, stale=stale) for row in view.rows], empty=_nothing(view))
        self.show_age(now)

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
                view.total,
                view.found,
                f"remembered, {age}" if view.remembered else age,
            ),
            literal(f"▲ {view.stale}", "$warning") if view.stale else _outlined(self.selected),
        )

    @property
    def copied(self) -> str:
        row = self.selected
        return "" if row is None else f"#{row.token_id} {row.pair} {row.fee} {row.value}"

    @property
    def selected(self) -> PositionRow | None:
        if self._view is None or self.key is None:
            return None
        return next(row for row in self._view.rows if str(row.token_id) == self.key)


def _row(row: PositionRow, *, stale: bool) -> Row:
    state, tone = _STATES[row.standing]
    cells = (
        Cell(f"#{row.token_id}", "strong"),
        Cell(f"{row.pair} {row.fee}"),
        Cell(state, tone),
        Cell(range_gauge(row.progress), tone),
        Cell(row.value),
        Cell(row.against_holding, row.against_holding_tone),
        Cell(row.fees),
        Cell(row.net_a_day),
        Cell(row.price),
        Cell(f"{row.low} – {row.high}", "dim"),
        Cell(", ".join(row.notes), "warn"),
    )
    return Row(str(row.token_id), cells, stale)


def _outlined(row: PositionRow | None) -> Content:
    """The row under the cursor in more words than a column has room for."""
    if row is None:
        return Content("")
    return joined(
        f"#{row.token_id} {row.standing}",
        f"{row.low} – {row.high}",
        f"price {row.price}",
        literal(", ".join(row.notes), "$warning") if row.notes else "",
    )


def _nothing(view: PositionsView) -> tuple[str, ...]:
    if view.read_at is None:
        return ("Reading the positions…",)
    if view.stale is not None:
        return ("No position could be read.", view.stale)
    return ("This wallet holds no position here.", "Type: create 0.5 WETH with USDC")
