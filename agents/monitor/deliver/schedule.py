"""What of the events that wait is told now, and when the rest is: pure, by a channel's pace."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from agents.monitor.alerts.alert import AlertEvent, EventKind, Severity
from agents.monitor.deliver.channel import RAISING
from agents.monitor.deliver.ledger import DeliveryLedger, LastMessage, Pace, position_of
from chain.base.units import DAY, HOUR

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
    others = tuple(one for one in waiting if one.alert.id != event.alert.id)
    # Each time it was critical is told, however it went on; of the rest only how it is now.
    kept = tuple(one for one in waiting if one.alert.id == event.alert.id and _is_critical(one))
    if event.kind in RAISING:
        return (*others, *kept, event)
    told = ledger.told_in_episode(event.alert) is not None
    return (*others, *kept, event) if kept or told else others


def no_longer_needed(waiting: tuple[AlertEvent, ...], alert_id: int) -> tuple[AlertEvent, ...]:
    """What waits after a person said that they know of an alert, or want none of it."""
    return tuple(one for one in waiting if one.alert.id != alert_id)


def without_stale(waiting: tuple[AlertEvent, ...], now: float) -> tuple[AlertEvent, ...]:
    """That something ended a day ago is told no more."""
    return tuple(
        one
        for one in waiting
        if one.kind is not EventKind.RESOLVED or now - one.at < DAY or _has_rise(one, waiting)
    )


def plan(
    waiting: Sequence[AlertEvent], pace: Pace, ledger: DeliveryLedger, now: float
) -> DeliveryPlan:
    quiet_end = None if pace.quiet_hours is None else pace.quiet_hours.end_after(now)
    times = [_ready_at(one, pace, ledger, quiet_end) for one in waiting]
    due = [one for one, time in zip(waiting, times, strict=True) if time <= now]
    standing = {
        number: one
        for number, one in ledger.told.items()
        if pace.remind_seconds and one.standing and one.critical
    }
    reminded = {
        number: _reminded_at(one, pace.remind_seconds, pace, ledger, quiet_end)
        for number, one in standing.items()
    }
    reminders: list[int] = []
    if any(time <= now for time in reminded.values()):
        # One message instead of several: those go along whose turn would soon come.
        reminders = [
            number
            for number, one in standing.items()
            if _reminded_at(one, pace.remind_seconds / 2, pace, ledger, quiet_end) <= now
        ]
    if due or reminders:
        spoken = {position_of(one.alert) for one in due}
        together = _with_company(waiting, times, due, spoken)
        merged = any(_is_beyond(one, pace, ledger) for one in due)
        told = {one.alert.id for one in together}
        return DeliveryPlan(
            together, tuple(one for one in reminders if one not in told), merged, None
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
    chosen = {one.number for one in due}
    return tuple(
        one
        for one, time in zip(waiting, times, strict=True)
        if one.number in chosen or (time == inf and position_of(one.alert) in spoken)
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


def _has_rise(event: AlertEvent, waiting: Sequence[AlertEvent]) -> bool:
    return any(one.alert.id == event.alert.id and _is_critical(one) for one in waiting)
