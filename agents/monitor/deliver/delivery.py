"""All channels of a home at once: events carried at each one's pace, until each has been told."""

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol, TypeAlias

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from agents.monitor.alerts.alert import Alert, AlertEvent, AlertState, EventKind
from agents.monitor.alerts.state import MonitorState, UnreadableError
from agents.monitor.deliver.channel import (
    Channel,
    ChannelRefused,
    Delayed,
    Delivered,
    Notification,
    Outcome,
)
from agents.monitor.deliver.ledger import (
    NAMESPACE,
    DeliveryLedger,
    DeliveryPlan,
    Progress,
    no_longer_needed,
    plan,
    read_progress,
    taken_in,
    without_stale,
)
from agents.monitor.deliver.pace import EVERYTHING, Pace
from chain.base.clean_text import clean_text
from chain.base.units import DAY
from chain.protocols.reference import position_label

# The list of events is the outbox. How far a channel has read it, which events wait and what it
# has said are written down together: a restart goes on from there, and sends again at most the
# one letter whose answer was lost.
FIRST_REST_SECONDS = 2.0
MOST_REST_SECONDS = 300.0
"""Between two tries of our own accord; an alert an hour late is no alert."""
REFUSED_REST_SECONDS = 900.0
"""Between two tries of a channel that refuses: its other side may be mended without a word."""
LONGEST_REST_SECONDS = DAY
"""However long the other side asks for."""
SUSPECT_AFTER = 8
REFUSALS_BEFORE_SUSPECT = 2
"""Failures in a row after which it may be the message, not the channel: others are tried, too."""
MOST_TRIALS = 3
"""How often an event may fail by itself right after another was taken."""
_PROBED = 5
_MOST_SET_ASIDE = 50
_EVENTS_AT_ONCE = 200
_ANSWERS = frozenset((EventKind.ACKED, EventKind.MUTED))


class EventSource(Protocol):
    """The alert book, as far as a courier knows it."""

    trouble: str | None

    def events_after(self, number: int, limit: int = ...) -> tuple[AlertEvent, ...]: ...

    def holds_event(self, number: int) -> bool: ...

    def find(self, alert_id: int) -> Alert: ...


class Sent(Struct, frozen=True):
    channel: str
    events: tuple[int, ...]


class Postponed(Struct, frozen=True):
    channel: str
    reason: str
    seconds: float


class Stopped(Struct, frozen=True):
    """It refuses; it is tried again, much later."""

    channel: str
    reason: str
    first: bool = True
    """Whether it took what it was sent before."""


class SetAside(Struct, frozen=True):
    """An event that the channel never takes, while it takes others."""

    channel: str
    event: int
    reason: str


Step: TypeAlias = Sent | Postponed | Stopped | SetAside


class ChannelWorker:
    def __init__(
        self,
        channel: Channel,
        events: EventSource,
        notebook: MonitorState,
        clock: Callable[[], float],
    ) -> None:
        self._channel = channel
        self._events = events
        self._notebook = notebook
        self._clock = clock
        self._waiting: tuple[AlertEvent, ...] = ()
        self._notices: dict[str, str] = {}
        self._placed = False
        """Whether we know where we are; to guess would lose events, or tell all of them again."""
        self.progress = Progress(channel.fingerprint, 0)
        self._find_place()

    @property
    def channel(self) -> str:
        return self._channel.name

    def wait_seconds(self) -> float | None:
        """How long until there may be something to do; None while nothing waits."""
        now = self._clock()
        ready = now
        if not self._notices:
            if not self._read_on():
                return None
            planned = self._plan()
            if not planned.due and not planned.reminders:
                if planned.next_at is None:
                    return None
                ready = planned.next_at
        if now < self.progress.tried_at:
            # The clock was set back; what was meant is the length of the rest.
            self._save(replace(self.progress, tried_at=now))
        rested = self.progress.tried_at + self.progress.rest_seconds
        return max(0.0, ready - now, rested - now)

    def warn(self, text: str, about: str = "") -> None:
        """Tell this before anything else; it is in no list and does not outlive this process."""
        self._notices[about] = text

    async def step(self) -> Step | None:
        """Send one letter if one is due."""
        if self.wait_seconds() != 0:
            return None
        if self._notices:
            return await self._send_notice()
        planned = self._plan()
        chosen = self._chosen(planned)
        letter = self._channel.letter(chosen)
        outcome = await self._sent(letter)
        if isinstance(outcome, Delivered):
            self._note_delivered(letter, merged=planned.merged)
            return Sent(
                self.channel, tuple(event.number for event in letter.events if event.number)
            )
        if not _is_answer(outcome) or len(chosen) > 1 or not chosen[0].number:
            return self._note_failed(replace(self.progress, suspects=(), trial=None), outcome)
        return self._note_suspect(chosen[0].number, outcome)

    async def close(self) -> None:
        await self._channel.close()

    def _chosen(self, planned: DeliveryPlan) -> tuple[AlertEvent, ...]:
        """What the next letter is made of: all that is due, or one event to find the culprit by."""
        due = (*planned.due, *self._reminders(planned.reminders))
        progress = self.progress
        if progress.trial is not None:
            # Another one was just taken: what fails now fails by itself.
            return tuple(event for event in due if event.number in progress.suspects[:1]) or due
        if progress.failures < (REFUSALS_BEFORE_SUSPECT if progress.is_stopped else SUSPECT_AFTER):
            return due
        # The first every second time, so that they keep their order should all be well again.
        turn, others = divmod(progress.failures, 2)
        at = 0 if others == 0 or len(due) == 1 else 1 + turn % (min(len(due), _PROBED) - 1)
        return due[at : at + 1]

    def _reminders(self, alert_ids: Sequence[int]) -> tuple[AlertEvent, ...]:
        told, pace = self.progress.ledger.told, self._channel.pace
        return tuple(
            AlertEvent(0, EventKind.REMINDED, alert, told[alert.id].at + pace.remind_seconds)
            for alert in map(self._events.find, alert_ids)
        )

    async def _send_notice(self) -> Step:
        about, text = next(iter(self._notices.items()))
        outcome = await self._sent(self._channel.notice(text))
        if not isinstance(outcome, Delivered):
            return self._note_failed(self.progress, outcome)
        if self._notices.get(about) == text:
            del self._notices[about]
        self._note_delivered(None, merged=False)
        return Sent(self.channel, ())

    async def _sent(self, letter: Notification) -> Outcome:
        pause = self._channel.pause_seconds
        # Before sending: should we die meanwhile, whoever goes on keeps the pace.
        self._save(replace(self.progress, tried_at=self._clock(), rest_seconds=pause))
        outcome = await self._channel.send(letter, now=self._clock())
        self.progress = replace(self.progress, tried_at=self._clock())
        return outcome

    def _note_delivered(self, letter: Notification | None, *, merged: bool) -> None:
        events = () if letter is None else letter.events
        gone = {event.number for event in events}
        self._waiting = tuple(event for event in self._waiting if event.number not in gone)
        progress = self._without_suspects(gone)
        ledger = progress.ledger
        if self._channel.pace.looks_back:
            ledger = ledger.after_message(events, self._clock(), merged=merged)
        self._save(
            replace(
                progress,
                rest_seconds=self._channel.pause_seconds,
                failures=0,
                trouble=None,
                stopped_at=None,
                ledger=ledger,
            )
        )

    def _note_failed(self, progress: Progress, outcome: Delayed | ChannelRefused) -> Step:
        failures = progress.failures + 1
        refused = isinstance(outcome, ChannelRefused)
        rest = (
            REFUSED_REST_SECONDS
            if isinstance(outcome, ChannelRefused)
            else _rest(outcome, failures)
        )
        self._save(
            replace(
                progress,
                failures=failures,
                trouble=outcome.reason,
                rest_seconds=max(self._channel.pause_seconds, rest),
                stopped_at=(progress.stopped_at or progress.tried_at) if refused else None,
            )
        )
        if refused:
            return Stopped(self.channel, outcome.reason, first=not progress.is_stopped)
        return Postponed(self.channel, outcome.reason, self.progress.rest_seconds)

    def _note_suspect(self, number: int, outcome: Delayed | ChannelRefused) -> Step:
        """An event that failed by itself: a suspect, or guilty if others are taken meanwhile."""
        progress = self.progress
        if progress.trial is None or number not in progress.suspects:
            suspects = dict.fromkeys((*progress.suspects, number))
            return self._note_failed(replace(progress, suspects=tuple(suspects)), outcome)
        trial = progress.trial + 1
        if trial < MOST_TRIALS:
            # The channel was well a moment ago: no reason for a long rest.
            rest = max(self._channel.pause_seconds, FIRST_REST_SECONDS * trial)
            self._save(replace(progress, trial=trial, rest_seconds=rest, trouble=outcome.reason))
            return Postponed(self.channel, outcome.reason, rest)
        self._waiting = tuple(event for event in self._waiting if event.number != number)
        set_aside = (*progress.set_aside, number)[-_MOST_SET_ASIDE:]
        self._save(replace(self._without_suspects({number}), set_aside=set_aside, trouble=None))
        return SetAside(self.channel, number, outcome.reason)

    def _without_suspects(self, gone: Collection[int]) -> Progress:
        """The progress after another event was taken, or given up: now the next is on trial."""
        waiting = {event.number for event in self._waiting}
        progress = self.progress
        left = tuple(
            suspect for suspect in progress.suspects if suspect in waiting and suspect not in gone
        )
        return replace(progress, suspects=left, trial=0 if left else None)

    def _plan(self) -> DeliveryPlan:
        now = self._clock()
        pace = self._channel.pace
        planned = plan(self._waiting, pace, self.progress.ledger.at(now), now)
        ended = [reminder for reminder in planned.reminders if not self._still_stands(reminder)]
        if ended:
            told = self.progress.ledger.told
            over = {alert_id: replace(told[alert_id], standing=False) for alert_id in ended}
            ledger = replace(self.progress.ledger, told={**told, **over})
            self._save(replace(self.progress, ledger=ledger))
            return self._plan()
        return planned

    def _still_stands(self, alert_id: int) -> bool:
        try:
            alert = self._events.find(alert_id)
        except LookupError:
            return False
        return alert.active and alert.state is not AlertState.ACKED

    def _read_on(self) -> bool:
        """Take in what happened since; False while we do not know where we are."""
        if not self._placed and not self._find_place():
            return False
        progress, waiting = self.progress, self._waiting
        if progress.cursor and not self._events.holds_event(progress.cursor):
            # The book was begun anew: nothing that is in it now was told.
            progress = replace(progress, cursor=0, suspects=(), ledger=DeliveryLedger())
            waiting = ()
        pace, now = self._channel.pace, self._clock()
        # Where some may wait for long, none behind them may be overlooked.
        while pace != EVERYTHING or len(waiting) < _EVENTS_AT_ONCE:
            events = self._events.events_after(progress.cursor, _EVENTS_AT_ONCE)
            if not events:
                break
            for event in events:
                waiting, ledger = self._after(event, waiting, progress.ledger)
                progress = replace(progress, cursor=event.number, ledger=ledger)
        if pace.for_people:
            waiting = without_stale(waiting, now)
        self._waiting = waiting
        numbers = tuple(event.number for event in waiting)
        progress = replace(progress, waiting=numbers, ledger=progress.ledger.at(now))
        if progress != self.progress:
            self._save(progress)
        return True

    def _after(
        self, event: AlertEvent, waiting: tuple[AlertEvent, ...], ledger: DeliveryLedger
    ) -> tuple[tuple[AlertEvent, ...], DeliveryLedger]:
        pace = self._channel.pace
        if pace.for_people and event.kind in _ANSWERS:
            waiting = no_longer_needed(waiting, event.alert.id)
        if self._channel.wants(event):
            waiting = taken_in(waiting, event, pace, ledger)
        return waiting, ledger.after_known(event)

    def _find_place(self) -> bool:
        try:
            kept = self._notebook.get(NAMESPACE, self.channel, now=self._clock())
        except UnreadableError:
            return False
        progress = self._begun() if kept is None else self._resumed(read_progress(kept))
        if progress is None:
            return False
        waiting = [self._events.events_after(number - 1, 1) for number in progress.waiting]
        if self._events.trouble is not None and not all(waiting):
            return False
        self._waiting = tuple(
            found[0]
            for number, found in zip(progress.waiting, waiting, strict=True)
            if found and found[0].number == number
        )
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
        if kept.fingerprint == self._channel.fingerprint:
            return kept
        # Other settings: what failed with the old ones says nothing of these.
        return replace(
            Progress(self._channel.fingerprint, kept.cursor),
            waiting=kept.waiting,
            ledger=kept.ledger,
        )

    def _save(self, progress: Progress) -> None:
        numbers = tuple(event.number for event in self._waiting)
        self.progress = replace(progress, waiting=numbers)
        if self._placed:
            document = to_builtins(self.progress)
            self._notebook.put(NAMESPACE, self.channel, document, now=self._clock())


def _is_answer(outcome: Outcome) -> bool:
    """Whether the other side said so: from silence nothing follows about what was sent."""
    return isinstance(outcome, ChannelRefused) or (
        isinstance(outcome, Delayed) and outcome.answered
    )


def _rest(outcome: Delayed, failures: int) -> float:
    if outcome.asked_seconds is not None:
        return min(max(0.0, outcome.asked_seconds), LONGEST_REST_SECONDS)
    return min(FIRST_REST_SECONDS * 2.0 ** min(failures - 1, 16), MOST_REST_SECONDS)


# Six lines of so many characters, each two units long, fit into one message of Telegram.
_LINE_LIMIT = 300

_HAPPENED = {
    EventKind.OPENED: "",
    EventKind.REOPENED: "again, ",
    EventKind.RISEN: "risen, ",
    EventKind.RESOLVED: "over, ",
    EventKind.ACKED: "acknowledged, ",
    EventKind.MUTED: "muted, ",
    EventKind.UNMUTED: "no longer muted, ",
    EventKind.REMINDED: "still, ",
}
# Telephones make links of these by themselves, and the name of a token could hold one.
_LINKS = ((re.compile(r"\.(?=[^\W\d_]{2})"), "[.]"), (re.compile(r"@(?=\w)"), "(at)"))


def announcement(event: AlertEvent) -> str:
    """What happened, since when, what to type, and the numbers to find it again by."""
    alert = event.alert
    over = event.kind is EventKind.RESOLVED
    position = "" if alert.position_id is None else f" {position_label(alert.position_id)}"
    what = alert.kind.replace("_", " ")
    moment = alert.resolved_at if over and alert.resolved_at is not None else alert.since
    block = "" if alert.block is None else f", block {alert.block:,}"
    lines = [
        f"{alert.severity.value.upper()}: {_HAPPENED[event.kind]}{what}, {alert.network}{position}",
        alert.message,
        (alert.resolution or "") if over else "",
        f"{'over' if over else 'since'} {_moment(moment)}{block}",
        "" if over else alert.next_command,
        f"[alert {alert.id}, event {event.number}]" if event.number else _how_to_ack(alert.id),
    ]
    return "\n".join(unclickable(line) for line in lines if line)


def _how_to_ack(alert_id: int) -> str:
    return f"[alert {alert_id}; no more of this: zuno alerts ack {alert_id}]"


def unclickable(line: str) -> str:
    """One clean line that a telephone makes no link of."""
    text = line.replace("://", " ")
    for link, instead in _LINKS:
        text = link.sub(instead, text)
    return clean_text(text, limit=_LINE_LIMIT)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


LAST_LETTER_SECONDS = 20.0
"""How long a letter on its way may take when we end: cut off, it would be sent again."""
_WORTH_WAITING_SECONDS = 5.0
_LOOK_SECONDS = 0.05


class _Route(Struct):
    channel_worker: ChannelWorker
    fingerprint: str
    pace: Pace
    news: asyncio.Event = field(default_factory=asyncio.Event)
    ending: bool = False
    task: asyncio.Task[None] | None = None


class Delivery(Struct, eq=False):
    events: EventSource
    notebook: MonitorState
    clock: Callable[[], float]
    tell: Callable[[Step], None]
    _routes: dict[str, _Route] = {}

    async def use(self, channels: Sequence[Channel]) -> None:
        """Send through these from now on; one whose settings did not change goes on as it was."""
        wanted = {channel.name: channel for channel in channels}
        for name, route in list(self._routes.items()):
            if name not in wanted or not _serves(route, wanted[name]):
                await self._end(self._routes.pop(name))
        for name, channel in wanted.items():
            if name not in self._routes:
                channel_worker = ChannelWorker(channel, self.events, self.notebook, self.clock)
                route = _Route(channel_worker, channel.fingerprint, channel.pace)
                route.task = asyncio.create_task(self._carry(route), name=f"to {name}")
                self._routes[name] = route

    def wake(self) -> None:
        """Something may have happened."""
        for route in self._routes.values():
            route.news.set()

    def warn(self, text: str, about: str = "") -> None:
        """Tell something that could not become an event, through every channel."""
        for route in self._routes.values():
            route.channel_worker.warn(text, about)
            route.news.set()

    def check(self) -> None:
        """Raise what ended a courier: a channel nobody serves must not look like a quiet one."""
        for route in self._routes.values():
            if route.task is not None and route.task.done():
                route.task.result()

    async def settle(self, *, most_seconds: float) -> None:
        """Wait until nothing waits any more, or only for what takes long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(most_seconds):
                while any(_busy(route) for route in self._routes.values()):
                    self.check()
                    await asyncio.sleep(_LOOK_SECONDS)

    async def close(self, *, patience: float = LAST_LETTER_SECONDS) -> None:
        ending = tuple(self._routes.values())
        self._routes.clear()
        await asyncio.gather(*(self._end(route, patience) for route in ending))

    async def _carry(self, route: _Route) -> None:
        while not route.ending:
            wait = route.channel_worker.wait_seconds()
            if wait == 0:
                step = await route.channel_worker.step()
                if step is not None:
                    self.tell(step)
                if isinstance(step, Stopped) and step.first:
                    self._tell_others(route, step)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await route.news.wait()
            route.news.clear()

    def _tell_others(self, refused: _Route, step: Stopped) -> None:
        """A channel that takes nothing cannot say so itself."""
        text = unclickable(
            f"{step.channel} takes no alerts: {step.reason} It is tried again every"
            f" {REFUSED_REST_SECONDS / 60:.0f} minutes, and nothing is lost."
        )
        for route in self._routes.values():
            if route is not refused:
                route.channel_worker.warn(text, about=step.channel)
                route.news.set()

    async def _end(self, route: _Route, patience: float = LAST_LETTER_SECONDS) -> None:
        route.ending = True
        route.news.set()
        if route.task is not None:
            _, late = await asyncio.wait([route.task], timeout=patience)
            for task in late:
                task.cancel()
            await asyncio.gather(route.task, return_exceptions=True)
        await route.channel_worker.close()


def _serves(route: _Route, channel: Channel) -> bool:
    return (route.fingerprint, route.pace) == (channel.fingerprint, channel.pace)


def _busy(route: _Route) -> bool:
    wait = route.channel_worker.wait_seconds()
    return wait is not None and wait < _WORTH_WAITING_SECONDS
