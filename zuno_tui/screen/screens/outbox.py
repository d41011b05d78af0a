"""What was sent and where it stands; what can be done about it is asked at the desk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from zuno_tui.desk.events import Event, OutboxReady
from zuno_tui.desk.link import DeskLink
from zuno_tui.intents.intents import OpenOutbox
from zuno_tui.present.history import moment_text
from zuno_tui.present.pages.outbox import state_tone
from zuno_tui.present.views import DispatchView
from zuno_tui.screen.keys import SENT
from zuno_tui.screen.panes.frame import heading, literal
from zuno_tui.screen.panes.row_table import Cell, Row, RowTable, TableColumn
from zuno_tui.screen.panes.text import KeyLine, PlainText
from zuno_tui.screen.screens.sub_screen import SubScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult


_COLUMNS = (
    TableColumn("TIME (UTC)", 2, 16),
    TableColumn("WHAT", 0, 60, grows=True),
    TableColumn("WHERE IT STANDS", 1, 34),
)
_NOTHING = ("Nothing was sent yet.", "A plan comes here when it is applied.")
_AROUND_NAME = 6
"""Its number before it, and a gap behind."""
_STATE_CELLS = 12


class OutboxScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*SENT]
    ABOUT = "outbox"

    def __init__(self, link: DeskLink, rows: Sequence[DispatchView]) -> None:
        super().__init__(link)
        self._sent = tuple(rows)

    def compose(self) -> ComposeResult:
        with Vertical(id="outbox", classes="visit") as page:
            page.border_title = literal("Outbox · what was sent")
            yield RowTable(_COLUMNS, id="outbox-rows")
            with VerticalScroll(id="outbox-steps", can_focus=False):
                yield PlainText()
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._fill()
        self.query_one(RowTable).focus()

    def hear(self, event: Event) -> bool:
        match event:
            case OutboxReady(rows):
                self._sent = rows
                self._fill()
                return True
            case _:
                return False

    def on_row_table_pointed(self) -> None:
        self._show_steps()

    def action_look(self) -> None:
        self.link.ask(OpenOutbox())

    def action_offer(self, action: str) -> None:
        if self._chosen is not None:
            self.leave_with(f"outbox {action} {self._chosen.plan_id}")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What the chain and the journal leave to be done with the plan under the cursor."""
        if action == "offer":
            return self._chosen is not None and parameters[0] in self._chosen.actions
        return super().check_action(action, parameters)

    @property
    def _chosen(self) -> DispatchView | None:
        tables = self.query(RowTable)
        key = tables.first().key if tables else None
        return next((dispatch for dispatch in self._sent if _key(dispatch) == key), None)

    def _fill(self) -> None:
        self.query_one(RowTable).fill([_row(dispatch) for dispatch in self._sent], empty=_NOTHING)
        self._show_steps()

    def _show_steps(self) -> None:
        chosen = self._chosen
        lines = [] if chosen is None else list(_steps(chosen))
        self.query_one("#outbox-steps PlainText", PlainText).update(Content("\n").join(lines))
        self.refresh_bindings()
        self._show_keys()


def _key(dispatch: DispatchView) -> str:
    """A plan may have been sent more than once: its transactions tell them apart."""
    return "|".join((dispatch.plan_id, dispatch.headline, *(sent for _, _, sent in dispatch.steps)))


def _row(dispatch: DispatchView) -> Row:
    return Row(
        _key(dispatch),
        (
            Cell(moment_text(int(dispatch.time))[:16], "dim"),
            Cell(dispatch.headline, "strong"),
            Cell(dispatch.state, state_tone(dispatch)),
        ),
    )


def _steps(dispatch: DispatchView) -> Iterator[Content]:
    yield heading("STEPS", dispatch.plan_id)
    named = max((len(name) for name, _, _ in dispatch.steps), default=0) + _AROUND_NAME
    for place, (name, state, sent) in enumerate(dispatch.steps, 1):
        yield Content.assemble(
            literal(f"{place}. {name}".ljust(named)),
            literal(state.ljust(_STATE_CELLS), "bold"),
            literal(sent, "$quiet"),
        )
    if dispatch.advice:
        yield Content("")
        yield heading("NOW")
        yield from (literal(sentence, "$warning") for sentence in dispatch.advice)
