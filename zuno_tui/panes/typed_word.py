"""A field for one word that must come from somebody's fingers: keys fill it, pastes do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.events import Key, Paste

_LONGEST = 32
_FASTEST_WORD_SECONDS = 0.05
"""No hand types a word in less; a paste without the terminal's marks arrives at once."""


class TypedWord(Widget, can_focus=True):
    """Has no binding, no action and no value to set: there is no way in but the keyboard."""

    class Typed(Message):
        """Enter was pressed after this."""

        def __init__(self, word: str) -> None:
            self.word = word
            super().__init__()

    class NotTyped(Message):
        """Something came that no hand typed; the field is empty again."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - as every widget names it
        super().__init__(id=id)
        self._letters: list[tuple[str, float]] = []

    def render(self) -> Content:
        word = "".join(letter for letter, _ in self._letters)
        cursor = (" ", "reverse") if self.has_focus else " "
        return Content.assemble((word, "bold"), cursor)

    def forget(self) -> None:
        self._letters.clear()
        self.refresh()

    def on_key(self, event: Key) -> None:
        if event.key == "enter":
            self._finish()
        elif event.key == "backspace":
            del self._letters[-1:]
        elif event.is_printable and event.character is not None:
            # The length only guards the drawing: a longer word is wrong anyway.
            self._letters = [*self._letters, (event.character, event.time)][:_LONGEST]
        else:
            return
        event.stop()
        event.prevent_default()
        self.refresh()

    def on_paste(self, event: Paste) -> None:
        event.stop()
        event.prevent_default()
        self._refuse()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def _finish(self) -> None:
        letters = self._letters
        if len(letters) > 1 and letters[-1][1] - letters[0][1] < _FASTEST_WORD_SECONDS:
            self._refuse()
            return
        word = "".join(letter for letter, _ in letters)
        self.forget()
        self.post_message(self.Typed(word))

    def _refuse(self) -> None:
        self.forget()
        self.post_message(self.NotTyped())
