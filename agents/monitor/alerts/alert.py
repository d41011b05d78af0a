"""An alert: what is the matter with a position, since when, and what to type about it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

if TYPE_CHECKING:
    from chain.contracts.networks import Address

Number: TypeAlias = int | float | str | None
"""A figure of an alert: money and ticks as integers, large amounts as text, None for unknown."""


class AlertKind(StrEnum):
    OUT_OF_RANGE = "out_of_range"
    NEAR_BOUNDARY = "near_boundary"
    LIKELY_TO_LEAVE = "likely_to_leave"
    FEES_WORTH_COLLECTING = "fees_worth_collecting"
    POOL_DRAINED = "pool_drained"
    FEE_CHANGED = "fee_changed"
    HOOK_CHANGED = "hook_changed"
    OWNER_CHANGED = "owner_changed"
    APPROVAL_CHANGED = "approval_changed"
    PRICE_DISAGREEMENT = "price_disagreement"
    PRICE_LEVEL = "price_level"
    LOSS_LEVEL = "loss_level"
    HEDGE_DRIFTED = "hedge_drifted"
    HEDGE_STALE = "hedge_stale"
    """Something is short for a position that is no more."""
    PRICE_CROSSED = "price_crossed"
    """A price that a person asked to be told of."""
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


class AlertSubject(Struct, frozen=True):
    """What an alert is about; there is one alert for each."""

    chain_id: int
    wallet_address: Address
    position_id: int | None
    """None when it is about the wallet or the network as a whole."""
    kind: AlertKind
    label: str = ""
    """What tells apart several of a kind, like "ETH below 3000"."""


class Alert(Struct, frozen=True):
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
    def wallet_address(self) -> Address:
        return self.subject.wallet_address

    @property
    def position_id(self) -> int | None:
        return self.subject.position_id

    @property
    def kind(self) -> AlertKind:
        return self.subject.kind

    @property
    def active(self) -> bool:
        """Whether the matter still stands, acknowledged or not."""
        return self.state is not AlertState.RESOLVED

    def muted(self, now: float) -> bool:
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

    kind: AlertKind
    severity: Severity
    message: str
    reason: str
    next_command: str
    numbers: Mapping[str, Number] = field(default_factory=dict)


def alert_document(alert: Alert) -> dict[str, object]:
    """The alert as `alerts.json`, webhooks and `--json` tell it: times in ISO 8601, UTC."""
    return {
        "id": alert.id,
        "chainId": alert.chain_id,
        "network": alert.network,
        "walletAddress": alert.wallet_address,
        # Token ids are 256 bits wide: other readers of JSON would round them.
        "positionId": None if alert.position_id is None else str(alert.position_id),
        "kind": alert.kind.value,
        **({"label": alert.subject.label} if alert.subject.label else {}),
        "severity": alert.severity.value,
        "state": alert.state.value,
        "message": alert.message,
        "reason": alert.reason,
        "nextCommand": alert.next_command,
        "numbers": dict(alert.numbers),
        "episode": alert.episode,
        "block": alert.block,
        "since": iso_time(alert.since),
        "createdAt": iso_time(alert.created_at),
        "updatedAt": iso_time(alert.updated_at),
        "ackedAt": _optional_time(alert.acked_at),
        "mutedUntil": _optional_time(alert.muted_until),
        "roseMuted": alert.rose_muted,
        "resolvedAt": _optional_time(alert.resolved_at),
        "resolution": alert.resolution,
    }


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


def _optional_time(seconds: float | None) -> str | None:
    return None if seconds is None else iso_time(seconds)
