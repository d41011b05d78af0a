"""The one place where a word signs: it shows what the bytes say, and waits for fingers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen

from chain.wallet.secrets import Passphrase
from zuno_tui.desk.events import ConfirmationAsked, ConfirmationEnded, Event, PlanChanged, Said
from zuno_tui.desk.thread import DeskLink
from zuno_tui.present.views import UNDOING, ApprovalView, PlanView
from zuno_tui.screen.links import can_link
from zuno_tui.screen.panes.authority import authority_lines, can_confirm
from zuno_tui.screen.panes.fields import LOOK_AGAIN_SECONDS, READING_SECONDS, HiddenField, TypedWord
from zuno_tui.screen.panes.frame import heading, joined, literal
from zuno_tui.screen.panes.receipt import (
    countdown,
    detail_lines,
    receipt_lines,
    receipt_width,
    step_lines,
    term_lines,
    wrapped,
)
from zuno_tui.screen.panes.result import applied_lines, copied_hashes, result_title
from zuno_tui.screen.panes.text import PlainText

if TYPE_CHECKING:
    from textual.app import ComposeResult


_APPROVAL_SECONDS = 600.0
_LEAVES = "escape goes back, nothing is signed"
_BACK = "escape goes back to the desk"
_NARROWEST, _WIDEST = 80, 110
_BESIDE_TEXT = 5
"""The frame's sides, a cell left of the words, and a scroll bar apart from them."""
_ROOMY = 30
"""From so many rows on there is an empty one between what is signed and who signs it."""
_SAID_ROWS = 2
_BLOCK_CELLS = 18


class ConfirmScreen(Screen[None]):
    """No binding, no palette entry and no click confirms; a paste is ignored and said to be."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave", id="confirm.leave"),
        Binding("pageup,up", "page(-1)", "up", id="confirm.up"),
        Binding("pagedown,down", "page(1)", "down", id="confirm.down"),
        Binding("home", "page(-99)", "start", id="confirm.start"),
        Binding("end", "page(99)", "end", id="confirm.end"),
        Binding("f2,ctrl+o", "details", "every byte", id="confirm.details"),
        Binding("y", "copy", "copy the hashes", id="confirm.copy"),
    ]
    CSS = """
    ConfirmScreen { background: $background; align: center middle; }
    #confirm-page { height: auto; }
    #confirm-sheet {
        height: auto; padding: 0 0 0 1; border: heavy $warning; background: $background;
        border-title-style: bold; border-title-color: $warning; border-subtitle-color: $warning;
        scrollbar-gutter: stable;
    }
    ConfirmScreen.-done #confirm-sheet {
        border: heavy $success; border-title-color: $success; border-subtitle-color: $quiet;
    }
    #confirm-body { height: auto; }
    #confirm-authority { height: auto; padding: 0 2; }
    ConfirmScreen.-roomy #confirm-authority { margin: 1 0 0 0; }
    ConfirmScreen.-roomy #confirm-said { margin: 1 0 0 0; }
    ConfirmScreen.-sent #confirm-authority { display: none; }
    #confirm-fields { height: auto; }
    .confirm-row { height: 1; padding: 0 2; }
    .confirm-row PlainText { width: 11; color: $quiet; }
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
    ) -> None:
        """`key_clock` is the one that keys are stamped by when they arrive."""
        super().__init__()
        self._clock = clock
        self._key_clock = key_clock
        self._keys_count_from: float | None = None
        self._link = link
        self._approval = approval
        self._confirmed = False
        self._plan: PlanView | None = None
        """What has been sent of it, and what came of that."""
        self._said_rows = _SAID_ROWS
        self._rows = 0
        self._left = self._seconds_left()
        self._ends_at = clock() + self._left
        # What cannot be signed has no field to type into from the start.
        self._ended = not can_confirm(approval)

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
            self._say(f"Nothing here can sign: {self._approval.signs_with}", "$warning")
            return
        self._say(f"Enter after the word signs and sends; {_LEAVES}.")
        self.set_timer(self._seconds_left(), self._expire)
        self.set_interval(1.0, self._count_down)
        if self._approval.needs_passphrase:
            self.set_focus(self.query_one(HiddenField))
        else:
            self.set_focus(self.query_one(TypedWord))

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        """The page as wide and as high as its words, within the terminal."""
        width, height = self._page_width, self.size.height
        roomy, sent = height >= _ROOMY, self.has_class("-sent")
        self.set_class(roomy, "-roomy")
        page, sheet = self.query_one("#confirm-page"), self._sheet
        page.styles.width = width
        # Outside the frame that holds all other words.
        authority = [] if sent else list(authority_lines(self._approval, width - 4))
        self.query_one("#confirm-authority", PlainText).update(Content("\n").join(authority))
        fields = sum(
            len(fields.children) for fields in self.query("#confirm-fields") if fields.display
        )
        margins = (1 if sent else 2) if roomy else 0
        below = len(authority) + fields + self._said_rows + margins
        most = max(4, height - below)
        body = self._body(width - _BESIDE_TEXT, most - 2)
        sheet.styles.max_height = most
        self.query_one("#confirm-body", PlainText).update(Content("\n").join(body))
        self._rows = len(body)
        self._frame()

    @property
    def _page_width(self) -> int:
        """Wider once blocks stand right of the steps, where the terminal is."""
        blocks = 0 if self._plan is None else _BLOCK_CELLS
        wanted = receipt_width(self._approval) + blocks + _BESIDE_TEXT
        return min(self.size.width, _WIDEST, max(_NARROWEST, wanted))

    @property
    def _sheet(self) -> VerticalScroll:
        return self.query_one("#confirm-sheet", VerticalScroll)

    def _body(self, width: int, room: int) -> list[Content]:
        """What is in the frame; where there is room left, the contracts and ends as well."""
        plan, approval = self._plan, self._approval
        if plan is not None and (result := plan.result) is not None:
            # What has been applied is approved no more, but is still what this page is about.
            plan = replace(plan, approval=approval)
            whole, links = self.has_class("-details"), can_link(os.environ)
            told = applied_lines(plan, result, width, links=links, whole=whole)
            return [Content(""), *told]
        if self.has_class("-details"):
            return [Content(""), *detail_lines(approval, width)]
        progress = () if plan is None else plan.progress
        for brief in (False, True):
            body = [
                Content(""),
                *receipt_lines(approval, width, brief=brief),
                Content(""),
                *step_lines(approval, progress, width),
            ]
            if len(body) < room:
                break
        terms = [Content(""), heading("CONTRACTS AND DEADLINES"), *term_lines(approval, width)]
        # Whoever lends the account sees who else may act for it, and how that is undone.
        lends = any(label == UNDOING for label, _ in approval.terms)
        fits = len(body) + len(terms) < room
        return [*body, *terms] if approval.terms and (fits or lends) else body

    def _frame(self) -> None:
        """What is out of sight is said to be: nobody signs half a page unknowingly."""
        plan, sheet, approval = self._plan, self._sheet, self._approval
        result = None if plan is None else plan.result
        keys = "f2 every byte"
        if result is not None:
            title = result_title(result, approval.headline)
            keys = "f2 whole hashes · y copies them" if result.sent else ""
        else:
            title = f"{'Sending' if self._confirmed else 'Sign and send'} · {approval.headline}"
        if self.has_class("-details"):
            keys = "f2 the receipt" if result is None else "f2 short hashes · y copies them"
        below = self._rows - self._visible_rows - round(sheet.scroll_y)
        waits = not self._ended and not self._confirmed
        sheet.border_title = literal(title)
        sheet.border_subtitle = joined(
            "" if below <= 0 else f"{below} line{'s' * (below > 1)} more: pgdn",
            keys,
            countdown(self._left) if waits else "",
        )

    @property
    def _visible_rows(self) -> int:
        most = self._sheet.styles.max_height
        return 0 if most is None else int(most.value) - 2

    def _count_down(self) -> None:
        if not self._ended and not self._confirmed:
            self._left = self._ends_at - self._clock()
            self._frame()

    def on_screen_resume(self) -> None:
        self._keys_count_from = None
        self.call_after_refresh(self._drawn)

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
        self._say(f"That came before this could be read, and was ignored. Type it now; {_LEAVES}.")
        return False

    def hear(self, event: Event) -> bool:
        match event:
            case PlanChanged(view) if view is not None and view.plan_id == self._approval.plan_id:
                self._follow(view)
            case ConfirmationEnded(approval_hash, words) if approval_hash == self._approval.hash:
                self._end(words)
            case ConfirmationAsked(approval):
                return approval.hash == self._approval.hash
            case Said(words, tone) if self._confirmed and not self._ended and tone != "plain":
                self._say(words, "$warning")
            case _:
                pass
        # The desk behind this screen keeps up with everything that is told.
        return False

    def on_descendant_focus(self) -> None:
        for row in self.query(".confirm-row"):
            row.set_class(self.focused in row.children, "-here")

    def on_hidden_field_entered(self) -> None:
        self.set_focus(self.query_one(TypedWord))

    def on_typed_word_not_typed(self) -> None:
        self._say(f"That was pasted, and ignored. Type the word with your fingers; {_LEAVES}.")

    def on_typed_word_typed(self, event: TypedWord.Typed) -> None:
        if self._confirmed or self._ended:
            return
        if event.word != self._approval.word:
            self._say(
                f"That was not the word {self._approval.word}. Nothing was signed.", "$warning"
            )
            return
        if self._approval.needs_passphrase and self.query_one(HiddenField).empty:
            self._say("The key is locked: its passphrase comes first. Nothing was signed.")
            self.set_focus(self.query_one(HiddenField))
            return
        if self._clock() >= self._ends_at:
            # On a busy machine the word may come before the timer does.
            self._expire()
            return
        self._confirmed = True
        self._link.confirm(self._approval.hash, event.word, self._passphrase())
        self._close_fields()
        self._say("Confirmed. Reading the chain again before anything is signed …")

    def action_leave(self) -> None:
        self.dismiss()

    def action_details(self) -> None:
        self.toggle_class("-details")
        self._sheet.scroll_home(animate=False)
        self._draw()

    def action_page(self, direction: int) -> None:
        page = max(1, self._visible_rows - 1)
        self._sheet.scroll_relative(y=direction * page, animate=False)

    def action_copy(self) -> None:
        """Through the terminal to the reader's clipboard."""
        result = None if self._plan is None else self._plan.result
        if result is not None and result.sent:
            self.app.copy_to_clipboard(copied_hashes(result.sent))
            self._say(f"Copied. {_BACK[0].upper()}{_BACK[1:]}.", "bold")

    def _passphrase(self) -> Passphrase | None:
        if not self._approval.needs_passphrase:
            return None
        from chain.wallet.secrets import Passphrase

        return Passphrase(self.query_one(HiddenField).take())

    def _follow(self, plan: PlanView) -> None:
        approval = plan.approval
        if not self._confirmed and (approval is None or approval.hash != self._approval.hash):
            self._end("This approval is no longer the plan's. Nothing was signed.")
            return
        if not plan.progress and plan.result is None:
            return
        self._plan = plan
        self.add_class("-sent")
        if plan.result is None:
            self._say(f"On its way. {_BACK}; the sending goes on.")
            return
        self._ended = True
        self._close_fields()
        self.set_class(plan.result.done, "-done")
        self._sheet.scroll_home(animate=False)
        if plan.result.done:
            self._say(f"Done. {_BACK}.", "bold $success")
        else:
            self._say(f"It stopped there. {_BACK}.", "bold $warning")

    def _seconds_left(self) -> float:
        """By the network's clock as the desk told it, else by ours."""
        told = self._approval.seconds_left
        left = self._approval.expires_at - self._clock() if told is None else told
        return left if 0 < left <= _APPROVAL_SECONDS else _APPROVAL_SECONDS

    def _expire(self) -> None:
        if not self._confirmed and not self._ended:
            self._end("The approval has expired. Nothing was signed. Type approve again.")

    def _end(self, words: str) -> None:
        self._ended = True
        self._close_fields()
        self._say(f"{words} {_BACK}.", "bold $warning")

    def _close_fields(self) -> None:
        for field in self.query(HiddenField):
            field.forget()
        for fields in self.query("#confirm-fields"):
            fields.display = False
        self.set_focus(None)

    def _say(self, words: str, style: str = "") -> None:
        """Two rows are kept for it, so that the page does not move; more where it takes more."""
        self._said_rows = max(_SAID_ROWS, len(list(wrapped(words, self._page_width - 4, ""))))
        self.query_one("#confirm-said", PlainText).update(literal(words, style))
        self._draw()

    def _fields(self) -> ComposeResult:
        if self._approval.needs_passphrase:
            with Horizontal(classes="confirm-row"):
                yield PlainText("passphrase")
                yield HiddenField(id="confirm-passphrase", counts=self._counts)
        with Horizontal(classes="confirm-row"):
            yield PlainText(f"type {self._approval.word}")
            yield TypedWord(id="confirm-word", counts=self._counts)
