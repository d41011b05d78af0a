"""The question before zuno quits: what is still running is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from zuno_tui.present.views import JobView
from zuno_tui.screen.keys import QUITTING
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.text import PlainText

if TYPE_CHECKING:
    from textual.app import ComposeResult


class QuitScreen(ModalScreen[bool]):
    BINDINGS: ClassVar[list[BindingType]] = [*QUITTING]

    def __init__(self, jobs: Sequence[JobView]) -> None:
        super().__init__()
        self._jobs = jobs

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet question") as sheet:
            sheet.border_title = Content("Quit zuno?")
            sheet.border_subtitle = Content("enter quits · escape stays")
            yield PlainText(Content("\n").join(self._lines()))

    def action_answer(self, quits: bool) -> None:
        self.dismiss(quits)

    def _lines(self) -> list[Content]:
        if not self._jobs:
            return [literal("Nothing is running. Your positions stay as they are.")]
        named = ", ".join(job.name for job in self._jobs)
        return [
            literal(f"Still running: {named}.", "bold $warning"),
            literal("Sent transactions continue without zuno; see outbox next time."),
        ]
