"""The debates that were held, each of which can be heard again from its record."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical

from zuno_tui.catalog.intents import Replay
from zuno_tui.desk.events import DebateChanged, Event, RecordsReady
from zuno_tui.screen.keys import LISTING
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.lines import KeyLine
from zuno_tui.screen.panes.row_table import Cell, Row, RowTable
from zuno_tui.screen.panes.table_layout import TableColumn
from zuno_tui.screen.screens.sub_screen import SubScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from zuno_tui.desk.link import DeskLink
    from zuno_tui.present.views import RecordRow

_COLUMNS = (
    TableColumn("WHEN (UTC)", 1, 16),
    TableColumn("ABOUT", 0, 24),
    TableColumn("ENDED IN", 2, 60, grows=True),
    TableColumn("RECORD", 3, 22),
)
_NOTHING = ("No debate was held yet.", "Select a position and press r.")


class RecordsScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*LISTING]
    ABOUT = "records"

    def __init__(self, link: DeskLink, rows: Sequence[RecordRow]) -> None:
        super().__init__(link)
        self._records = tuple(rows)
        self._replaying: str | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="records", classes="visit") as page:
            page.border_title = literal("Records of debates")
            page.border_subtitle = literal("enter replays one: no model, no chain")
            yield RowTable(_COLUMNS, id="record-rows")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._fill()
        self.query_one(RowTable).focus()

    def hear(self, event: Event) -> bool:
        match event:
            case RecordsReady(rows):
                self._records = rows
                self._fill()
                return True
            case DebateChanged(view) if view.request_id == self._replaying:
                from zuno_tui.screen.screens.replay import ReplayScreen

                self._replaying = None
                self.app.push_screen(ReplayScreen(self.link, view))
                return True
            case _:
                return False

    def action_choose(self) -> None:
        self.query_one(RowTable).action_choose()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        self._replaying = event.key
        self.link.ask(Replay(event.key))

    def _fill(self) -> None:
        self.query_one(RowTable).fill([_row(record) for record in self._records], empty=_NOTHING)


def _row(record: RecordRow) -> Row:
    when = datetime.fromtimestamp(record.when, UTC)
    return Row(
        record.request_id,
        (
            Cell(f"{when:%Y-%m-%d %H:%M}", "dim"),
            Cell(record.subject, "strong"),
            Cell(record.outcome),
            Cell(record.request_id, "dim"),
        ),
    )
