"""All channels of a home at once: each at its own pace, none waiting for another."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct, field

from agents.monitor.alerts.alert import AlertEvent, EventKind
from agents.monitor.deliver.channel_worker import (
    REFUSED_REST_SECONDS,
    ChannelWorker,
    EventSource,
    Step,
    Stopped,
)
from chain.base.clean_text import clean_text

if TYPE_CHECKING:
    from agents.monitor.alerts.state import MonitorState
    from agents.monitor.deliver.channel import Channel
    from agents.monitor.deliver.ledger import Pace

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
    position = "" if alert.position_id is None else f" #{alert.position_id}"
    what = alert.kind.value.replace("_", " ")
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


class Delivery:
    def __init__(
        self,
        events: EventSource,
        notebook: MonitorState,
        clock: Callable[[], float],
        tell: Callable[[Step], None],
    ) -> None:
        self._events = events
        self._notebook = notebook
        self._clock = clock
        self._tell = tell
        self._routes: dict[str, _Route] = {}

    async def use(self, channels: Sequence[Channel]) -> None:
        """Send through these from now on; one whose settings did not change goes on as it was."""
        wanted = {channel.name: channel for channel in channels}
        for name, route in list(self._routes.items()):
            if name not in wanted or not _serves(route, wanted[name]):
                await self._end(self._routes.pop(name))
        for name, channel in wanted.items():
            if name not in self._routes:
                channel_worker = ChannelWorker(channel, self._events, self._notebook, self._clock)
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
                    self._tell(step)
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
