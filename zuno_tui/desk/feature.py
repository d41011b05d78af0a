"""What a feature adds to the desk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from zuno_tui.app.feature import Feature, features

if TYPE_CHECKING:
    from zuno_tui.desk.approvals import EmbeddedMarket
    from zuno_tui.desk.card import Card
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.link import DeskLink
    from zuno_tui.desk.questions import Questions
    from zuno_tui.intents.intent import Intent
    from zuno_tui.intents.intents import Apply, Approve


class DeskPart(Protocol):
    """A feature while the desk is open."""

    def take(self, intent: Intent) -> bool:
        """False where the intent is answered as a page, as its command declares."""

    def show(self, plan_id: str | None = None) -> None: ...

    def approve(self, intent: Approve, plan_id: str) -> None: ...

    def ask(self, intent: Apply, plan_id: str) -> None:
        """Show what would be sent, and wait for the typed word."""

    def close(self) -> None: ...


class DeskFeature(Feature, frozen=True, kw_only=True):
    """One that has a part of the desk, and pages of its own."""

    intents: tuple[type[Intent], ...] = ()
    """Those that its part of the desk takes."""
    desk_part: Callable[[DeskContext, EmbeddedMarket | None, Questions, Card], DeskPart]
    screen_for: Callable[[Event, DeskLink, Callable[[], float]], object] = lambda *_: None
    """The screen of an event of its own; None of any other."""


def desk_features() -> tuple[DeskFeature, ...]:
    return tuple(feature for feature in features() if isinstance(feature, DeskFeature))
