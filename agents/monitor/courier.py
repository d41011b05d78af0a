"""Carries a home's events to one channel: in order, each until it is taken, at its pace.

The list of events is the outbox, and a channel's progress along it is all there is to keep: a
restart goes on where the last letter was taken, and sends again at most the one letter whose
answer was lost.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import dropwhile
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from agents.monitor.channel import Delayed, Delivered, Refused
from agents.monitor.notebook import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.monitor.alert import AlertEvent
    from agents.monitor.channel import Channel, Outcome
    from agents.monitor.notebook import Notebook
    from chain.store import Store

NAMESPACE = "monitor-delivery"
FIRST_REST_SECONDS = 2.0
MOST_REST_SECONDS = 300.0
"""Between two tries of our own accord; an alert an hour late is no alert."""
LONGEST_REST_SECONDS = 86_400.0
"""However long the other side asks for."""


_EVENTS_AT_ONCE = 200


class EventSource(Protocol):
    """The alert book, as far as a courier knows it."""

    trouble: str | None

    def events_after(self, number: int, limit: int = ...) -> tuple[AlertEvent, ...]: ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a channel has come."""

    fingerprint: str
    cursor: int
    """The last event that was taken, or that nobody had to be told."""
    tried_at: float = 0.0
    rest_seconds: float = 0.0
    """How long to leave the channel alone since then."""
    failures: int = 0
    """In a row."""
    trouble: str | None = None
    """Why the last try failed; no secret is in it."""
    stopped_at: float | None = None

    @property
    def stopped(self) -> bool:
        return self.stopped_at is not None


@dataclass(frozen=True, slots=True)
class Sent:
    channel: str
    events: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Postponed:
    channel: str
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Stopped:
    channel: str
    reason: str


Step: TypeAlias = Sent | Postponed | Stopped


class Courier:
    def __init__(
        self, channel: Channel, events: EventSource, notebook: Notebook, clock: Callable[[], float]
    ) -> None:
        self._channel = channel
        self._events = events
        self._notebook = notebook
        self._clock = clock
        self._read_ahead: tuple[AlertEvent, ...] = ()
        self._notice: str | None = None
        self._placed = False
        """Whether we know where we are; to guess would lose events, or tell all of them again."""
        self.progress = Progress(channel.fingerprint, 0)
        self._find_place()

    @property
    def channel(self) -> str:
        return self._channel.name

    def wait_seconds(self) -> float | None:
        """How long until there may be something to do; None while nothing waits."""
        if self.progress.stopped or not (self._notice or self._waiting()):
            return None
        now = self._clock()
        if now < self.progress.tried_at:
            # The clock was set back; what was meant is the length of the rest.
            self._save(replace(self.progress, tried_at=now))
        return max(0.0, self.progress.tried_at + self.progress.rest_seconds - now)

    def warn(self, text: str) -> None:
        """Tell this before anything else; it is in no list and does not outlive this process."""
        self._notice = text

    async def step(self) -> Step | None:
        """Send one letter if one is due."""
        if self.wait_seconds() != 0:
            return None
        notice = self._notice
        if notice is None:
            letter = self._channel.letter(self._waiting())
        else:
            letter = self._channel.notice(notice)
        pause = self._channel.pause_seconds
        # Before sending: should we die meanwhile, whoever goes on keeps the pace.
        self._save(replace(self.progress, tried_at=self._clock(), rest_seconds=pause))
        outcome = await self._channel.send(letter, now=self._clock())
        if isinstance(outcome, Delivered) and self._notice == notice:
            self._notice = None
        tried = replace(self.progress, tried_at=self._clock())
        last = letter.events[-1].number if letter.events else tried.cursor
        self._save(_after(outcome, tried, last, pause))
        return self._told(outcome, tuple(event.number for event in letter.events))

    async def close(self) -> None:
        await self._channel.close()

    def _waiting(self) -> tuple[AlertEvent, ...]:
        """The next that must be told; what comes before and need not be is passed for good."""
        if not self._placed and not self._find_place():
            return ()
        while True:
            events = self._unread()
            waiting = tuple(dropwhile(lambda one: not self._channel.wants(one), events))
            passed = events[: len(events) - len(waiting)]
            if passed:
                self._save(replace(self.progress, cursor=passed[-1].number))
            if waiting or not passed:
                return tuple(event for event in waiting if self._channel.wants(event))

    def _unread(self) -> tuple[AlertEvent, ...]:
        """Events never change, so those already read wait in memory for their turn."""
        cursor = self.progress.cursor
        if cursor and self._begun_anew(cursor):
            self._save(replace(self.progress, cursor=0))
            self._read_ahead, cursor = (), 0
        ahead = tuple(event for event in self._read_ahead if event.number > cursor)
        newest = ahead[-1].number if ahead else cursor
        more = self._events.events_after(newest, max(1, _EVENTS_AT_ONCE - len(ahead)))
        self._read_ahead = (*ahead, *more)
        return self._read_ahead

    def _begun_anew(self, cursor: int) -> bool:
        """Whether the event we stand at is gone, with its file: then nothing there was told."""
        found = self._events.events_after(cursor - 1, 1)
        there = bool(found) and found[0].number == cursor
        return not there and self._events.trouble is None

    def _find_place(self) -> bool:
        try:
            kept = self._notebook.get(NAMESPACE, self.channel, now=self._clock())
        except UnreadableError:
            return False
        progress = self._begun() if kept is None else self._resumed(_read(kept))
        if progress is None:
            return False
        self._placed = True
        self._save(progress)
        return True

    def _begun(self) -> Progress | None:
        """A new channel is for what comes, not for what was long ago; None if that is unknown."""
        cursor = 0
        while events := self._events.events_after(cursor):
            cursor = events[-1].number
        if self._events.trouble is not None:
            return None
        return Progress(self._channel.fingerprint, cursor)

    def _resumed(self, kept: Progress) -> Progress:
        # What was stopped is tried once more: the cause may have been mended elsewhere.
        if kept.fingerprint == self._channel.fingerprint:
            return replace(kept, stopped_at=None)
        return Progress(self._channel.fingerprint, kept.cursor)

    def _save(self, progress: Progress) -> None:
        self.progress = progress
        if self._placed:
            self._notebook.put(NAMESPACE, self.channel, asdict(progress), now=self._clock())

    def _told(self, outcome: Outcome, events: tuple[int, ...]) -> Step:
        if isinstance(outcome, Delivered):
            return Sent(self.channel, events)
        if isinstance(outcome, Refused):
            return Stopped(self.channel, outcome.reason)
        return Postponed(self.channel, outcome.reason, self.progress.rest_seconds)


def all_progress(store: Store) -> dict[str, Progress]:
    """How far each channel has come, as any process of the home may read it."""
    return {channel: _read(kept) for channel, kept in store.items(NAMESPACE).items()}


def _after(outcome: Outcome, tried: Progress, last: int, pause: float) -> Progress:
    if isinstance(outcome, Delivered):
        return replace(tried, cursor=last, rest_seconds=pause, failures=0, trouble=None)
    failures = tried.failures + 1
    if isinstance(outcome, Refused):
        return replace(tried, failures=failures, trouble=outcome.reason, stopped_at=tried.tried_at)
    return replace(
        tried,
        failures=failures,
        trouble=outcome.reason,
        rest_seconds=max(pause, _rest(outcome, failures)),
    )


def _rest(outcome: Delayed, failures: int) -> float:
    if outcome.asked_seconds is not None:
        return min(max(0.0, outcome.asked_seconds), LONGEST_REST_SECONDS)
    return min(FIRST_REST_SECONDS * 2.0 ** min(failures - 1, 16), MOST_REST_SECONDS)


def _read(kept: object) -> Progress:
    return Progress(**cast("dict[str, object]", kept))  # type: ignore[arg-type]
