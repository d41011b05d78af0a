"""What a channel has said of each alert, and how often it spoke of each position."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agents.monitor.alert import EventKind, Severity
from agents.monitor.deliver.pace import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agents.monitor.alert import Alert, AlertEvent

_ENDING_REMINDERS = frozenset((EventKind.ACKED, EventKind.MUTED, EventKind.RESOLVED))


@dataclass(frozen=True, slots=True)
class Told:
    """The last that was said of an alert."""

    position: str
    episode: int
    critical: bool
    at: float
    standing: bool = True
    """Whether nobody has acknowledged or muted it since, and it is not over."""
    over: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    told: Mapping[int, Told] = field(default_factory=dict)
    """By alert."""
    messages: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By position: when it was spoken of within the last day, oldest first."""
    merged_at: float | None = None
    """When what was critical beyond the day's messages was last told, all of it together."""

    def at(self, now: float) -> Ledger:
        """Without what is a day old; times that lie ahead are of a clock that was set back."""
        told = {
            number: replace(one, at=min(one.at, now))
            for number, one in self.told.items()
            if not one.over or now - one.at < DAY_SECONDS
        }
        messages = {
            position: kept
            for position, times in self.messages.items()
            if (kept := tuple(min(one, now) for one in times if now - one < DAY_SECONDS))
        }
        merged_at = None if self.merged_at is None else min(self.merged_at, now)
        return Ledger(told, messages, merged_at)

    def known(self, event: AlertEvent) -> Ledger:
        """After something that ends reminders, whether or not it is told."""
        told = self.told.get(event.alert.id)
        if told is None or event.kind not in _ENDING_REMINDERS:
            return self
        over = event.kind is EventKind.RESOLVED
        changed = replace(told, standing=False, over=over or told.over)
        return replace(self, told={**self.told, event.alert.id: changed})

    def spoken(self, events: Sequence[AlertEvent], now: float, *, merged: bool) -> Ledger:
        """After a message with these in it."""
        told, messages = dict(self.told), dict(self.messages)
        for position in dict.fromkeys(position_of(event.alert) for event in events):
            messages[position] = (*messages.get(position, ()), now)
        for event in events:
            alert = event.alert
            if event.kind is EventKind.RESOLVED:
                continue
            critical = alert.severity is Severity.CRITICAL
            told[alert.id] = Told(position_of(alert), alert.episode, critical, now, critical)
        later = Ledger(told, messages, now if merged else self.merged_at)
        for event in events:
            later = later.known(event)
        return later

    def spoken_of(self, alert: Alert) -> tuple[float, ...]:
        return self.messages.get(position_of(alert), ())

    def told_in_episode(self, alert: Alert) -> Told | None:
        told = self.told.get(alert.id)
        return told if told is not None and told.episode == alert.episode else None


def position_of(alert: Alert) -> str:
    """A position across networks and wallets, or a wallet as a whole."""
    number = "" if alert.position_id is None else alert.position_id
    return f"{alert.chain_id}/{alert.wallet_address}/{number}"


def read_ledger(document: object) -> Ledger:
    """From what `dataclasses.asdict` made of it; JSON knows no numbers as keys."""
    match document:
        case {"told": dict() as told, "messages": dict() as messages, "merged_at": merged_at}:
            return Ledger(
                {int(number): Told(**one) for number, one in told.items()},
                {position: tuple(times) for position, times in messages.items()},
                merged_at,
            )
    return Ledger()
