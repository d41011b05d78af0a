"""The line that narrows the positions, there while it is wanted."""

from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input

from zuno_tui.screen.keys import FILTER


class FilterLine(Input):
    BINDINGS: ClassVar[list[BindingType]] = [*FILTER]

    class Narrowed(Message):
        def __init__(self, words: str) -> None:
            self.words = words
            super().__init__()

    class Closed(Message):
        """The rows are looked at again."""

    def __init__(self, words: str = "") -> None:
        super().__init__(words, id="filter", placeholder="only rows with: weth out 0.05%")
        self.display = bool(words)

    def open(self) -> None:
        self.display = True
        self.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Narrowed(self.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.display = bool(self.value)
        self.post_message(self.Closed())

    def action_give_up(self) -> None:
        self.value = ""
        self.display = False
        self.post_message(self.Closed())
