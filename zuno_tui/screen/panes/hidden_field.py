"""A field for a secret: it shows how much was typed, and hands it over once, concealed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.events import Key, Paste

_LONGEST = 1024


class HiddenField(Widget, can_focus=True):
    """What is typed is held as bytes that are overwritten, never as a value others could read."""

    class Entered(Message):
        """Enter was pressed; the secret itself does not travel."""

        def __init__(self, field: HiddenField) -> None:
            self.field = field
            super().__init__()

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - as every widget names it
        counts: Callable[[float], bool] = lambda _: True,
    ) -> None:
        super().__init__(id=id)
        self._counts = counts
        """Whether what arrived at this time is taken at all."""
        self._secret = bytearray()
        self._sizes: list[int] = []
        self._entered = False

    @property
    def empty(self) -> bool:
        return not self._secret

    def render(self) -> Content:
        cursor = (" ", "reverse") if self.has_focus else " "
        return Content.assemble("•" * len(self._sizes), cursor)

    def take(self) -> bytes:
        """The secret, which is gone from here."""
        taken = bytes(self._secret)
        self.forget()
        return taken

    def forget(self) -> None:
        self._secret[:] = bytes(len(self._secret))
        self._secret.clear()
        self._sizes.clear()
        self._entered = False
        self.refresh()

    def on_key(self, event: Key) -> None:
        letter = event.character if event.is_printable else None
        if letter is None and event.key not in ("enter", "backspace"):
            return
        event.stop()
        event.prevent_default()
        if self._counts(event.time):
            self._take(event.key, letter)
            self.refresh()

    def on_paste(self, event: Paste) -> None:
        """From a password manager, say: the first line, and it enters nothing by itself."""
        event.stop()
        event.prevent_default()
        if not self._counts(event.time):
            return
        for character in event.text.partition("\n")[0].rstrip("\r"):
            self._add(character)
        self.refresh()

    def on_focus(self) -> None:
        self._entered = False
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_unmount(self) -> None:
        self.forget()

    def _take(self, key: str, letter: str | None) -> None:
        if key == "enter":
            self._entered = True
            self.post_message(self.Entered(self))
        elif key == "backspace" and self._sizes:
            size = self._sizes.pop()
            self._secret[-size:] = bytes(size)
            del self._secret[-size:]
        elif letter is not None:
            self._add(letter)

    def _add(self, character: str) -> None:
        encoded = character.encode("utf-8", "surrogateescape")
        # What is typed while the focus moves on belongs to the next field, not to the secret.
        if not self._entered and len(self._secret) + len(encoded) <= _LONGEST:
            self._secret += encoded
            self._sizes.append(len(encoded))
