"""What a way to reach a person must offer, and how a try to do so can end."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

from agents.monitor.alerts.alert import AlertEvent, EventKind
from chain.base.http import HttpLimits

if TYPE_CHECKING:
    from agents.monitor.deliver.pace import Pace

DELIVERY_LIMITS = HttpLimits(connect_seconds=5.0, answer_seconds=15.0, most_bytes=64_000, cut=True)
RAISING = frozenset((EventKind.OPENED, EventKind.REOPENED, EventKind.RISEN, EventKind.UNMUTED))
"""After these an alert needs the person."""
_NEWS = RAISING | {EventKind.RESOLVED}
_FINGERPRINT_DIGITS = 16


class Delivered(Struct, frozen=True):
    """It was taken."""


class Delayed(Struct, frozen=True):
    """It may be taken later; whether it was taken now may be unknown."""

    reason: str
    asked_seconds: float | None = None
    """How long the other side asks to be left alone."""
    answered: bool = False
    """Whether the other side took a look and failed, which may be due to what it was sent."""


class ChannelRefused(Struct, frozen=True):
    """It will not be taken before a person changes something, on one side or the other."""

    reason: str


Outcome: TypeAlias = Delivered | Delayed | ChannelRefused


class Notification(Struct, frozen=True):
    """One message of a channel and the events that are in it, in their order."""

    body: bytes
    events: tuple[AlertEvent, ...]


class Channel(Protocol):
    @property
    def name(self) -> str:
        """As people and the settings call it."""

    @property
    def fingerprint(self) -> str:
        """Changes when its settings do, and tells nothing of them."""

    @property
    def pause_seconds(self) -> float:
        """The least time between two messages."""

    @property
    def pace(self) -> Pace:
        """What is told there, how often and when."""

    def wants(self, event: AlertEvent) -> bool:
        """Whether this is told there at all."""

    def letter(self, events: Sequence[AlertEvent]) -> Notification:
        """The next message: the first of these events, and as many more as go with it."""

    def notice(self, text: str) -> Notification:
        """A message about no event: that something keeps events from being written down."""

    async def send(self, letter: Notification, *, now: float) -> Outcome: ...

    async def close(self) -> None: ...


def is_news(event: AlertEvent) -> bool:
    """Whether a person must hear of it: what they did themselves, or muted, they need not."""
    return event.kind in _NEWS and not event.alert.is_muted(event.at)


def event_id(event: AlertEvent) -> str:
    """The same in every try, and never another's: by it a receiver knows what it already has."""
    number = event.number or f"reminder-{event.alert.id}"
    return f"{number}-{round(event.at * 1000)}"


def fingerprint(*settings: str) -> str:
    return hashlib.sha256("\0".join(settings).encode()).hexdigest()[:_FINGERPRINT_DIGITS]
