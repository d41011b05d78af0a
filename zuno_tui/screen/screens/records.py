"""The debates that were held, each of which can be heard again from its record."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from zuno_tui.desk.events import DebateChanged, Event, RecordsReady
from zuno_tui.desk.link import DeskLink
from zuno_tui.intents.intents import Replay
from zuno_tui.present.views import DebateView, RecordRow
from zuno_tui.screen.keys import LISTING, STEPPING
from zuno_tui.screen.panes.debate import Speakers, TurnBlock
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.row_table import Cell, Row, RowTable, TableColumn
from zuno_tui.screen.panes.text import KeyLine, PlainText
from zuno_tui.screen.screens.sub_screen import SubScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult


class ReplayScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*STEPPING]
    ABOUT = "replay"

    def __init__(self, link: DeskLink, view: DebateView) -> None:
        super().__init__(link)
        self._view = view
        self._shown = 1
        self._sourced = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="replay", classes="visit", can_focus=False) as page:
            page.border_title = literal(f"{self._view.subject} · {self._view.request_id}")
            speakers = Speakers()
            for turn in self._view.turns:
                block = TurnBlock(turn.role, speakers.of(turn.role), turn.round)
                block.finish(turn)
                yield block
            yield PlainText(literal(self._view.ended or "", "bold"), id="ending")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._draw()

    def action_step(self, turns: int) -> None:
        self._to(self._shown + turns)

    def action_edge(self, last: int) -> None:
        self._to(len(self._view.turns) if last else 1)

    def action_sources(self) -> None:
        self._sourced = not self._sourced
        self._draw()

    def action_scroll_lines(self, step: int) -> None:
        self._page.scroll_relative(y=step, animate=False)

    @property
    def _page(self) -> VerticalScroll:
        return self.query_one("#replay", VerticalScroll)

    def _to(self, shown: int) -> None:
        shown = max(1, min(len(self._view.turns), shown))
        if shown != self._shown:
            self._shown = shown
            self._draw()

    def _draw(self) -> None:
        blocks = list(self.query(TurnBlock))
        for place, block in enumerate(blocks, 1):
            block.display = place <= self._shown
            block.draw(sourced=self._sourced, folded=False, needle="")
        over = self._shown >= len(blocks)
        self.query_one("#ending").display = over
        self._page.border_subtitle = Content(
            f"turn {self._shown} of {len(blocks)} · from its record: no model, no chain"
        )
        self.call_after_refresh(self._page.scroll_end, animate=False)


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
