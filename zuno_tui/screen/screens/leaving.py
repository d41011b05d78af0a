"""The question before the desk closes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from zuno_tui.screen.keys import LEAVING
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.plain_text import PlainText

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from zuno_tui.present.views import JobView


class LeavingScreen(ModalScreen[bool]):
    BINDINGS: ClassVar[list[BindingType]] = [*LEAVING]

    def __init__(self, jobs: Sequence[JobView]) -> None:
        super().__init__()
        self._jobs = jobs

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet question") as sheet:
            sheet.border_title = Content("Leave the desk?")
            sheet.border_subtitle = Content("enter leaves · escape stays")
            yield PlainText(Content("\n").join(self._lines()))

    def action_answer(self, leave: bool) -> None:
        self.dismiss(leave)

    def _lines(self) -> list[Content]:
        if not self._jobs:
            return [literal("Nothing is under way. Your positions stay as they are.")]
        named = ", ".join(job.name for job in self._jobs)
        return [
            literal(f"Still under way: {named}.", "bold $warning"),
            literal("What was sent goes on without the desk; the outbox knows it next time."),
        ]
