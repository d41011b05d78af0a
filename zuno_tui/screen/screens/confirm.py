"""The one place where a word signs: it shows what the bytes say, and waits for fingers."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen

from chain.base.units import ADDRESS
from zuno_tui.desk.events import ConfirmationAsked, ConfirmationEnded, PlanChanged, Said
from zuno_tui.screen.links import can_link
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.hidden_field import HiddenField
from zuno_tui.screen.panes.plain_text import PlainText
from zuno_tui.screen.panes.receipt import (
    countdown,
    detail_lines,
    receipt_lines,
    sent_line,
    step_lines,
)
from zuno_tui.screen.panes.typed_word import LOOK_AGAIN_SECONDS, READING_SECONDS, TypedWord
from zuno_tui.shown.words import NOBODY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from chain.wallet.secrets import Passphrase
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.link import DeskLink
    from zuno_tui.shown.views import ApprovalView, PlanView, ResultView, StepProgress

_WORD = re.compile(r"[a-z][a-z-]{3,15}", re.ASCII)
_APPROVAL_SECONDS = 600.0
_STACKED_UNDER = 100
_LEAVES = "escape leaves, and nothing is signed"


class ConfirmScreen(Screen[None]):
    """No binding, no palette entry and no click confirms; a paste is ignored and said to be."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave", id="confirm.leave"),
        Binding("pageup,up", "page(-1)", "up", id="confirm.up"),
        Binding("pagedown,down", "page(1)", "down", id="confirm.down"),
        Binding("f2,ctrl+o", "details", "every byte", id="confirm.details"),
    ]
    CSS = """
    ConfirmScreen { background: $background; }
    #confirm-authority {
        height: auto; padding: 0 1; border: heavy $warning;
        border-title-style: bold; border-title-color: $warning;
    }
    #confirm-sheet {
        height: 1fr; padding: 0 1; border: round $line; background: $background;
        border-title-color: $foreground; border-subtitle-color: $quiet;
        scrollbar-size-vertical: 1; scrollbar-color: $line; scrollbar-background: $background;
    }
    #confirm-columns { height: auto; }
    #confirm-receipt { width: 11fr; height: auto; margin: 0 2 0 0; }
    #confirm-steps { width: 10fr; height: auto; }
    ConfirmScreen.-narrow #confirm-columns { layout: vertical; }
    ConfirmScreen.-narrow #confirm-receipt, ConfirmScreen.-narrow #confirm-steps {
        width: 1fr; margin: 0;
    }
    #confirm-details { height: auto; display: none; }
    ConfirmScreen.-details #confirm-details { display: block; }
    ConfirmScreen.-details #confirm-columns { display: none; }
    ConfirmScreen.-over #confirm-receipt { display: none; }
    ConfirmScreen.-over #confirm-sheet { height: auto; max-height: 50%; }
    #confirm-progress { height: auto; max-height: 60%; padding: 0 2; display: none; }
    #confirm-fields { height: auto; }
    .confirm-row { height: 1; padding: 0 2; }
    .confirm-row PlainText { width: 16; color: $quiet; }
    .confirm-row HiddenField, .confirm-row TypedWord { height: 1; width: 1fr; }
    .confirm-row.-here PlainText { color: $accent; text-style: bold; }
    #confirm-said { height: auto; min-height: 1; padding: 0 2; }
    """

    def __init__(
        self,
        link: DeskLink,
        approval: ApprovalView,
        clock: Callable[[], float] = time.time,
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
        self._progress: tuple[StepProgress, ...] = ()
        self._ends_at = clock() + self._seconds_left()
        # What cannot be signed has no field to type into from the start.
        self._ended = not _can_confirm(approval)

    def compose(self) -> ComposeResult:
        authority = PlainText(self._authority(), id="confirm-authority")
        authority.border_title = Content("Sign and send")
        authority.border_subtitle = Content(countdown(self._seconds_left()))
        yield authority
        with VerticalScroll(id="confirm-sheet", can_focus=False) as sheet:
            sheet.border_title = literal(self._approval.headline)
            with Horizontal(id="confirm-columns"):
                yield PlainText("", id="confirm-receipt")
                yield PlainText("", id="confirm-steps")
            yield PlainText("", id="confirm-details")
        yield PlainText("", id="confirm-progress")
        if not self._ended:
            with Vertical(id="confirm-fields"):
                yield from self._fields()
        yield PlainText("", id="confirm-said")

    def on_mount(self) -> None:
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
        self.set_class(self.size.width < _STACKED_UNDER, "-narrow")
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        """The receipt, the steps and the details, each in the width that it has."""
        parts: dict[str, Callable[[int], Iterator[Content]]] = {
            "receipt": lambda width: receipt_lines(self._approval, width),
            "steps": lambda width: step_lines(self._approval, self._progress, width),
            "details": lambda width: detail_lines(self._approval, width),
        }
        heights = dict.fromkeys(parts, 0)
        for name, lines in parts.items():
            drawn = self.query_one(f"#confirm-{name}", PlainText)
            if drawn.size.width:
                told = list(lines(drawn.size.width))
                heights[name] = len(told)
                drawn.update(Content("\n").join(told))
        self._show_overflow(heights)

    def _show_overflow(self, heights: Mapping[str, int]) -> None:
        """What is out of sight is said to be: nobody signs half a page unknowingly."""
        columns = (heights["receipt"], heights["steps"])
        if self.has_class("-details"):
            rows, key = heights["details"], "f2 the receipt"
        else:
            rows = sum(columns) if self.has_class("-narrow") else max(columns)
            key = "f2 every byte"
        sheet = self.query_one("#confirm-sheet", VerticalScroll)
        below = rows - (sheet.size.height - 2)
        told = f"{below} lines more: pgdn · {key}" if below > 0 else key
        sheet.border_subtitle = Content(told)

    def _count_down(self) -> None:
        if not self._ended and not self._confirmed:
            left = self._ends_at - self._clock()
            self.query_one("#confirm-authority").border_subtitle = Content(countdown(left))

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
        self._confirmed = True
        self._link.confirm(self._approval.hash, event.word, self._passphrase())
        self._close_fields()
        self._say("Confirmed. Reading the chain again before anything is signed …")

    def action_leave(self) -> None:
        self.dismiss()

    def action_details(self) -> None:
        self.toggle_class("-details")
        self.query_one("#confirm-sheet", VerticalScroll).scroll_home(animate=False)
        self.call_after_refresh(self._draw)

    def action_page(self, direction: int) -> None:
        sheet = self.query_one("#confirm-sheet", VerticalScroll)
        sheet.scroll_relative(y=direction * max(1, sheet.size.height - 1), animate=False)

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
        self._progress = plan.progress
        self._draw()
        if plan.result is not None:
            result = self.query_one("#confirm-progress", PlainText)
            result.display = True
            result.update(Content("\n").join(_result(plan.result)))
            self._ended = True
            self.query_one("#confirm-authority").border_subtitle = Content("")
            self.add_class("-over")
            if plan.result.done:
                self._say("Done. escape goes back to the desk.", "bold $success")
            else:
                self._say("It stopped there. escape goes back to the desk.", "bold $warning")
        else:
            self._say("On its way. escape goes back to the desk; the sending goes on.")

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
        self._say(f"{words} escape goes back to the desk.", "bold $warning")

    def _close_fields(self) -> None:
        for field in self.query(HiddenField):
            field.forget()
        for fields in self.query("#confirm-fields"):
            fields.display = False
        self.set_focus(None)

    def _say(self, words: str, style: str = "") -> None:
        self.query_one("#confirm-said", PlainText).update(literal(words, style))

    def _authority(self) -> Content:
        """Drawn from checked fields alone, in a box of its own that nothing else is drawn in."""
        approval = self._approval
        recipients = " and ".join(map(_address, approval.recipients)) or NOBODY
        rows = (
            ("recipient", literal(recipients, "bold")),
            *([] if approval.recipients else [("wallet", literal(_address(approval.wallet)))]),
            ("key", literal(approval.signs_with)),
        )
        lines = [Content.assemble((f"{label:<10}", "$quiet"), words) for label, words in rows]
        return Content("\n").join(lines)

    def _fields(self) -> ComposeResult:
        if self._approval.needs_passphrase:
            with Horizontal(classes="confirm-row"):
                yield PlainText("passphrase")
                yield HiddenField(id="confirm-passphrase", counts=self._counts)
        with Horizontal(classes="confirm-row"):
            yield PlainText(f"type {self._approval.word}")
            yield TypedWord(id="confirm-word", counts=self._counts)


def _can_confirm(approval: ApprovalView) -> bool:
    # The line that names the recipient is the one line that must never be somebody's prose.
    return (
        approval.can_sign
        and ADDRESS.fullmatch(approval.wallet) is not None
        and all(recipient == approval.wallet for recipient in approval.recipients)
        and _WORD.fullmatch(approval.word) is not None
    )


def _address(text: str) -> str:
    return text if ADDRESS.fullmatch(text) else "not an address"


def _result(result: ResultView) -> Iterator[Content]:
    """What came of it: amounts, cost, the new position, and every transaction by its hash."""
    yield literal(result.state, "bold $success" if result.done else "bold $warning")
    for line in result.lines:
        yield literal(f"  {line.strip()}" if line.startswith("  ") else f"  {line}")
    minted = result.new_token_id
    if minted is not None and not any(f"#{minted}" in line for line in result.lines):
        yield literal(f"  The new position is #{minted}.", "bold")
    links = can_link(os.environ)
    for sent in result.sent:
        yield sent_line(sent, links=links)
