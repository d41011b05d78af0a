"""What orders tell the screen."""

from __future__ import annotations

from msgspec import Struct

from zuno_tui.desk.events import Event


class OrderApprovalView(Struct, frozen=True):
    """What the typed word would sign."""

    plan_id: str
    hash: str
    word: str
    seconds_left: float
    title: str
    rows: tuple[tuple[str, str], ...]
    needs_passphrase: bool


class OrderConfirmationAsked(Event, frozen=True):
    """The page that shows an order and waits for the typed word."""

    approval: OrderApprovalView
