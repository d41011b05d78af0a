"""The alerts of a home as one value, and how a writing turns it into the next one."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

from msgspec import Struct, convert, field

from agents.monitor.alerts import alert as life
from agents.monitor.alerts.alert import (
    ALERT_TIMES,
    Alert,
    AlertMute,
    AlertSubject,
    Change,
    EventKind,
    LifecycleStep,
    Severity,
    alert_document,
    clean_line,
)
from chain.contracts.networks import Address
from chain.protocols.reference import PositionRef, read_position_ref


class AlertDocumentError(ValueError):
    """A document that is not an alert of ours."""


def read_alert(document: object) -> Alert:
    """The alert this document tells; raises `AlertDocumentError` when it tells none."""
    if not isinstance(document, dict):
        raise AlertDocumentError("An alert is an object.")
    fields = {name: _cleaned(value) for name, value in document.items()}
    try:
        if fields["positionId"] is not None:
            fields["positionId"] = read_position_ref(_text(fields["positionId"]))
            if fields["positionId"] is None:
                raise AlertDocumentError(f"{document['positionId']!r} is not a position's number.")
        for name in ALERT_TIMES:
            if fields[name] is not None:
                fields[name] = datetime.fromisoformat(_text(fields[name])).timestamp()
        return convert({**fields, "subject": fields}, Alert)
    except (KeyError, ValueError) as error:
        raise AlertDocumentError(f"Not an alert: {error}") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise AlertDocumentError(f"{value!r} is not a text.")
    return value


def _cleaned(value: object) -> object:
    if isinstance(value, dict):
        return {clean_line(name): _cleaned(part) for name, part in value.items()}
    return clean_line(value) if isinstance(value, str) else value


MUCH_USD = 1_000.0
"""So much that waits to be collected comes before a warning."""
_MUCH_RANK = Severity.WARNING.rank + 0.5
MOST_RESOLVED = 1_000
"""Alerts that are over stay in the file up to this many, the newest first; the book keeps all."""


class View:
    """Renders the file, keeping the lines of alerts that have not changed since the last time."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[Alert, bytes]] = {}

    def render(self, alerts: Collection[Alert]) -> bytes:
        """The whole file: what stands, then what is over, one alert a line for other tools."""
        standing = [alert for alert in alerts if alert.active]
        over = sorted(
            (alert for alert in alerts if not alert.active), key=lambda alert: -alert.updated_at
        )
        shown = (*standing, *over[:MOST_RESOLVED])
        lines = {alert.id: (alert, self._line(alert)) for alert in shown}
        self._lines = lines
        return b"[" + b",".join(b"\n  " + line for _, line in lines.values()) + b"\n]\n"

    def _line(self, alert: Alert) -> bytes:
        kept = self._lines.get(alert.id)
        if kept is not None and kept[0] is alert:
            return kept[1]
        return json.dumps(alert_document(alert), ensure_ascii=False).encode()


def read_view(path: Path) -> list[Alert] | None:
    """The alerts of the file; None when there is none, `AlertDocumentError` when it is damaged."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        found = json.loads(content)
    except ValueError as error:
        raise AlertDocumentError(f"{path.name} is not JSON: {error}") from error
    if not isinstance(found, list):
        raise AlertDocumentError(f"{path.name} is not an array.")
    return [read_alert(row) for row in found]


def drop_leftovers(path: Path) -> None:
    """Remove what a killed writer left half written beside the file."""
    for leftover in path.parent.glob(f".{path.name}.*"):
        leftover.unlink(missing_ok=True)


class WatchPlace(Struct, frozen=True):
    """One wallet on one network: what one poll is about."""

    chain_id: int
    wallet_address: Address


class WatchCursor(Struct, frozen=True):
    """How far the chain was read for a place: everything up to this block has had its say."""

    block: int
    block_hash: str = field(name="hash")
    time: int
    """Of the block."""
    earlier: tuple[tuple[int, str], ...] = ()
    """Blocks read up to before, newest first: where to go on should this one be replaced."""


class Failures(NamedTuple):
    """Polls in a row that could not see a place; kept, so that a run of single looks counts."""

    polls: int
    since: float
    """When the first of them was."""


class Poll(Struct, frozen=True):
    """All that one poll writes, or none of it."""

    place: WatchPlace
    changes: tuple[Change, ...]
    """In the order they happened on the chain."""
    cursor: WatchCursor | None = None
    baselines: Mapping[PositionRef, str | None] = field(default_factory=dict)
    """What positions are compared with from now on, as documents; None forgets one."""
    failures: Failures | None = None
    """None when the place was seen."""


class StorePage(Struct):
    """The alerts as they stand while something is being written."""

    alerts: dict[AlertSubject, Alert]
    mutes: list[AlertMute]
    next_id: int
    touched: dict[AlertSubject, Alert] = field(default_factory=dict)
    events: list[tuple[EventKind, Alert]] = field(default_factory=list)
    new_mutes: list[AlertMute] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)

    def poll(self, poll: Poll, now: float) -> None:
        now = life.to_milliseconds(now)
        for change in poll.changes:
            alert = self.alerts.get(change.subject)
            if alert is not None:
                self._take(life.after(alert, change, now))
            elif isinstance(change, life.Raised):
                self._take(life.open_alert(self.next_id, change, self.mutes, now))
                self.next_id += 1
        self.polls.append(poll)

    def end_mutes(self, now: float) -> None:
        now = life.to_milliseconds(now)
        for alert in [alert for alert in self.alerts.values() if alert.muted_until is not None]:
            self._take(life.mute_ended(alert, now))

    def ack(self, alert_id: int, now: float) -> None:
        now = life.to_milliseconds(now)
        for alert in [alert for alert in self.alerts.values() if alert.id == alert_id]:
            self._take(life.acknowledge(alert, now))

    def mute(self, mute: AlertMute, now: float) -> None:
        now = life.to_milliseconds(now)
        self.mutes.append(mute)
        self.new_mutes.append(mute)
        for alert in [alert for alert in self.alerts.values() if mute.matches(alert.subject)]:
            self._take(life.mute(alert, mute.until, now))

    def _take(self, lived: LifecycleStep | None) -> None:
        if lived is None:
            return
        self.alerts[lived.alert.subject] = lived.alert
        self.touched[lived.alert.subject] = lived.alert
        if lived.event is not None:
            self.events.append((lived.event, lived.alert))


Writing: TypeAlias = Callable[[StorePage], None]
"""Something to be written, to the truth on disk or, while that cannot be, to what is shown."""


def in_order(alerts: Iterable[Alert]) -> tuple[Alert, ...]:
    """What stands before what is over, the worst first, then most money, then the newest."""
    return tuple(sorted(alerts, key=_place))


def _place(alert: Alert) -> tuple[bool, float, float, float, int]:
    money = alert.waiting_usd or 0.0
    # Much that only waits comes before a range that was left, and behind what is critical.
    rank = max(float(alert.severity.rank), _MUCH_RANK if money >= MUCH_USD else 0.0)
    return not alert.active, -rank, -money, -alert.since, alert.id
