"""Fields that a person types into: words, secrets and addresses of endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.highlighter import Highlighter
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from chain.base.clean_text import masked_urls

if TYPE_CHECKING:
    from rich.text import Text
    from textual.events import Key, Paste


class UrlMask(Highlighter):
    """Changes what is drawn of the letters, and not how many they are."""

    def highlight(self, text: Text) -> None:
        text.plain = masked_urls(text.plain)


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


READING_SECONDS = 1.0
"""How long a page stands before a key can answer it: whoever was typing meant something else."""

LOOK_AGAIN_SECONDS = 0.02
"""Between two looks whether a page is on the screen: one that never comes costs next to nothing."""

SMALLEST_GAP_SECONDS = 0.005
"""No hand presses two keys closer together; the letters of a paste arrive in one piece."""


class Keystrokes:
    """The times of the keys since a field was last empty."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._by_hand = True

    @property
    def by_hand(self) -> bool:
        return self._by_hand

    def press(self, when: float) -> None:
        if self._last is not None and when - self._last < SMALLEST_GAP_SECONDS:
            self._by_hand = False
        self._last = when

    def forget(self) -> None:
        self._last = None
        self._by_hand = True


_LONGEST_WORD = 32


class TypedWord(Widget, can_focus=True):
    """Has no binding, no action and no value to set: there is no way in but the keyboard."""

    class Typed(Message):
        """Enter was pressed after this."""

        def __init__(self, word: str) -> None:
            self.word = word
            super().__init__()

    class NotTyped(Message):
        """Something came that no hand typed; the field is empty again."""

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - as every widget names it
        counts: Callable[[float], bool] = lambda _: True,
    ) -> None:
        super().__init__(id=id)
        self._counts = counts
        """Whether what arrived at this time is taken at all."""
        self._word = ""
        self._keystrokes = Keystrokes()

    def render(self) -> Content:
        word = self._word
        cursor = (" ", "reverse") if self.has_focus else " "
        # The line under it shows where to type in a terminal without colours, too.
        rest = " " * (self.size.width - len(word) - 1)
        return Content.assemble((word, "bold underline"), cursor, (rest, "underline"))

    def forget(self) -> None:
        self._word = ""
        self._keystrokes.forget()
        self.refresh()

    def on_key(self, event: Key) -> None:
        letter = event.character if event.is_printable else None
        if letter is None and event.key not in ("enter", "backspace"):
            return
        event.stop()
        event.prevent_default()
        if self._counts(event.time):
            self._keystrokes.press(event.time)
            self._take(event.key, letter)
            self.refresh()

    def on_paste(self, event: Paste) -> None:
        event.stop()
        event.prevent_default()
        if self._counts(event.time):
            self._refuse()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def _take(self, key: str, letter: str | None) -> None:
        if key == "enter":
            self._finish()
        elif key == "backspace":
            self._word = self._word[:-1]
        elif letter is not None:
            # The length only guards the drawing: a longer word is wrong anyway.
            self._word = (self._word + letter)[:_LONGEST_WORD]

    def _finish(self) -> None:
        if not self._keystrokes.by_hand:
            self._refuse()
            return
        word = self._word
        self.forget()
        self.post_message(self.Typed(word))

    def _refuse(self) -> None:
        self.forget()
        self.post_message(self.NotTyped())
