"""A field at a pane's foot for the words to look for."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.message import Message
from textual.widgets import Input

from zuno_tui.keys import SEARCH

if TYPE_CHECKING:
    from textual.binding import BindingType


class SearchField(Input):
    BINDINGS: ClassVar[list[BindingType]] = [*SEARCH]

    class Ended(Message):
        """The words to look for; None when there was nothing to look for after all."""

        def __init__(self, text: str | None) -> None:
            self.text = text
            super().__init__()

    def __init__(self) -> None:
        super().__init__(id="search", placeholder="find in the debate", compact=True)
        self.cursor_blink = False

    async def action_submit(self) -> None:
        self.post_message(self.Ended(self.value.strip() or None))

    def action_give_up(self) -> None:
        self.post_message(self.Ended(None))
