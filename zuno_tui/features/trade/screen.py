"""The trade desk on the screen: a run as it goes, and the page whose typed word sends orders."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen

from zuno_tui.charts.drawing import ChartError, require_chart_packages
from zuno_tui.desk.events import ConfirmationEnded, Event
from zuno_tui.features.trade.drawing import chip_lines, sections, verdict_lines
from zuno_tui.features.trade.events import TradeChanged, TradeConfirmationAsked, TradeOpened
from zuno_tui.features.trade.intents import Trade
from zuno_tui.screen.keys import TRADING
from zuno_tui.screen.panes.fields import LOOK_AGAIN_SECONDS, READING_SECONDS, TypedWord
from zuno_tui.screen.panes.frame import SEPARATOR, heading, literal
from zuno_tui.screen.panes.receipt import countdown
from zuno_tui.screen.panes.text import KeyLine, PlainText, drawn
from zuno_tui.screen.screens.sub_screen import SubScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from zuno_tui.desk.thread import DeskLink
    from zuno_tui.features.trade.run_view import TradeApprovalView, TradeRunView
    from zuno_tui.screen.graphics.picture import PictureWay


_NARROWEST = 40


@runtime_checkable
class Picturing(Protocol):
    """An app that knows which way its terminal can show a picture."""

    pictures: PictureWay


_BESIDE = ("experts", "conflict-map")


class TradeScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*TRADING]
    ABOUT = "trade"

    def __init__(self, link: DeskLink, view: TradeRunView) -> None:
        super().__init__(link)
        self._view = view

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="trade", classes="visit", can_focus=False):
            yield PlainText(id="trade-verdict")
            yield PlainText(id="trade-ladder")
            yield PlainText(id="trade-sources")
            with Container(id="trade-columns"):
                yield from (PlainText(id=f"trade-{name}") for name in _BESIDE)
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._draw()

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._draw)

    def hear(self, event: Event) -> bool:
        match event:
            case TradeOpened(view) | TradeChanged(view):
                self._view = view
                self._draw()
                self._show_keys()
                return True
            case _:
                return False

    def action_go_on(self) -> None:
        self.leave_with(self._view.next_phrase)

    def action_ask(self, subject: Literal["why", "report", "status", "memory"]) -> None:
        self.link.ask(Trade(subject))

    def action_chart(self) -> None:
        from zuno_tui.screen.screens.chart import ChartScreen

        way = self.app.pictures if isinstance(self.app, Picturing) else "blocks"
        try:
            require_chart_packages()
            png = Path(self._view.chart).read_bytes()
        except (ChartError, OSError):
            self._page.border_subtitle = literal("the picture is gone, or the extra charts is")
            return
        self.app.push_screen(ChartScreen(self.link, self._view.subject, png, way))

    def action_scroll_lines(self, step: int) -> None:
        self._page.scroll_relative(y=step, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "go_on":
                return bool(self._view.next_phrase)
            case "chart":
                return bool(self._view.chart)
            case "ask":
                return bool(self._view.plan_id) or parameters in (("status",), ("memory",))
            case _:
                return super().check_action(action, parameters)

    @property
    def _page(self) -> VerticalScroll:
        return self.query_one("#trade", VerticalScroll)

    def _draw(self) -> None:
        view = self._view
        page = self._page
        page.border_title = literal(
            SEPARATOR.join(filter(None, (view.subject, view.mode, view.venue)))
        )
        below = (view.plan_id, view.working or _next_words(view))
        page.border_subtitle = literal(SEPARATOR.join(filter(None, below)))
        top = self.query_one("#trade-verdict", PlainText)
        width = self._cells(top)
        top.update(drawn((*verdict_lines(view, width), *chip_lines(view, width))))
        for section in sections(view):
            name = section.title.lower().replace(" ", "-")
            part = self.query_one(f"#trade-{name}", PlainText)
            lines = drawn(section.draw(self._cells(part)))
            part.update(
                Content("\n").join([Content(""), heading(section.title, section.beside), lines])
            )

    def _cells(self, part: PlainText) -> int:
        return max(_NARROWEST, part.content_size.width)


def _next_words(view: TradeRunView) -> str:
    if view.next_phrase:
        return f"next: {view.next_phrase.partition(' ')[0]}"
    return "nothing is sent" if not view.progress else ""


_OVER = "The approval is over. Nothing was sent. Ask for a new plan."
_LEAVES = "escape leaves, and nothing is sent"


class TradeConfirmScreen(Screen[None]):
    """No binding, no palette entry and no click confirms; a paste is ignored and said to be."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "leave", id="confirm.trade-leave"),
        Binding("pageup,up", "page(-1)", "up", id="confirm.trade-up"),
        Binding("pagedown,down", "page(1)", "down", id="confirm.trade-down"),
    ]
    CSS = """
    TradeConfirmScreen { background: $background; }
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
    #send-row { height: 1; padding: 0 2; }
    #send-row PlainText { width: 11; color: $accent; text-style: bold; }
    #send-word { height: 1; width: 26; background: $panel; }
    #send-said { height: auto; min-height: 1; padding: 0 2; }
    """

    def __init__(
        self,
        link: DeskLink,
        approval: TradeApprovalView,
        clock: Callable[[], float],
        key_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`key_clock` is the one that keys are stamped by when they arrive."""
        super().__init__()
        self._link = link
        self._approval = approval
        self._clock = clock
        self._key_clock = key_clock
        self._keys_count_from: float | None = None
        self._ends_at = clock() + approval.seconds_left
        self._over = False

    def compose(self) -> ComposeResult:
        approval = self._approval
        authority = PlainText(self._authority(), id="send-authority")
        authority.border_title = Content("Send orders")
        authority.border_subtitle = Content(countdown(approval.seconds_left))
        yield authority
        with VerticalScroll(id="send-sheet", can_focus=False) as sheet:
            sheet.border_title = literal(approval.plan_id)
            yield PlainText(Content("\n").join(self._orders()), id="send-orders")
        with Horizontal(id="send-row"):
            yield PlainText(f"type {approval.word}")
            yield TypedWord(id="send-word", counts=self._counts)
        yield PlainText("", id="send-said")

    def on_mount(self) -> None:
        self._say(f"Enter after the word sends the orders; {_LEAVES}.")
        self.set_interval(1.0, self._count_down)
        self.set_focus(self.query_one(TypedWord))

    def on_screen_resume(self) -> None:
        self._keys_count_from = None
        self.call_after_refresh(self._drawn)

    def hear(self, event: Event) -> bool:
        match event:
            case ConfirmationEnded(approval_hash, words) if approval_hash == self._approval.hash:
                self._end(words)
            case TradeConfirmationAsked(approval):
                return approval.hash == self._approval.hash
            case _:
                pass
        # The screens behind this one keep up with everything that is told.
        return False

    def on_typed_word_not_typed(self) -> None:
        self._say(f"That was pasted, and ignored. Type the word with your fingers; {_LEAVES}.")

    def on_typed_word_typed(self, event: TypedWord.Typed) -> None:
        if self._over:
            return
        if event.word != self._approval.word:
            self._say(f"That was not the word {self._approval.word}. Nothing was sent.", "$warning")
            return
        if self._clock() >= self._ends_at:
            self._end(_OVER)
            return
        self._close()
        self._link.confirm(self._approval.hash, event.word, None)
        self._say("Confirmed. Looking at the market and the account again …")

    def action_page(self, direction: int) -> None:
        sheet = self.query_one("#send-sheet", VerticalScroll)
        sheet.scroll_relative(y=direction * max(1, sheet.size.height - 1), animate=False)

    def _drawn(self) -> None:
        """From a second after the page is whole on the screen a key may be an answer to it."""
        if self.query_one(TypedWord).region:
            self._keys_count_from = self._key_clock() + READING_SECONDS
        else:
            self.set_timer(LOOK_AGAIN_SECONDS, self._drawn)

    def _counts(self, arrived: float) -> bool:
        if self._keys_count_from is not None and arrived >= self._keys_count_from:
            return True
        self._say(f"That came before this could be read, and was ignored. Type it now; {_LEAVES}.")
        return False

    def _count_down(self) -> None:
        left = self._ends_at - self._clock()
        if self._over:
            return
        if left <= 0:
            self._end(_OVER)
            return
        self.query_one("#send-authority").border_subtitle = Content(countdown(left))

    def _end(self, words: str) -> None:
        self._close()
        self._say(f"{words} · escape goes back.", "bold")

    def _close(self) -> None:
        self._over = True
        self.query_one("#send-row").display = False
        self.set_focus(None)

    def _say(self, words: str, style: str = "") -> None:
        self.query_one("#send-said", PlainText).update(literal(words, style))

    def _authority(self) -> Content:
        approval = self._approval
        rows = (("venue", approval.venue), ("hash", approval.hash))
        lines = [
            Content.assemble((f"{label:<10}", "$quiet"), literal(words, "bold"))
            for label, words in rows
        ]
        return Content("\n").join(lines)

    def _orders(self) -> Iterator[Content]:
        approval = self._approval
        yield literal(approval.headline, "bold")
        yield Content("")
        yield heading("ORDERS", "each is sent once, by the name below it")
        for order in approval.orders:
            words, _, name = order.rpartition(" · ")
            yield literal(words)
            yield literal(f"  {name}", "$quiet")
        if approval.lines:
            yield Content("")
            yield heading("WHAT IT RESTS ON")
            yield from (literal(line) for line in approval.lines)
