"""What a running monitor tells of itself, to a command line or a screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from agents.monitor.courier import Postponed, Sent, SetAside, Stopped

if TYPE_CHECKING:
    from agents.monitor.heartbeat import Beat
    from agents.monitor.polling_lock import Holder
    from agents.monitor.worker import PollReport


@dataclass(frozen=True, slots=True)
class WaitingForTurn:
    """Another process polls on this home; we take over when it ends."""

    holder: Holder


@dataclass(frozen=True, slots=True)
class TurnTaken:
    """From now on we poll."""


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """Everything was looked at once."""

    beat: Beat
    reports: tuple[PollReport, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Troubled:
    """Something is not as it should be; the watch goes on."""

    sentence: str


Note: TypeAlias = (
    WaitingForTurn | TurnTaken | RoundEnded | Troubled | Sent | Postponed | Stopped | SetAside
)
