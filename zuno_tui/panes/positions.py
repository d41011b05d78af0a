"""The positions: where each price stands in its range, what it is worth and what it earned."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.ages import ago
from zuno_tui.gauge import WIDTH as GAUGE_WIDTH
from zuno_tui.gauge import range_gauge
from zuno_tui.keys import POSITIONS
from zuno_tui.panes.frame import frame, joined, literal
from zuno_tui.panes.row_table import Cell, Column, Row, RowTable

if TYPE_CHECKING:
    from textual.binding import BindingType

    from zuno_tui.desk.views import PositionRow, PositionsView, Standing

_COLUMNS = (
    Column("ID", 5, 0),
    Column("PAIR", 15, 1, grows=True),
    Column("STATE", 14, 2),
    Column("RANGE", GAUGE_WIDTH, 3),
    Column("VALUE", 11, 4, right=True),
    Column("FEES", 9, 5, right=True),
    Column("VS HOLD", 10, 6, right=True),
    Column("NET/DAY", 10, 7, right=True),
    Column("LOW", 10, 8, right=True),
    Column("PRICE", 10, 8, right=True),
    Column("HIGH", 10, 8, right=True),
    Column("NOTES", 20, 9),
)
# The glyph is for the eye, the word for everyone.
_STATES: dict[Standing, tuple[str, str]] = {
    "in range": ("● in range", "good"),
    "near edge": ("▲ near edge", "warn"),
    "out of range": ("✗ out of range", "bad"),
    "empty": ("· empty", "dim"),
}


class PositionsPane(RowTable):
    BINDINGS: ClassVar[list[BindingType]] = [*POSITIONS]

    def __init__(self) -> None:
        super().__init__(_COLUMNS, id="positions", classes="pane")
        self._view: PositionsView | None = None

    def show(self, view: PositionsView, now: float) -> None:
        self._view = view
        stale = view.stale is not None or view.remembered
        self.fill([_row(row, stale=stale) for row in view.rows], empty=_nothing(view))
        self.show_age(now)

    def show_age(self, now: float) -> None:
        view = self._view
        if view is None:
            frame(self, joined("1 Positions"))
            return
        age = "" if view.read_at is None else ago(now - view.read_at)
        frame(
            self,
            joined("1 Positions", view.total, view.fees and f"{view.fees} fees", view.found),
            joined(
                literal(view.stale, "$warning") if view.stale else "",
                f"remembered, {age}" if view.remembered else age,
            ),
        )

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
        Cell(row.fees),
        Cell(row.against_holding, row.against_holding_tone),
        Cell(row.net_a_day),
        Cell(row.low, "dim"),
        Cell(row.price),
        Cell(row.high, "dim"),
        Cell(", ".join(row.notes), "warn"),
    )
    return Row(str(row.token_id), cells, stale)


def _nothing(view: PositionsView) -> tuple[str, ...]:
    if view.read_at is None:
        return ("Reading the positions…",)
    if view.stale is not None:
        return ("No position could be read.", view.stale)
    return ("This wallet holds no position here.", "Type: create 0.5 WETH with USDC")
