"""Help for whatever has the focus: its keys as they are now, and the phrases the prompt takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from zuno_tui.panes.frame import literal
from zuno_tui.phrases.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType


class HelpScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss", "close", id="help.close"),
        Binding("j,down", "scroll(1)", "down", id="help.down", show=False),
        Binding("k,up", "scroll(-1)", "up", id="help.up", show=False),
    ]

    def __init__(self, topic: str | None, keys: Sequence[tuple[str, str, str]] = ()) -> None:
        super().__init__()
        self._topic = topic
        self._keys = keys

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help", classes="sheet") as sheet:
            sheet.border_title = Content(f"Help · {self._topic}" if self._topic else "Help")
            sheet.border_subtitle = Content("escape closes")
            yield Static(Content("\n").join(self._lines()), markup=False)

    def action_scroll(self, step: int) -> None:
        self.query_one("#help", VerticalScroll).scroll_relative(y=step, animate=False)

    def _lines(self) -> Iterable[Content]:
        if self._keys:
            yield literal("KEYS", "bold $primary")
            for key, does, name in self._keys:
                yield Content.assemble((f"{key:<12}", "bold"), f"{does:<46}", (name, "$quiet"))
            yield Content("")
        yield literal("PHRASES", "bold $primary")
        for verb in VERBS:
            if self._topic is None or verb.name == self._topic:
                yield Content.assemble((f"{verb.usage:<34}", "bold"), verb.does)
