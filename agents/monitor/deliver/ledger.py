"""What a channel has said of each alert, and how often it spoke of each position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import cast
from zoneinfo import ZoneInfo

from msgspec import Struct, convert, field
from msgspec.structs import replace

from agents.monitor.alerts.alert import Alert, AlertEvent, EventKind, Severity
from chain.base.store import Store, read_as
from chain.base.units import DAY, HOUR

_LEAST_WAIT = 1.0


class QuietHours(Struct, frozen=True):
    """A part of every day, by the clocks of one place."""

    start: time
    end: time
    zone: str
    """As the time zone database calls it: Europe/Berlin."""

    def end_after(self, now: float) -> float | None:
        """When the quiet that holds now is over; None outside of it."""
        here = ZoneInfo(self.zone)
        local = datetime.fromtimestamp(now, here)
        moment = local.time()
        if self.start < self.end:
            quiet = self.start <= moment < self.end
        else:
            quiet = moment >= self.start or moment < self.end
        if not quiet:
            return None
        day = local.date() if moment < self.end else local.date() + timedelta(days=1)
        # Where clocks change meanwhile the end may fall into the hour that comes twice.
        return max(datetime.combine(day, self.end, here).timestamp(), now + _LEAST_WAIT)


class Pace(Struct, frozen=True):
    """Without a word: everything, at once, each event by itself."""

    least_severity: Severity = Severity.INFO
    quiet_hours: QuietHours | None = None
    critical_passes: bool = True
    """Whether what is critical is told in quiet hours, too."""
    cooldown_seconds: float = 0.0
    """The least time between two messages about a position, unless it is critical."""
    most_a_day: int = 0
    """Messages about a position in 24 hours; what is critical beyond goes together. 0: no limit."""
    remind_seconds: float = 0.0
    """How long a critical alert may stand unacknowledged before it is told again. 0: for ever."""
    for_people: bool = False
    """Whether what came and went while it waited is left out, unless it was critical."""

    @property
    def looks_back(self) -> bool:
        """Whether what is told depends on what was."""
        return bool(
            self.cooldown_seconds or self.most_a_day or self.remind_seconds or self.for_people
        )


EVERYTHING = Pace()
FOR_PEOPLE = Pace(
    least_severity=Severity.WARNING,
    cooldown_seconds=HOUR,
    most_a_day=3,
    remind_seconds=12 * HOUR,
    for_people=True,
)


_ENDING_REMINDERS = frozenset((EventKind.ACKED, EventKind.MUTED, EventKind.RESOLVED))


class LastMessage(Struct, frozen=True):
    """The last that was said of an alert."""

    position: str
    episode: int
    critical: bool
    at: float
    standing: bool = True
    """Whether nobody has acknowledged or muted it since, and it is not over."""
    over: bool = False


class DeliveryLedger(Struct, frozen=True):
    told: Mapping[int, LastMessage] = field(default_factory=dict)
    """By alert."""
    messages: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By position: when it was spoken of within the last day, oldest first."""
    merged_at: float | None = None
    """When what was critical beyond the day's messages was last told, all of it together."""

    def at(self, now: float) -> DeliveryLedger:
        """Without what is a day old; times that lie ahead are of a clock that was set back."""
        told = {
            number: replace(one, at=min(one.at, now))
            for number, one in self.told.items()
            if not one.over or now - one.at < DAY
        }
        messages = {
            position: kept
            for position, times in self.messages.items()
            if (kept := tuple(min(one, now) for one in times if now - one < DAY))
        }
        merged_at = None if self.merged_at is None else min(self.merged_at, now)
        return DeliveryLedger(told, messages, merged_at)

    def known(self, event: AlertEvent) -> DeliveryLedger:
        """After something that ends reminders, whether or not it is told."""
        told = self.told.get(event.alert.id)
        if told is None or event.kind not in _ENDING_REMINDERS:
            return self
        over = event.kind is EventKind.RESOLVED
        changed = replace(told, standing=False, over=over or told.over)
        return replace(self, told={**self.told, event.alert.id: changed})

    def spoken(self, events: Sequence[AlertEvent], now: float, *, merged: bool) -> DeliveryLedger:
        """After a message with these in it."""
        told, messages = dict(self.told), dict(self.messages)
        for position in dict.fromkeys(position_of(event.alert) for event in events):
            messages[position] = (*messages.get(position, ()), now)
        for event in events:
            alert = event.alert
            if event.kind is EventKind.RESOLVED:
                continue
            critical = alert.severity is Severity.CRITICAL
            told[alert.id] = LastMessage(position_of(alert), alert.episode, critical, now, critical)
        later = DeliveryLedger(told, messages, now if merged else self.merged_at)
        for event in events:
            later = later.known(event)
        return later

    def spoken_of(self, alert: Alert) -> tuple[float, ...]:
        return self.messages.get(position_of(alert), ())

    def told_in_episode(self, alert: Alert) -> LastMessage | None:
        told = self.told.get(alert.id)
        return told if told is not None and told.episode == alert.episode else None


def position_of(alert: Alert) -> str:
    """A position across networks and wallets, or a wallet as a whole."""
    number = "" if alert.position_id is None else alert.position_id
    return f"{alert.chain_id}/{alert.wallet_address}/{number}"


NAMESPACE = "monitor-delivery"


class Progress(Struct, frozen=True):
    """How far a channel has come."""

    fingerprint: str
    cursor: int
    """The last event that was read; all before it were told, wait, or need not be told."""
    tried_at: float = 0.0
    rest_seconds: float = 0.0
    """How long to leave the channel alone since then."""
    failures: int = 0
    """In a row."""
    trouble: str | None = None
    """Why the last try failed; no secret is in it."""
    stopped_at: float | None = None
    """Since when the channel refuses what it is sent."""
    waiting: tuple[int, ...] = ()
    """Events that were read and are to be told."""
    suspects: tuple[int, ...] = ()
    """Events that failed by themselves while the channel may have been well."""
    trial: int | None = None
    """How often the first suspect failed since another event was taken; None: none was yet."""
    set_aside: tuple[int, ...] = ()
    """The last events that were given up: the channel took others, and never these."""
    ledger: DeliveryLedger = field(default_factory=DeliveryLedger)

    @property
    def stopped(self) -> bool:
        return self.stopped_at is not None


def all_progress(store: Store) -> dict[str, Progress]:
    """How far each channel has come, as any process of the home may read it."""
    return {channel: read_progress(kept) for channel, kept in store.items(NAMESPACE).items()}


def read_progress(kept: object) -> Progress:
    """As it was written; a ledger that does not read is begun anew, the rest must read."""
    fields = cast("dict[str, object]", kept)
    ledger = read_as(DeliveryLedger, fields.get("ledger")) or DeliveryLedger()
    return replace(convert({**fields, "ledger": {}}, Progress), ledger=ledger)
