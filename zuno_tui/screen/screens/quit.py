"""The question before zuno quits: what is running, waits or goes unwatched is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from chain.protocols.reference import position_label
from zuno_tui.screen.keys import QUITTING
from zuno_tui.screen.last_seen import LastSeen
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.text import PlainText

if TYPE_CHECKING:
    from textual.app import ComposeResult

_ORDER = "order "
"""How a row's note begins that tells of standing orders."""


class QuitScreen(ModalScreen[bool]):
    BINDINGS: ClassVar[list[BindingType]] = [*QUITTING]

    def __init__(self, told: LastSeen) -> None:
        super().__init__()
        self._told = told

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet question") as sheet:
            sheet.border_title = Content("Quit zuno?")
            sheet.border_subtitle = Content("enter quits · escape stays")
            yield PlainText(Content("\n").join(self._lines()))

    def action_answer(self, quits: bool) -> None:
        self.dismiss(quits)

    def _lines(self) -> list[Content]:
        told = self._told
        lines = [literal(words, "bold $warning") for words in _still_at_work(told)]
        if told.status.demo:
            lines.append(literal("The demo ends: everything in it is discarded."))
        elif told.status.jobs:
            lines.append(literal("Sent transactions continue without zuno; see outbox next time."))
        else:
            lines.append(literal("Nothing is running. Your positions stay as they are."))
        return lines


def _still_at_work(told: LastSeen) -> Iterator[str]:
    """What ends or goes unwatched when this desk is closed."""
    if told.status.jobs:
        yield f"Still running: {', '.join(job.name for job in told.status.jobs)}."
    rows = told.positions.rows
    orders = [
        f"{position_label(row.ref)} {note.removeprefix(_ORDER)}"
        for row in rows
        for note in row.notes
        if note.startswith(_ORDER)
    ]
    if told.alerts.watched_by != "desk":
        if orders and told.alerts.watched_by == "daemon":
            yield f"Orders wait: {', '.join(orders)}. zuno monitor goes on carrying them out."
        return
    if orders:
        yield f"Orders wait: {', '.join(orders)}."
        yield "Nobody carries them out while zuno is closed. Start first: zuno monitor"
    if rows:
        some = "1 position" if len(rows) == 1 else f"{len(rows)} positions"
        yield f"{some} and your price alerts go unwatched."
