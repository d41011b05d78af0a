"""The page whose typed word signs an order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from zuno_tui.features.orders.events import OrderApprovalView, OrderConfirmationAsked
from zuno_tui.screen.panes.receipt import wrapped
from zuno_tui.screen.screens.typed_confirm import TypedConfirmScreen

if TYPE_CHECKING:
    from textual.content import Content

    from zuno_tui.desk.events import Event
    from zuno_tui.desk.thread import DeskLink


_FRAME = 6
"""Cells that border, gutter and padding take."""


class OrderConfirmScreen(TypedConfirmScreen):
    TITLE_WORDS = "Sign an order"
    LEAVES = "escape goes back, nothing is signed"
    OVER = "This is older than ten minutes. Nothing was signed. Ask for the order again."
    ASKS = "Enter after the word signs it; nothing is sent until its condition holds"
    CONFIRMED = "Confirmed. Reading the chain again before anything is signed …"

    def __init__(
        self, link: DeskLink, approval: OrderApprovalView, clock: Callable[[], float]
    ) -> None:
        super().__init__(link, approval, clock, needs_passphrase=approval.needs_passphrase)
        self._order = approval

    def hears(self, event: Event) -> bool:
        return isinstance(event, OrderConfirmationAsked) and event.approval.hash == self._order.hash

    def authority(self) -> tuple[tuple[str, str], ...]:
        return (("order", self._order.title), ("hash", self._order.hash))

    def sheet(self) -> Iterator[Content]:
        width = self.app.size.width - _FRAME
        for label, words in self._order.rows:
            yield from wrapped(words, width, f"{label:<10}")
