"""An alert: what is the matter with a position, what to type about it, and its life."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from chain.base.clean_text import clean_text
from chain.contracts.networks import Address
from chain.protocols.reference import PositionRef, position_name

Number: TypeAlias = int | float | str | None
"""A figure of an alert: money and ticks as integers, large amounts as text, None for unknown."""


class AlertKind(StrEnum):
    """What the monitor itself finds; features name their own."""

    OUT_OF_RANGE = "out_of_range"
    NEAR_BOUNDARY = "near_boundary"
    LIKELY_TO_LEAVE = "likely_to_leave"
    FEES_WORTH_COLLECTING = "fees_worth_collecting"
    WITHDRAWN_WAITS = "withdrawn_waits"
    """What was taken out of a range lies with its protocol until it is collected."""
    POOL_DRAINED = "pool_drained"
    FEE_CHANGED = "fee_changed"
    HOOK_CHANGED = "hook_changed"
    OWNER_CHANGED = "owner_changed"
    APPROVAL_CHANGED = "approval_changed"
    PRICE_DISAGREEMENT = "price_disagreement"
    PRICE_LEVEL = "price_level"
    LOSS_LEVEL = "loss_level"
    PRICE_CROSSED = "price_crossed"
    """A price that a person asked to be told of."""
    SETTING_UNKNOWN = "setting_unknown"
    """A setting that this version does not know: it does not hold, and nothing is signed."""
    BLIND = "blind"
    """The chain could not be read for several polls: nobody is watching."""


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """The larger, the worse."""
        return _RANKS[self]


_RANKS = {Severity.INFO: 0, Severity.WARNING: 1, Severity.CRITICAL: 2}


class AlertState(StrEnum):
    OPEN = "open"
    ACKED = "acked"
    """A person said they know; it is still so."""
    RESOLVED = "resolved"
    REOPENED = "reopened"
    """Open, and not for the first time."""


class AlertSubject(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What an alert is about; there is one alert for each."""

    chain_id: int
    wallet_address: Address
    position_id: PositionRef | None
    """None when it is about the wallet or the network as a whole."""
    kind: str
    label: str = ""
    """What tells apart several of a kind, like "ETH below 3000"."""


class Alert(Struct, frozen=True, rename="camel"):
    """One subject's alert through all its episodes; every text in it is clean and one line.

    `since` and `resolved_at` are the network's time, that of the block where it happened; the
    other times are the clock of whoever wrote them down.
    """

    id: int
    """Short, for people to type: `ack 3`."""
    subject: AlertSubject
    network: str
    """The network's name, as `--network` takes it."""
    state: AlertState
    severity: Severity
    """The worst of this episode."""
    message: str
    """A sentence with its figures, good to show or send as it is."""
    reason: str
    """Why, in words that do not change while the matter stays the same."""
    next_command: str
    """What to type about it."""
    numbers: Mapping[str, Number]
    episode: int
    """1 when it opens for the first time, one more each time it is reopened."""
    block: int | None
    """Where it last changed its state by itself; None where no block could be read."""
    since: float
    """When this episode began."""
    created_at: float
    updated_at: float
    acked_at: float | None = None
    muted_until: float | None = None
    """Told to nobody before this time, while it lives on as usual."""
    rose_muted: bool = False
    """Whether it opened, came back or became worse while muted: told when the mute ends."""
    resolved_at: float | None = None
    resolution: str | None = None
    """Why it is over."""

    @property
    def chain_id(self) -> int:
        return self.subject.chain_id

    @property
    def waiting_usd(self) -> float | None:
        """What waits to be collected, where it is about that."""
        told = self.numbers.get("feesUsd", self.numbers.get("waitingUsd"))
        return float(told) if isinstance(told, int | float) else None

    @property
    def wallet_address(self) -> Address:
        return self.subject.wallet_address

    @property
    def position_id(self) -> PositionRef | None:
        return self.subject.position_id

    @property
    def kind(self) -> str:
        return self.subject.kind

    @property
    def active(self) -> bool:
        """Whether the matter still stands, acknowledged or not."""
        return self.state is not AlertState.RESOLVED

    def is_muted(self, now: float) -> bool:
        return self.muted_until is not None and now < self.muted_until


class EventKind(StrEnum):
    """What can happen to an alert."""

    OPENED = "opened"
    REOPENED = "reopened"
    RISEN = "risen"
    """Its severity rose."""
    RESOLVED = "resolved"
    ACKED = "acked"
    MUTED = "muted"
    UNMUTED = "unmuted"
    """Its mute ended, and what rose meanwhile still stands."""
    REMINDED = "reminded"
    """Nothing happened, and nobody acknowledged it: told by a channel, in no list."""


class AlertEvent(Struct, frozen=True):
    """One thing that happened to an alert; events are only ever appended."""

    number: int
    """Grows with every event of the home: the cursor of whoever consumes them. 0: in no list."""
    kind: EventKind
    alert: Alert
    """As it stood right after."""
    at: float
    """When it was written down."""


class Finding(Struct, frozen=True):
    """What a rule says about a position now; the life of its alert makes an alert of it."""

    kind: str
    severity: Severity
    message: str
    reason: str
    next_command: str
    numbers: Mapping[str, Number] = field(default_factory=dict)


ALERT_TIMES = ("since", "createdAt", "updatedAt", "ackedAt", "mutedUntil", "resolvedAt")


def alert_document(alert: Alert) -> dict[str, object]:
    """The alert as `alerts.json`, webhooks and `--json` tell it: times in ISO 8601, UTC."""
    document = to_builtins(alert)
    subject, ref = document.pop("subject"), alert.position_id
    # Token ids are 256 bits wide: other readers of JSON would round them.
    subject["positionId"] = None if ref is None else position_name(ref)
    for name in ALERT_TIMES:
        document[name] = None if document[name] is None else iso_time(document[name])
    return {"id": alert.id, **subject, **document}


def event_document(event: AlertEvent) -> dict[str, object]:
    """An event with its alert, one line of JSON for whoever listens."""
    return {
        "event": event.number or None,
        "happened": event.kind.value,
        "at": iso_time(event.at),
        "alert": alert_document(event.alert),
    }


def iso_time(seconds: float) -> str:
    """To the millisecond, so that reading it back gives the same text again."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
    position_id: PositionRef | None = None
    kind: str | None = None

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


def open_alert(
    number: int, raised: Raised, mutes: Iterable[AlertMute], now: float
) -> LifecycleStep:
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
    alert = replace(alert, rose_muted=alert.is_muted(now))
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
            rose_muted=alert.is_muted(now),
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
            rose_muted=alert.is_muted(now),
        )
        return LifecycleStep(_refreshed(risen, change.finding, now), EventKind.RISEN)
    if (
        clean_line(change.finding.reason) != alert.reason
        or now - alert.updated_at >= REFRESH_SECONDS
    ):
        return LifecycleStep(_refreshed(alert, change.finding, now), None)
    return None


def acknowledge(alert: Alert, now: float) -> LifecycleStep | None:
    if not alert.active or alert.state is AlertState.ACKED:
        return None
    known = replace(alert, state=AlertState.ACKED, acked_at=now, updated_at=now, rose_muted=False)
    return LifecycleStep(known, EventKind.ACKED)


def mute(alert: Alert, until: float, now: float) -> LifecycleStep | None:
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
    return None if alert.is_muted(now) else _unmuted(alert, now)


def _unmuted(alert: Alert, now: float) -> LifecycleStep | None:
    if alert.muted_until is None:
        return None
    aloud = replace(alert, muted_until=None, rose_muted=False, updated_at=now)
    return LifecycleStep(aloud, EventKind.UNMUTED if alert.rose_muted else None)


def muted_until(subject: AlertSubject, mutes: Iterable[AlertMute], now: float) -> float | None:
    """The end of the longest silence that covers a new alert."""
    return max(
        (mute.until for mute in mutes if mute.matches(subject) and mute.until > now), default=None
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
        numbers={
            name: clean_line(value) if isinstance(value, str) else value
            for name, value in finding.numbers.items()
        },
        updated_at=now,
    )


def clean_line(text: str) -> str:
    """One visible line, as every text of an alert is."""
    return clean_text(text, limit=TEXT_LIMIT)
