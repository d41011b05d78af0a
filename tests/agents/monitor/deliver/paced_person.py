"""A person with a telephone: what is sent there as time passes, on a clock moved by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from agents.monitor.alerts.alert import Cleared, Raised
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.channel import Delivered, Notification, Outcome
from agents.monitor.deliver.delivery import ChannelWorker
from agents.monitor.deliver.pace import FOR_PEOPLE, Pace
from chain.base.home import Home
from tests.agents.monitor.delivery_kit import Clock, channel_worker_of, happen, home_in, telegram

MINUTE = 60.0
HOUR = 3_600.0


@dataclass
class Message:
    at: float
    alerts: tuple[tuple[str, int | None], ...]
    """What happened, and to which position, for each alert in it."""
    events: tuple[int, ...]
    merged: bool = False
    """Whether it holds what was critical beyond the day's messages of a position."""


@dataclass
class Person:
    home: Home
    book: AlertStore
    clock: Clock
    channel_worker: ChannelWorker
    pace: Pace
    messages: list[Message] = field(default_factory=list)

    @classmethod
    def in_folder(cls, folder: Path, pace: Pace = FOR_PEOPLE, start: float | None = None) -> Person:
        home, clock = home_in(folder), Clock()
        clock.now = clock.now if start is None else start
        book = AlertStore.open(home, now=clock())
        person = cls(home, book, clock, None, pace)  # type: ignore[arg-type]  # made just below
        person.restart()
        return person

    def restart(self) -> None:
        channel = telegram("http://127.0.0.1:9", pace=self.pace)
        channel.pause_seconds = 0.0
        channel.send = self._take  # type: ignore[method-assign]
        self.channel_worker = channel_worker_of(self.home, self.book, channel, self.clock)

    async def sees(self, *changes: Raised | Cleared) -> None:
        """Let this be found by a poll now, and be sent as far as it is due."""
        happen(self.book, *changes, now=self.clock())
        await self.carry()

    async def passes(self, seconds: float) -> None:
        """Time, minute by minute, as the monitor's rounds wake its channels."""
        end = self.clock() + seconds
        while self.clock() < end:
            self.clock.now = min(end, self.clock() + MINUTE)
            await self.carry()

    @property
    def heard(self) -> list[tuple[tuple[str, int | None], ...]]:
        return [one.alerts for one in self.messages]

    async def carry(self) -> None:
        while self.channel_worker.wait_seconds() == 0:
            await self.channel_worker.step()
            self.messages[-1].merged = self.channel_worker.progress.ledger.merged_at == self.clock()

    async def _take(self, letter: Notification, *, now: float) -> Outcome:
        alerts = tuple(
            (one.kind.value, None if (ref := one.alert.position_id) is None else ref.token_id)
            for one in letter.events
        )
        numbers = tuple(one.number for one in letter.events)
        self.messages.append(Message(now, alerts, numbers))
        return Delivered()
