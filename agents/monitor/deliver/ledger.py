"""What a channel has said of each alert, what of the rest is told now, and when; pure, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple, cast

from msgspec import Struct, convert, field
from msgspec.structs import replace

from agents.monitor.alerts.alert import Alert, AlertEvent, EventKind, Severity
from agents.monitor.deliver.channel import RAISING
from agents.monitor.deliver.pace import Pace
from chain.base.store import Store, read_as
from chain.base.units import DAY, HOUR

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
            number: replace(message, at=min(message.at, now))
            for number, message in self.told.items()
            if not message.over or now - message.at < DAY
        }
        messages = {
            position: kept
            for position, times in self.messages.items()
            if (kept := tuple(min(moment, now) for moment in times if now - moment < DAY))
        }
        merged_at = None if self.merged_at is None else min(self.merged_at, now)
        return DeliveryLedger(told, messages, merged_at)

    def after_known(self, event: AlertEvent) -> DeliveryLedger:
        """After something that ends reminders, whether or not it is told."""
        told = self.told.get(event.alert.id)
        if told is None or event.kind not in _ENDING_REMINDERS:
            return self
        over = event.kind is EventKind.RESOLVED
        changed = replace(told, standing=False, over=over or told.over)
        return replace(self, told={**self.told, event.alert.id: changed})

    def after_message(
        self, events: Sequence[AlertEvent], now: float, *, merged: bool
    ) -> DeliveryLedger:
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
            later = later.after_known(event)
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
    def is_stopped(self) -> bool:
        return self.stopped_at is not None


def all_progress(store: Store) -> dict[str, Progress]:
    """How far each channel has come, as any process of the home may read it."""
    return {channel: read_progress(kept) for channel, kept in store.items(NAMESPACE).items()}


def read_progress(kept: object) -> Progress:
    """As it was written; a ledger that does not read is begun anew, the rest must read."""
    fields = cast("dict[str, object]", kept)
    ledger = read_as(DeliveryLedger, fields.get("ledger")) or DeliveryLedger()
    return replace(convert({**fields, "ledger": {}}, Progress), ledger=ledger)


MERGED_SECONDS = 6 * HOUR
"""Between two messages with what is critical beyond a position's messages of the day."""


class DeliveryPlan(NamedTuple):
    due: tuple[AlertEvent, ...]
    reminders: tuple[int, ...]
    """Alerts that are to be told once more."""
    merged: bool
    """Whether something critical is among it that a message of its own was too much for."""
    next_at: float | None
    """When something becomes due, if nothing is now; None when nothing waits."""


def taken_in(
    waiting: tuple[AlertEvent, ...], event: AlertEvent, pace: Pace, ledger: DeliveryLedger
) -> tuple[AlertEvent, ...]:
    """What waits after one event more that the channel wants."""
    if event.alert.severity.rank < pace.least_severity.rank:
        return waiting
    if not pace.for_people:
        return (*waiting, event)
    others = tuple(other for other in waiting if other.alert.id != event.alert.id)
    # Each time it was critical is told, however it went on; of the rest only how it is now.
    kept = tuple(
        other for other in waiting if other.alert.id == event.alert.id and _is_critical(other)
    )
    if event.kind in RAISING:
        return (*others, *kept, event)
    told = ledger.told_in_episode(event.alert) is not None
    return (*others, *kept, event) if kept or told else others


def no_longer_needed(waiting: tuple[AlertEvent, ...], alert_id: int) -> tuple[AlertEvent, ...]:
    """What waits after a person said that they know of an alert, or want none of it."""
    return tuple(event for event in waiting if event.alert.id != alert_id)


def without_stale(waiting: tuple[AlertEvent, ...], now: float) -> tuple[AlertEvent, ...]:
    """That something ended a day ago is told no more."""
    return tuple(
        event
        for event in waiting
        if event.kind is not EventKind.RESOLVED
        or now - event.at < DAY
        or any(other.alert.id == event.alert.id and _is_critical(other) for other in waiting)
    )


def plan(
    waiting: Sequence[AlertEvent], pace: Pace, ledger: DeliveryLedger, now: float
) -> DeliveryPlan:
    quiet_end = None if pace.quiet_hours is None else pace.quiet_hours.end_after(now)
    times = [_ready_at(event, pace, ledger, quiet_end) for event in waiting]
    due = [event for event, time in zip(waiting, times, strict=True) if time <= now]
    standing = {
        number: message
        for number, message in ledger.told.items()
        if pace.remind_seconds and message.standing and message.critical
    }
    reminded = {
        number: _reminded_at(message, pace.remind_seconds, pace, ledger, quiet_end)
        for number, message in standing.items()
    }
    reminders: list[int] = []
    if any(time <= now for time in reminded.values()):
        # One message instead of several: those go along whose turn would soon come.
        reminders = [
            number
            for number, message in standing.items()
            if _reminded_at(message, pace.remind_seconds / 2, pace, ledger, quiet_end) <= now
        ]
    if due or reminders:
        spoken = {position_of(event.alert) for event in due}
        together = _with_company(waiting, times, due, spoken)
        merged = any(_is_beyond(event, pace, ledger) for event in due)
        told = {event.alert.id for event in together}
        return DeliveryPlan(
            together,
            tuple(reminder for reminder in reminders if reminder not in told),
            merged,
            None,
        )
    later = [time for time in (*times, *reminded.values()) if time != inf]
    return DeliveryPlan((), (), False, min(later, default=None))


def _with_company(
    waiting: Sequence[AlertEvent],
    times: Sequence[float],
    due: Sequence[AlertEvent],
    spoken: set[str],
) -> tuple[AlertEvent, ...]:
    """Beside what is due, what else ended at the positions that are spoken of anyway."""
    chosen = {event.number for event in due}
    return tuple(
        event
        for event, time in zip(waiting, times, strict=True)
        if event.number in chosen or (time == inf and position_of(event.alert) in spoken)
    )


def _ready_at(
    event: AlertEvent, pace: Pace, ledger: DeliveryLedger, quiet_end: float | None
) -> float:
    """0 for now; infinity for what is only told beside something else."""
    critical = _is_critical(event)
    ready = 0.0
    if quiet_end is not None and not (critical and pace.critical_passes):
        ready = quiet_end
    if critical:
        beyond = _is_beyond(event, pace, ledger) and ledger.merged_at is not None
        return max(ready, (ledger.merged_at or 0.0) + MERGED_SECONDS) if beyond else ready
    if pace.for_people and event.kind is EventKind.RESOLVED:
        told = ledger.told_in_episode(event.alert)
        if told is None or not told.critical:
            return inf
    spoken = ledger.spoken_of(event.alert)
    if spoken:
        ready = max(ready, spoken[-1] + pace.cooldown_seconds)
    # One of the day's messages is left to what is critical.
    return max(ready, _free_at(spoken, max(1, pace.most_a_day - 1) if pace.most_a_day else 0))


def _reminded_at(
    told: LastMessage,
    after_seconds: float,
    pace: Pace,
    ledger: DeliveryLedger,
    quiet_end: float | None,
) -> float:
    spoken = ledger.messages.get(told.position, ())
    free = _free_at(spoken, pace.most_a_day)
    return max(told.at + after_seconds, free, quiet_end or 0.0)


def _free_at(spoken: Sequence[float], most: int) -> float:
    """When a position may be spoken of again; 0 for now."""
    return spoken[-most] + DAY if most and len(spoken) >= most else 0.0


def _is_beyond(event: AlertEvent, pace: Pace, ledger: DeliveryLedger) -> bool:
    """Critical, but its position had the day's messages, and one of them was about just this."""
    if not pace.most_a_day or not _is_critical(event):
        return False
    told = ledger.told.get(event.alert.id)
    known = told is not None and told.critical and event.at - told.at < DAY
    return known and len(ledger.spoken_of(event.alert)) >= pace.most_a_day


def _is_critical(event: AlertEvent) -> bool:
    return event.kind in RAISING and event.alert.severity is Severity.CRITICAL
