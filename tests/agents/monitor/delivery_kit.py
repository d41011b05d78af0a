"""A home with alerts in it, a clock that only moves when told, and couriers driven by it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agents.monitor.alerts.alert import (
    AlertEvent,
    AlertKind,
    AlertSubject,
    Cleared,
    Finding,
    Raised,
    Severity,
)
from agents.monitor.alerts.state import MonitorState
from agents.monitor.alerts.store import AlertStore
from agents.monitor.alerts.store_page import Poll, WatchPlace
from agents.monitor.deliver.channel import DELIVERY_LIMITS, Channel
from agents.monitor.deliver.delivery import ChannelWorker, Step, Stopped
from agents.monitor.deliver.pace import EVERYTHING, Pace
from agents.monitor.deliver.telegram import Telegram, TelegramSettings
from chain.base.home import Home
from chain.base.http import HttpLimits
from chain.protocols.reference import v4_position
from tests.fakes.telegram import CHAT, TOKEN

WALLET = "0x" + "ab" * 20
START = 1_800_000_000.0
IMPATIENT = HttpLimits(connect_seconds=1.0, answer_seconds=1.0, most_bytes=64_000, cut=True)
"""For servers that stay silent; long enough for an honest one on a busy machine."""


@dataclass
class Clock:
    now: float = START

    def __call__(self) -> float:
        return self.now


def home_in(folder: Path) -> Home:
    home = Home(folder / "home", folder / "cache")
    home.prepare()
    return home


def subject(position: int, kind: AlertKind = AlertKind.OUT_OF_RANGE) -> AlertSubject:
    return AlertSubject(8453, WALLET, v4_position(position), kind)


def raised(
    position: int,
    *,
    kind: AlertKind = AlertKind.OUT_OF_RANGE,
    severity: Severity = Severity.CRITICAL,
    message: str = "WETH/USDC left its range at 3,412.07; it earns nothing now.",
    block: int = 31_204_113,
    time: float = START,
) -> Raised:
    finding = Finding(
        kind, severity, message, "out of its range", f"zuno recommend {position} --network base"
    )
    return Raised(subject(position, kind), "base", finding, block, time)


def cleared(position: int, *, block: int = 31_204_200, time: float = START) -> Cleared:
    return Cleared(subject(position), block, time, "the price came back")


def happen(book: AlertStore, *changes: Raised | Cleared, now: float) -> tuple[AlertEvent, ...]:
    return book.apply([Poll(WatchPlace(8453, WALLET), changes)], now)


def telegram(
    url: str,
    *,
    token: str = TOKEN,
    chat: str = CHAT,
    limits: HttpLimits = DELIVERY_LIMITS,
    pace: Pace = EVERYTHING,
) -> Telegram:
    """That tells every event at once, unless a pace is given."""
    return Telegram(TelegramSettings(token, chat, url, pace), limits)


def channel_worker_of(
    home: Home, book: AlertStore, channel: Channel, clock: Clock
) -> ChannelWorker:
    return ChannelWorker(channel, book, MonitorState(home.database), clock)


async def run_until_idle(
    channel_worker: ChannelWorker, clock: Clock, *, most: int = 10_000
) -> list[Step]:
    """Let time pass as the courier asks for it, until nothing waits or the channel refuses."""
    steps: list[Step] = []
    for _ in range(most):
        wait = channel_worker.wait_seconds()
        if wait is None:
            return steps
        clock.now += wait
        step = await channel_worker.step()
        if step is not None:
            steps.append(step)
        if isinstance(step, Stopped):
            return steps
    raise AssertionError(f"still busy after {most} steps")


def numbers_in(texts: Iterable[str]) -> list[int]:
    """The event numbers that messages name, in order."""
    return [
        int(line.rpartition("event ")[2].rstrip("]"))
        for text in texts
        for line in text.splitlines()
        if line.startswith("[alert ")
    ]
