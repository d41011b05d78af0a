"""Help for whatever has the focus: what it shows, its keys as they are now, and the phrases."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from zuno_tui.commands.registry import registry
from zuno_tui.screen.keys import HELP
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.plain_text import PlainText
from zuno_tui.screen.screens.help_text import in_columns, pane_sections, verb_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from zuno_tui.screen.screens.active_keys import ActiveKey

_COLUMN = 88
_FRAME = 5
"""The border, the blank cell within it and the scroll bar."""
_GAP = 4


class HelpScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [*HELP]

    def __init__(self, topic: str | None, pane: str = "", keys: Sequence[ActiveKey] = ()) -> None:
        super().__init__()
        self._topic = topic
        self._pane = pane
        self._keys = keys

    def compose(self) -> ComposeResult:
        about = self._topic or self._pane
        with VerticalScroll(id="help", classes="sheet", can_focus=False) as sheet:
            sheet.border_title = literal(f"Help · {about}" if about else "Help")
            sheet.border_subtitle = Content("j k scroll · esc closes")
            with Horizontal(id="help-columns"):
                yield PlainText(id="help-left")
                yield PlainText(id="help-right")

    def on_resize(self) -> None:
        """One column, or two where both have room to read."""
        room = self.app.size.width * 94 // 100 - _FRAME
        verb = None if self._topic is None else registry().verb_named(self._topic)
        columns = 2 if verb is None and room >= 2 * _COLUMN + _GAP else 1
        width = min(room, _COLUMN)
        sections = (
            [*pane_sections(self._pane, self._keys, width)]
            if verb is None
            else [verb_section(verb, self._keys, width)]
        )
        left, right = in_columns(sections) if columns > 1 else (sections, [])
        self.query_one("#help").styles.width = columns * (width + _GAP) - _GAP + _FRAME
        for name, shown in (("#help-left", left), ("#help-right", right)):
            column = self.query_one(name, PlainText)
            column.styles.width = width
            column.display = bool(shown)
            lines = [line for section in shown for line in (*section, Content(""))]
            column.update(Content("\n").join(lines[:-1]))

    def action_scroll(self, step: int) -> None:
        self.query_one("#help", VerticalScroll).scroll_relative(y=step, animate=False)
