"""A page whose typed word signs or sends: no binding, no palette entry and no click confirms."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, Protocol

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen

from chain.wallet.secrets import Passphrase
from zuno_tui.desk.events import ConfirmationEnded, Event
from zuno_tui.desk.thread import DeskLink
from zuno_tui.screen.panes.fields import (
    LOOK_AGAIN_SECONDS,
    READING_SECONDS,
    HiddenField,
    TypedWord,
)
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.receipt import countdown
from zuno_tui.screen.panes.text import PlainText

if TYPE_CHECKING:
    from textual.app import ComposeResult


class TypedApproval(Protocol):
    """What waits for its word."""

    @property
    def plan_id(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def word(self) -> str: ...
    @property
    def seconds_left(self) -> float: ...


class TypedConfirmScreen(Screen[None]):
    """A paste is ignored and said to be; so is what came before the page could be read."""

    TITLE_WORDS: ClassVar[str]
    LEAVES: ClassVar[str]
    OVER: ClassVar[str]
    """Said when the approval is too old."""
    ASKS: ClassVar[str]
    CONFIRMED: ClassVar[str]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", id="confirm.trade-leave"),
        Binding("pageup,up", "page(-1)", "up", id="confirm.trade-up"),
        Binding("pagedown,down", "page(1)", "down", id="confirm.trade-down"),
    ]
    CSS = """
    TypedConfirmScreen { background: $background; }
    #send-authority {
        height: auto; padding: 0 1; border: heavy $warning;
        border-title-style: bold; border-title-color: $warning;
    }
    #send-sheet {
        height: 1fr; padding: 0 0 0 1; border: round $line; background: $background;
        border-title-color: $foreground; border-subtitle-color: $quiet;
        scrollbar-gutter: stable;
    }
    #send-orders { height: auto; }
    #send-row, #send-secret { height: 1; padding: 0 2; }
    #send-row PlainText, #send-secret PlainText {
        width: 11; color: $accent; text-style: bold;
    }
    #send-word, #send-passphrase { height: 1; width: 26; background: $panel; }
    #send-said { height: auto; min-height: 1; padding: 0 2; }
    """

    def __init__(
        self,
        link: DeskLink,
        approval: TypedApproval,
        clock: Callable[[], float],
        key_clock: Callable[[], float] = time.monotonic,
        *,
        needs_passphrase: bool = False,
    ) -> None:
        """`key_clock` is the one that keys are stamped by when they arrive."""
        super().__init__()
        self._link = link
        self._approval = approval
        self._clock = clock
        self._key_clock = key_clock
        self._needs_passphrase = needs_passphrase
        self._keys_count_from: float | None = None
        self._ends_at = clock() + approval.seconds_left
        self._over = False

    @abstractmethod
    def hears(self, event: Event) -> bool:
        """Whether the event asks for this very page again."""

    @abstractmethod
    def authority(self) -> tuple[tuple[str, str], ...]:
        """The rows of the frame at the top."""

    @abstractmethod
    def sheet(self) -> Iterator[Content]:
        """What is signed, line by line."""

    def compose(self) -> ComposeResult:
        approval = self._approval
        authority = PlainText(self._authority(), id="send-authority")
        authority.border_title = Content(self.TITLE_WORDS)
        authority.border_subtitle = Content(countdown(approval.seconds_left))
        yield authority
        with VerticalScroll(id="send-sheet", can_focus=False) as sheet:
            sheet.border_title = literal(approval.plan_id)
            yield PlainText(Content("\n").join(self.sheet()), id="send-orders")
        if self._needs_passphrase:
            with Horizontal(id="send-secret"):
                yield PlainText("passphrase")
                yield HiddenField(id="send-passphrase", counts=self._counts)
        with Horizontal(id="send-row"):
            yield PlainText(f"type {approval.word}")
            yield TypedWord(id="send-word", counts=self._counts)
        yield PlainText("", id="send-said")

    def on_mount(self) -> None:
        self._say(f"{self.ASKS}; {self.LEAVES}.")
        self.set_interval(1.0, self._count_down)
        first = HiddenField if self._needs_passphrase else TypedWord
        self.set_focus(self.query_one(first))

    def on_screen_resume(self) -> None:
        self._keys_count_from = None
        self.call_after_refresh(self._drawn)

    def hear(self, event: Event) -> bool:
        match event:
            case ConfirmationEnded(approval_hash, words) if approval_hash == self._approval.hash:
                self._end(words)
            case _ if self.hears(event):
                return True
            case _:
                pass
        # The screens behind this one keep up with everything that is told.
        return False

    def on_typed_word_not_typed(self) -> None:
        self._say(f"That was pasted, and ignored. Type the word with your fingers; {self.LEAVES}.")

    def on_typed_word_typed(self, event: TypedWord.Typed) -> None:
        if self._over:
            return
        if event.word != self._approval.word:
            self._say(f"That was not the word {self._approval.word}. Nothing was done.", "$warning")
            return
        if self._clock() >= self._ends_at:
            self._end(self.OVER)
            return
        if self._needs_passphrase and self.query_one(HiddenField).empty:
            self._say("The key is locked: its passphrase comes first. Nothing was signed.")
            return
        given = self._passphrase()
        self._close()
        self._link.confirm(self._approval.hash, event.word, given)
        self._say(self.CONFIRMED)

    def action_page(self, direction: int) -> None:
        sheet = self.query_one("#send-sheet", VerticalScroll)
        sheet.scroll_relative(y=direction * max(1, sheet.size.height - 1), animate=False)

    def _passphrase(self) -> Passphrase | None:
        if not self._needs_passphrase:
            return None
        from chain.wallet.secrets import Passphrase

        return Passphrase(self.query_one(HiddenField).take())

    def _drawn(self) -> None:
        """From a second after the page is whole on the screen a key may be an answer to it."""
        if self.query_one(TypedWord).region:
            self._keys_count_from = self._key_clock() + READING_SECONDS
        else:
            self.set_timer(LOOK_AGAIN_SECONDS, self._drawn)

    def _counts(self, arrived: float) -> bool:
        if self._keys_count_from is not None and arrived >= self._keys_count_from:
            return True
        self._say(
            f"That came before this could be read, and was ignored. Type it now; {self.LEAVES}."
        )
        return False

    def _count_down(self) -> None:
        left = self._ends_at - self._clock()
        if self._over:
            return
        if left <= 0:
            self._end(self.OVER)
            return
        self.query_one("#send-authority").border_subtitle = Content(countdown(left))

    def _end(self, words: str) -> None:
        self._close()
        self._say(f"{words} · escape goes back.", "bold")

    def _close(self) -> None:
        self._over = True
        for row in self.query("#send-row, #send-secret"):
            row.display = False
        self.set_focus(None)

    def _say(self, words: str, style: str = "") -> None:
        self.query_one("#send-said", PlainText).update(literal(words, style))

    def _authority(self) -> Content:
        lines = [
            Content.assemble((f"{label:<10}", "$quiet"), literal(words, "bold"))
            for label, words in self.authority()
        ]
        return Content("\n").join(lines)
