"""All wallets on all networks: what they are worth and earned, and how that went through time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from chain.protocols.reference import read_position_ref
from zuno_tui.desk.events import Event, PortfolioChanged
from zuno_tui.desk.link import DeskLink
from zuno_tui.present.charts import result_chart, spark_through
from zuno_tui.present.words import UNKNOWN, unit_name
from zuno_tui.screen.keys import SUMMING
from zuno_tui.screen.panes.frame import heading, join_parts, literal
from zuno_tui.screen.panes.row_table import Cell, Row, RowTable, TableColumn, TableLayout
from zuno_tui.screen.panes.text import KeyLine, PlainText, draw_lines
from zuno_tui.screen.screens.sub_screen import SubScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from zuno_tui.present.portfolio import EarnedRow, PortfolioView

_TREND = 24
_COLUMNS = (
    TableColumn("", 0, 30),
    TableColumn("WORTH+FEES", 1, 15, right=True),
    TableColumn("TODAY", 5, 10, right=True),
    TableColumn("7 D", 2, 11, right=True),
    TableColumn("30 D", 4, 11, right=True),
    TableColumn("ALL FEES", 6, 11, right=True),
    TableColumn("VS HOLD−GAS", 1, 15, right=True),
    TableColumn("TREND", 8, _TREND),
    TableColumn("NOTE", 7, 60, grows=True),
)
_FEES = range(2, 6)
"""The columns that tell fees."""
_FEES_TITLES = (" FEES{}, at the prices of their hour ", " FEES{}, at past prices ", " FEES{} ")
_NAMES_UNIT = frozenset((1, 6))
"""Of the columns outside the fees, those that hold money."""
_MARK = 2
"""The cells of the cursor's mark."""
_FEWEST = 2
"""Points that make a line."""


class EarnedTable(RowTable):
    """As wide as the chart over it."""

    named_unit: str = ""
    """What money is counted in where its figures do not say so."""

    def fees_place(self) -> tuple[int, int]:
        """Where the columns that tell fees begin, and how wide they are together."""
        places, gap = self._layout(self.scrollable_content_region.width)
        start, at, end = 0, _MARK, 0
        for place in places:
            if place.column in _FEES:
                start, end = start or at, at + place.width
            at += place.width + gap
        return start, end - start

    def _title(self, column: int) -> str:
        named = f" {self.named_unit}" if self.named_unit and column in _NAMES_UNIT else ""
        return f"{super()._title(column)}{named}"

    def _layout(self, width: int) -> TableLayout:
        return widen(super()._layout(width), width - _MARK)


def widen(layout: TableLayout, room: int) -> TableLayout:
    """The same columns over all of the room; what cannot be shared evenly goes to the first."""
    first, *others = layout.places
    taken = first.width + sum(place.width + layout.gap for place in others)
    if not others or taken >= room:
        return layout
    more, rest = divmod(room - taken, len(others))
    return TableLayout((first._replace(width=first.width + rest), *others), layout.gap + more)


class PortfolioScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*SUMMING]
    ABOUT = "portfolio"

    def __init__(self, link: DeskLink, view: PortfolioView) -> None:
        super().__init__(link)
        self._view = view

    def compose(self) -> ComposeResult:
        with Vertical(id="portfolio", classes="visit"):
            yield PlainText(id="portfolio-chart")
            yield PlainText(id="portfolio-fees")
            yield EarnedTable(_COLUMNS, id="portfolio-rows")
            yield PlainText(id="portfolio-note")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._show()
        self.query_one(RowTable).focus()

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._draw)

    def hear(self, event: Event) -> bool:
        match event:
            case PortfolioChanged(view):
                self._view = view
                self._show()
                return True
            case _:
                return False

    def on_row_table_pointed(self) -> None:
        self._draw()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        from zuno_tui.intents.intents import Inspect

        *wallet, number = event.key.split("/")
        if len(wallet) == _FEWEST and (ref := read_position_ref(number)) is not None:
            self.link.ask(Inspect(ref))

    def action_choose(self) -> None:
        self.query_one(RowTable).action_choose()

    def action_anew(self) -> None:
        from zuno_tui.intents.intents import ShowPortfolio

        self.link.ask(ShowPortfolio())

    def _show(self) -> None:
        view = self._view
        page = self.query_one("#portfolio")
        page.border_title = literal(f"Portfolio · {view.heading}" if view.heading else "Portfolio")
        page.border_subtitle = join_parts(view.place, view.reading)
        told = (view.total, *view.rows)
        noted = any(row.note for row in told)
        times = [time for row in told if row.line is not None for time in row.line.times]
        window = (min(times, default=0.0), max(times, default=0.0))
        rows = [_row(row, "" if noted else _trend(row, window)) for row in told]
        table = self.query_one(EarnedTable)
        named = unit_name(view.unit)
        if table.named_unit != named:
            table.named_unit = named
            table.forget_widths()
        table.styles.height = len(rows) + 1
        table.fill(rows)
        self.call_after_refresh(self._draw)

    def _fees_title(self) -> Content:
        start, width = self.query_one(EarnedTable).fees_place()
        named = unit_name(self._view.unit)
        titles = (each.format(f" {named}" if named else "") for each in _FEES_TITLES)
        words = next((each for each in titles if len(each) <= width), "")
        return literal(" " * start + words.center(width, "─"), "$quiet")

    def _draw(self) -> None:
        key = self.query_one(RowTable).key
        row = next((row for row in self._view.rows if row.key == key), self._view.total)
        picture = self.query_one("#portfolio-chart", PlainText)
        width, height = picture.content_size
        named = row.name.strip()
        title = heading("VS HOLDING", f"{named}, before gas; the table is after gas")
        line = row.line
        if not width:
            return
        if line is None or len(line.times) < _FEWEST:
            unread = self._view.reading or "No hour of it is known yet."
            why = "In the wallet: no fees, no range." if row.idle else row.note or unread
            below = literal(why, "$quiet")
        else:
            below = draw_lines(result_chart(line.times, line.values, width, height - 1))
        picture.update(Content("\n").join([title, below]), layout=False)
        self.query_one("#portfolio-fees", PlainText).update(self._fees_title(), layout=False)
        note = literal(f"▲ {row.note}" if row.note else "", "$warning")
        self.query_one("#portfolio-note", PlainText).update(note, layout=False)


def _trend(earned: EarnedRow, window: tuple[float, float]) -> str:
    line = earned.line
    return "" if line is None else spark_through(line.times, line.values, window, _TREND)


def _row(earned: EarnedRow, trend: str) -> Row:
    # A sum of several positions: all of them, or those of one wallet on one network.
    strong = "plain" if earned.key.count("/") >= _FEWEST else "strong"
    return Row(
        earned.key,
        (
            Cell(earned.name, "dim" if earned.idle else strong),
            Cell(earned.worth, "warn" if earned.note and earned.worth == UNKNOWN else strong),
            Cell(earned.today),
            Cell(earned.week),
            Cell(earned.month),
            Cell(earned.entry),
            Cell(earned.result, earned.tone),
            Cell(trend, "dim"),
            Cell(earned.note, "warn"),
        ),
    )
