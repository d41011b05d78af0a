"""The life of an alert: open, acked, resolved, reopened; pure, one change at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from agents.monitor.alerts.alert import (
    Alert,
    AlertKind,
    AlertState,
    AlertSubject,
    EventKind,
    Finding,
    Number,
)
from chain.base.clean_text import clean_text

if TYPE_CHECKING:
    from chain.contracts.networks import Address

REFRESH_SECONDS = 300
"""How old the figures of a standing alert may grow before they are written again.

Up to twice as old, by its number: ten thousand that opened together are not all renewed at once.
"""

TEXT_LIMIT = 300


class Raised(Struct, frozen=True):
    """The matter stands: it opens an alert, or keeps one up to date."""

    subject: AlertSubject
    network: str
    finding: Finding
    block: int | None
    time: float
    """The network's, at that block."""


class Cleared(Struct, frozen=True):
    """The matter is over; says nothing where no alert stands."""

    subject: AlertSubject
    block: int | None
    time: float
    resolution: str


Change: TypeAlias = Raised | Cleared


class AlertMute(Struct, frozen=True):
    """Silence until a time for every alert that matches; what is None matches all."""

    until: float
    chain_id: int | None = None
    wallet_address: Address | None = None
    position_id: int | None = None
    kind: AlertKind | None = None

    @classmethod
    def of(cls, subject: AlertSubject, until: float) -> AlertMute:
        """For this one alert and all its episodes."""
        return cls(
            until, subject.chain_id, subject.wallet_address, subject.position_id, subject.kind
        )

    def matches(self, subject: AlertSubject) -> bool:
        pairs = (
            (self.chain_id, subject.chain_id),
            (self.wallet_address, subject.wallet_address),
            (self.position_id, subject.position_id),
            (self.kind, subject.kind),
        )
        return all(wanted is None or wanted == found for wanted, found in pairs)


class LifecycleStep(NamedTuple):
    alert: Alert
    event: EventKind | None
    """None when only its figures were brought up to date."""


def opened(number: int, raised: Raised, mutes: Iterable[AlertMute], now: float) -> LifecycleStep:
    """A subject's first alert."""
    finding = raised.finding
    alert = Alert(
        id=number,
        subject=raised.subject,
        network=raised.network,
        state=AlertState.OPEN,
        severity=finding.severity,
        message="",
        reason="",
        next_command="",
        numbers={},
        episode=1,
        block=raised.block,
        since=to_milliseconds(raised.time),
        created_at=now,
        updated_at=now,
        muted_until=muted_until(raised.subject, mutes, now),
    )
    alert = replace(alert, rose_muted=alert.muted(now))
    return LifecycleStep(_refreshed(alert, finding, now), EventKind.OPENED)


def after(alert: Alert, change: Change, now: float) -> LifecycleStep | None:
    """What a change makes of an alert; None when it changes nothing worth writing down."""
    if isinstance(change, Cleared):
        return _resolved(alert, change, now) if alert.active else None
    if not alert.active:
        again = replace(
            alert,
            state=AlertState.REOPENED,
            severity=change.finding.severity,
            episode=alert.episode + 1,
            block=change.block,
            since=to_milliseconds(change.time),
            acked_at=None,
            resolved_at=None,
            resolution=None,
            rose_muted=alert.muted(now),
        )
        return LifecycleStep(_refreshed(again, change.finding, now), EventKind.REOPENED)
    if change.finding.severity.rank > alert.severity.rank:
        # Worse than what was acknowledged: the person has not heard of this yet.
        state = AlertState.OPEN if alert.state is AlertState.ACKED else alert.state
        risen = replace(
            alert,
            state=state,
            severity=change.finding.severity,
            block=change.block,
            acked_at=None,
            rose_muted=alert.muted(now),
        )
        return LifecycleStep(_refreshed(risen, change.finding, now), EventKind.RISEN)
    if (
        clean_line(change.finding.reason) != alert.reason
        or now - alert.updated_at >= REFRESH_SECONDS
    ):
        return LifecycleStep(_refreshed(alert, change.finding, now), None)
    return None


def acked(alert: Alert, now: float) -> LifecycleStep | None:
    if not alert.active or alert.state is AlertState.ACKED:
        return None
    known = replace(alert, state=AlertState.ACKED, acked_at=now, updated_at=now, rose_muted=False)
    return LifecycleStep(known, EventKind.ACKED)


def muted(alert: Alert, until: float, now: float) -> LifecycleStep | None:
    """Silence until then; a time that has passed ends it."""
    if until <= now:
        return _unmuted(alert, now)
    wanted = to_milliseconds(until)
    if alert.muted_until == wanted:
        return None
    silent = replace(alert, muted_until=wanted, updated_at=now)
    return LifecycleStep(silent, EventKind.MUTED if alert.active else None)


def mute_ended(alert: Alert, now: float) -> LifecycleStep | None:
    """What the end of its mute makes of an alert; None while it lasts, or where there is none."""
    return None if alert.muted(now) else _unmuted(alert, now)


def _unmuted(alert: Alert, now: float) -> LifecycleStep | None:
    if alert.muted_until is None:
        return None
    aloud = replace(alert, muted_until=None, rose_muted=False, updated_at=now)
    return LifecycleStep(aloud, EventKind.UNMUTED if alert.rose_muted else None)


def muted_until(subject: AlertSubject, mutes: Iterable[AlertMute], now: float) -> float | None:
    """The end of the longest silence that covers a new alert."""
    return max(
        (one.until for one in mutes if one.matches(subject) and one.until > now), default=None
    )


def to_milliseconds(time: float) -> float:
    """As exact as times are written down, so that who reads an alert sees what its writer does."""
    return round(time, 3)


def _resolved(alert: Alert, cleared: Cleared, now: float) -> LifecycleStep:
    over = replace(
        alert,
        state=AlertState.RESOLVED,
        block=cleared.block,
        updated_at=now,
        resolved_at=to_milliseconds(cleared.time),
        resolution=clean_line(cleared.resolution),
        rose_muted=False,
    )
    return LifecycleStep(over, EventKind.RESOLVED)


def _refreshed(alert: Alert, finding: Finding, now: float) -> Alert:
    return replace(
        alert,
        message=clean_line(finding.message),
        reason=clean_line(finding.reason),
        next_command=clean_line(finding.next_command),
        numbers=_clean_numbers(finding.numbers),
        updated_at=now,
    )


def _clean_numbers(numbers: Mapping[str, Number]) -> dict[str, Number]:
    return {
        name: clean_line(value) if isinstance(value, str) else value
        for name, value in numbers.items()
    }


def clean_line(text: str) -> str:
    """One visible line, as every text of an alert is."""
    return clean_text(text, limit=TEXT_LIMIT)
