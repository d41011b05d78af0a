"""A page whose typed word signs or sends: it shows what the bytes say, and waits for fingers."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen

from chain.wallet.secrets import Passphrase
from zuno_tui.desk.events import ConfirmationEnded, Event
from zuno_tui.desk.link import DeskLink
from zuno_tui.present.views import ApprovalView
from zuno_tui.screen.panes.fields import LOOK_AGAIN_SECONDS, READING_SECONDS, HiddenField, TypedWord
from zuno_tui.screen.panes.frame import join_parts, literal
from zuno_tui.screen.panes.receipt import countdown, wrap_content
from zuno_tui.screen.panes.text import PlainText

if TYPE_CHECKING:
    from textual.app import ComposeResult

_NARROWEST, _WIDEST = 80, 110
_BESIDE_TEXT = 5
"""The frame's sides, a cell left of the words, and a scroll bar apart from them."""
_ROOMY = 30
"""From so many rows on there is an empty one between what is signed and who signs it."""
_SAID_ROWS = 2
BACK = "escape goes back to the desk"


class TypedConfirmScreen(Screen[None]):
    """No binding, no palette entry and no click confirms; a paste is ignored and said to be."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "back", id="confirm.leave"),
        Binding("pageup,up", "page(-1)", "up", id="confirm.up"),
        Binding("pagedown,down", "page(1)", "down", id="confirm.down"),
        Binding("home", "page(-99)", "start", id="confirm.start"),
        Binding("end", "page(99)", "end", id="confirm.end"),
    ]
    SCOPED_CSS = False
    """A scope would be the name of whichever page is shown."""
    CSS = """
    TypedConfirmScreen { background: $background; align: center middle; }
    #confirm-page { height: auto; }
    #confirm-sheet {
        height: auto; padding: 0 0 0 1; border: heavy $warning; background: $background;
        border-title-style: bold; border-title-color: $warning; border-subtitle-color: $warning;
        scrollbar-gutter: stable;
    }
    TypedConfirmScreen.-done #confirm-sheet {
        border: heavy $success; border-title-color: $success; border-subtitle-color: $quiet;
    }
    #confirm-body { height: auto; }
    #confirm-authority { height: auto; padding: 0 2; }
    TypedConfirmScreen.-roomy #confirm-authority { margin: 1 0 0 0; }
    TypedConfirmScreen.-roomy #confirm-said { margin: 1 0 0 0; }
    TypedConfirmScreen.-sent #confirm-authority { display: none; }
    #confirm-fields { height: auto; }
    .confirm-row { height: 1; padding: 0 2; }
    .confirm-row PlainText { width: 12; color: $quiet; }
    .confirm-row HiddenField, .confirm-row TypedWord { height: 1; width: 26; background: $panel; }
    .confirm-row.-here PlainText { color: $accent; text-style: bold; }
    #confirm-said { height: auto; min-height: 2; padding: 0 2; }
    """

    def __init__(
        self,
        link: DeskLink,
        approval: ApprovalView,
        clock: Callable[[], float],
        key_clock: Callable[[], float] = time.monotonic,
        *,
        seconds_left: float,
        needs_passphrase: bool = False,
    ) -> None:
        """`key_clock` is the one that keys are stamped by when they arrive."""
        super().__init__()
        self._link = link
        self._asked = approval
        self._clock = clock
        self._key_clock = key_clock
        self._keys_count_from: float | None = None
        self._needs_passphrase = needs_passphrase
        self._said_rows = _SAID_ROWS
        self._rows = 0
        self._left = seconds_left
        self._ends_at = clock() + seconds_left
        self._confirmed = False
        self._ended = False

    @abstractmethod
    def hears(self, event: Event) -> bool:
        """Whether the event asks for this very page again."""

    @abstractmethod
    def title_words(self) -> str:
        """In the frame."""

    @abstractmethod
    def authority(self, width: int) -> Sequence[Content]:
        """Who signs and who receives, outside the frame that holds all other words."""

    @abstractmethod
    def sheet_lines(self, width: int, room: int) -> Sequence[Content]:
        """What is signed, line by line; without a scroll bar so many of them are seen."""

    def wanted_width(self) -> int:
        """The cells in which no line of the sheet has to be broken."""
        return _WIDEST

    def keys_words(self) -> str:
        return ""

    def refusal(self) -> str:
        """Why nothing here can sign; empty where something can."""
        return ""

    @property
    def leaves(self) -> str:
        return f"Escape goes back; nothing is {self._asked.page.done}"

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm-page"):
            with VerticalScroll(id="confirm-sheet", can_focus=False):
                yield PlainText("", id="confirm-body")
            yield PlainText("", id="confirm-authority")
            if not self._ended:
                with Vertical(id="confirm-fields"):
                    yield from self._fields()
            yield PlainText("", id="confirm-said")

    def on_mount(self) -> None:
        self.watch(self._sheet, "scroll_y", self._frame, init=False)
        if self._ended:
            self._say(self.refusal(), "$warning")
            return
        self._say(f"Type {self._asked.word} {self._asked.page.asks}. {self.leaves}.")
        self.set_timer(self._left, self._expire)
        self.set_interval(1.0, self._count_down)
        self.set_focus(self.query_one(HiddenField if self._needs_passphrase else TypedWord))

    def on_resize(self) -> None:
        self._draw()

    def on_screen_resume(self) -> None:
        self._keys_count_from = None
        self.call_after_refresh(self._drawn)

    def on_descendant_focus(self) -> None:
        for row in self.query(".confirm-row"):
            row.set_class(self.focused in row.children, "-here")

    def hear(self, event: Event) -> bool:
        match event:
            case ConfirmationEnded(approval_hash, words) if approval_hash == self._asked.hash:
                self._end(words)
            case _ if self.hears(event):
                return True
            case _:
                pass
        # The desk behind this screen keeps up with everything that is told.
        return False

    def on_hidden_field_entered(self) -> None:
        self.set_focus(self.query_one(TypedWord))

    def on_typed_word_not_typed(self) -> None:
        self._say(f"That was pasted, and ignored. Type the word yourself. {self.leaves}.")

    def on_typed_word_typed(self, event: TypedWord.Typed) -> None:
        if self._confirmed or self._ended:
            return
        word = self._asked.word
        if event.word != word:
            done = self._asked.page.done
            self._say(f"That was not the word {word}. Nothing was {done}.", "$warning")
            return
        if self._needs_passphrase and self.query_one(HiddenField).empty:
            self._say("The key is locked: its passphrase comes first. Nothing was signed.")
            self.set_focus(self.query_one(HiddenField))
            return
        if self._clock() >= self._ends_at:
            # On a busy machine the word may come before the timer does.
            self._expire()
            return
        self._confirmed = True
        self._link.confirm(self._asked.hash, event.word, self._passphrase())
        self._close_fields()
        self._say(self._asked.page.confirmed)

    def action_page(self, direction: int) -> None:
        page = max(1, self._visible_rows - 1)
        self._sheet.scroll_relative(y=direction * page, animate=False)

    @property
    def _page_width(self) -> int:
        return min(self.size.width, _WIDEST, max(_NARROWEST, self.wanted_width() + _BESIDE_TEXT))

    @property
    def _sheet(self) -> VerticalScroll:
        return self.query_one("#confirm-sheet", VerticalScroll)

    @property
    def _visible_rows(self) -> int:
        most = self._sheet.styles.max_height
        return 0 if most is None else int(most.value) - 2

    def _draw(self) -> None:
        """The page as wide and as high as its words, within the terminal."""
        width, height = self._page_width, self.size.height
        roomy, sent = height >= _ROOMY, self.has_class("-sent")
        self.set_class(roomy, "-roomy")
        self.query_one("#confirm-page").styles.width = width
        authority = [] if sent else self.authority(width - 4)
        self.query_one("#confirm-authority", PlainText).update(Content("\n").join(authority))
        fields = sum(
            len(fields.children) for fields in self.query("#confirm-fields") if fields.display
        )
        margins = (1 if sent else 2) if roomy else 0
        below = len(authority) + fields + self._said_rows + margins
        most = max(4, height - below)
        body = self.sheet_lines(width - _BESIDE_TEXT, most - 2)
        self._sheet.styles.max_height = most
        self.query_one("#confirm-body", PlainText).update(Content("\n").join(body))
        self._rows = len(body)
        self._frame()

    def _frame(self) -> None:
        """What is out of sight is said to be: nobody signs half a page unknowingly."""
        below = self._rows - self._visible_rows - round(self._sheet.scroll_y)
        self._sheet.border_title = literal(self.title_words())
        self._sheet.border_subtitle = join_parts(
            "" if below <= 0 else f"{below} line{'s' * (below > 1)} more: pgdn",
            self.keys_words(),
            "" if self._ended or self._confirmed else countdown(self._left),
        )

    def _count_down(self) -> None:
        if not self._ended and not self._confirmed:
            self._left = self._ends_at - self._clock()
            self._frame()

    def _drawn(self) -> None:
        """From a second after the page is whole on the screen a key may be an answer to it."""
        if self._ended:
            return
        if all(field.region for field in self.query(TypedWord)):
            self._keys_count_from = self._key_clock() + READING_SECONDS
        else:
            self.set_timer(LOOK_AGAIN_SECONDS, self._drawn)

    def _counts(self, arrived: float) -> bool:
        """By when a key arrived, so that those waiting to be handled do not count either."""
        if self._keys_count_from is not None and arrived >= self._keys_count_from:
            return True
        self._say(
            f"Typed before the page could be read, so it was ignored. Type it now. {self.leaves}."
        )
        return False

    def _passphrase(self) -> Passphrase | None:
        if not self._needs_passphrase:
            return None
        from chain.wallet.secrets import Passphrase

        return Passphrase(self.query_one(HiddenField).take())

    def _expire(self) -> None:
        if not self._confirmed and not self._ended:
            self._end(self._asked.page.over)

    def _end(self, words: str) -> None:
        self._ended = True
        self._close_fields()
        self._say(f"{words.rstrip('.')}. {BACK[0].upper()}{BACK[1:]}.", "bold $warning")

    def _close_fields(self) -> None:
        for field in self.query(HiddenField):
            field.forget()
        for fields in self.query("#confirm-fields"):
            fields.display = False
        self.set_focus(None)

    def _say(self, words: str, style: str = "") -> None:
        """Two rows are kept for it, so that the page does not move; more where it takes more."""
        self._said_rows = max(_SAID_ROWS, len(list(wrap_content(words, self._page_width - 4, ""))))
        self.query_one("#confirm-said", PlainText).update(literal(words, style))
        self._draw()

    def _fields(self) -> ComposeResult:
        if self._needs_passphrase:
            with Horizontal(classes="confirm-row"):
                yield PlainText("passphrase")
                yield HiddenField(id="confirm-passphrase", counts=self._counts)
        with Horizontal(classes="confirm-row"):
            yield PlainText(f"type {self._asked.word}")
            yield TypedWord(id="confirm-word", counts=self._counts)
