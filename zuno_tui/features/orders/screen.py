"""The form an order is written in."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from chain.protocols.reference import position_label
from zuno_tui.desk.link import DeskLink
from zuno_tui.features.orders.events import OrderFormReady
from zuno_tui.features.orders.intents import (
    OrderAsked,
    OrderClose,
    OrderCollect,
    OrderCompound,
    OrderMove,
)
from zuno_tui.features.orders.terms import OrderWordsError, read_terms
from zuno_tui.screen.keys import SENDING, TAKING, WRITING
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.marked_list import MarkedList
from zuno_tui.screen.panes.text import KeyLine, PlainText
from zuno_tui.screen.screens.sub_screen import SubScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult


_CHOICES: tuple[tuple[str, str, str], ...] = (
    ("below", "close it when the price falls below", "a price, like 2800"),
    ("above", "close it when the price rises above", "a price, like 3400"),
    ("out-of-range", "close it when it was out of range for", "a time, like 2h or 30m"),
    ("loss-over", "close it when it lost more, against holding, than", "a share, like 5%"),
    ("over", "collect its fees, up to 4 times 7 days apart, when over", "dollars, like $50"),
    ("", "put its fees back to work, up to 4 times 7 days apart, when over", "dollars, like $50"),
    ("up", "move its range up, without a swap, until it ends at", "a price, like 3400"),
    ("down", "move its range down, without a swap, until it ends at", "a price, like 2700"),
)
_KINDS: dict[str, type[OrderAsked]] = {
    "over": OrderCollect,
    "": OrderCompound,
    "up": OrderMove,
    "down": OrderMove,
}
_BEFORE: dict[str, tuple[str, ...]] = {
    "over": ("every", "7d", "times", "4", "over"),
    "": ("every", "7d", "times", "4", "over"),
    "up": ("up", "to"),
    "down": ("down", "to"),
}
"""The word of the line, what it means, and what follows it."""


class _FormField(Input):
    BINDINGS: ClassVar[list[BindingType]] = [*SENDING]

    def __init__(self, *, id: str, placeholder: str) -> None:  # noqa: A002
        super().__init__(id=id, placeholder=placeholder, select_on_focus=False)
        # A blinking cursor would send bytes for as long as nobody types.
        self.cursor_blink = False


class _WhenList(MarkedList):
    TAKES_TYPING = True
    BINDINGS: ClassVar[list[BindingType]] = [*TAKING]


class OrderFormScreen(SubScreen):
    """Writes the line that is asked for: nothing is signed by it."""

    BINDINGS: ClassVar[list[BindingType]] = [*WRITING]
    ABOUT = "order"

    def __init__(self, link: DeskLink, ready: OrderFormReady) -> None:
        super().__init__(link)
        self._ready = ready

    def compose(self) -> ComposeResult:
        ready = self._ready
        with Vertical(id="order-form", classes="visit") as page:
            page.border_title = literal(f"Order for {position_label(ready.ref)} {ready.pair}")
            page.border_subtitle = literal("carried out while you sleep, by the watch key")
            yield PlainText(literal(ready.facts, "bold"), id="order-facts")
            yield _WhenList([literal(means) for _, means, _ in _CHOICES], id="order-when")
            with Horizontal(classes="order-row"):
                yield PlainText(literal("value"), classes="order-label")
                yield _FormField(id="order-value", placeholder=_CHOICES[0][2])
            with Horizontal(classes="order-row"):
                yield PlainText(literal("until"), classes="order-label")
                yield _FormField(id="order-until", placeholder="30 days from now; or 1 Dec, 14d")
            yield PlainText(id="order-line")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(_WhenList).focus()
        self._draw()

    def on_option_list_option_highlighted(self) -> None:
        self.query_one("#order-value", Input).placeholder = _CHOICES[self._chosen][2]
        self._draw()

    def on_option_list_option_selected(self) -> None:
        self.query_one("#order-value", Input).focus()

    def on_input_changed(self) -> None:
        self._draw()

    def on_input_submitted(self) -> None:
        intent = self._intent()
        if not isinstance(intent, str):
            self.leave_asking(intent)

    @property
    def _chosen(self) -> int:
        return self.query_one(_WhenList).highlighted or 0

    def _intent(self) -> OrderAsked | str:
        """What is asked for, or what is still missing."""
        value, until = (
            self.query_one(name, Input).value.strip() for name in ("#order-value", "#order-until")
        )
        word, means, expects = _CHOICES[self._chosen]
        if not self._ready.delegated:
            return "Set your account up for orders once: type delegate at the desk."
        if not value:
            return f"{means.capitalize()} … {expects}."
        kind, before = _KINDS.get(word, OrderClose), _BEFORE.get(word, (word,))
        words = (*before, value, *(("until", *until.split()) if until else ()))
        try:
            read_terms(kind.kind, words, self._ready.now)
        except OrderWordsError as error:
            return str(error)
        return kind(self._ready.ref, words)

    def _draw(self) -> None:
        intent = self._intent()
        told = (
            literal(f"· {intent}", "$quiet")
            if isinstance(intent, str)
            else literal(f"✓ Enter shows the page to sign: {intent.title}", "$success")
        )
        self.query_one("#order-line", PlainText).update(told)
