"""What a running monitor tells of itself, to a command line or a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from agents.monitor.deliver.channel_worker import Postponed, Sent, SetAside, Stopped

if TYPE_CHECKING:
    from agents.monitor.heartbeat import Beat
    from agents.monitor.poll import PollReport
    from agents.monitor.polling_lock import Holder


class WaitingForTurn(Struct, frozen=True):
    """Another process polls on this home; we take over when it ends."""

    holder: Holder


class TurnTaken(Struct, frozen=True):
    """From now on we poll."""


class RoundEnded(Struct, frozen=True):
    """Everything was looked at once."""

    beat: Beat
    reports: tuple[PollReport, ...]
    seconds: float


class SubscriptionChanged(Struct, frozen=True):
    """A network's new blocks are announced from now on, or no longer and polled for instead."""

    network: str
    trouble: str | None
    """Why they are not."""


class Troubled(Struct, frozen=True):
    """Something is not as it should be; the watch goes on."""

    sentence: str


Note: TypeAlias = (
    WaitingForTurn
    | TurnTaken
    | RoundEnded
    | SubscriptionChanged
    | Troubled
    | Sent
    | Postponed
    | Stopped
    | SetAside
)
