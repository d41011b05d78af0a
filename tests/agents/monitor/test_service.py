"""The monitor as a whole, on a watch that finds what it is told to find."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agents.monitor import service
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.channel import Channel
from agents.monitor.deliver.delivery import Sent, Stopped
from agents.monitor.deliver.telegram import Telegram, TelegramSettings
from agents.monitor.heartbeat import (
    Beat,
    Note,
    RoundEnded,
    Sight,
    Troubled,
    TurnTaken,
    WaitingForTurn,
    current_holder,
    last_beat,
)
from agents.monitor.poll import PollReport
from agents.monitor.service import run_monitor
from chain.base.home import Home
from chain.base.store import Store
from tests.agents.monitor.delivery_kit import (
    WALLET,
    Clock,
    happen,
    home_in,
    numbers_in,
    raised,
    telegram,
)
from tests.fakes.telegram import CHAT, TOKEN, Conduct, TelegramDouble
from tests.virtual_time import pass_time

REPORT = PollReport("base", 8453, WALLET, 31_204_113, 3, 1, (), None, 0.1)
SIGHT = Sight("base", WALLET, 31_204_113, 3, None)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "TURN_SECONDS", 0.02)
    monkeypatch.setattr(service, "LAST_LOOK_SECONDS", 0.1)


@dataclass
class OneAlertARound:
    """Opens an alert about the next position in every round."""

    book: AlertStore
    clock: Callable[[], float]
    interval_seconds: float = 0.02
    rounds: int = 0
    using: tuple[Callable[[], Channel], ...] = ()
    hinder: Callable[[int], None] = lambda _round: None
    look_seconds: float = 0.0
    announced: asyncio.Event = field(default_factory=asyncio.Event)

    def channels(self) -> tuple[Channel, ...]:
        return tuple(make() for make in self.using)

    async def new_block(self) -> None:
        await self.announced.wait()
        self.announced.clear()

    async def look(self) -> tuple[PollReport, ...]:
        self.rounds += 1
        await asyncio.sleep(self.look_seconds)
        self.hinder(self.rounds)
        happen(self.book, raised(os.getpid() + self.rounds), now=self.clock())
        return (REPORT,)


@dataclass
class Running:
    watch: OneAlertARound
    stop: asyncio.Event
    notes: list[Note]
    task: asyncio.Task[Beat | None]

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not true():
                assert not self.task.done(), self.task.result()
                await pass_time(0.01)

    def told(self, kind: type) -> list[Note]:
        return [note for note in self.notes if isinstance(note, kind)]


@dataclass
class Bench:
    home: Home
    clock: Clock = field(default_factory=Clock)

    @asynccontextmanager
    async def monitor(
        self, *using: Callable[[], Channel], once: bool = False
    ) -> AsyncIterator[Running]:
        book = AlertStore.open(self.home, now=self.clock())
        watch = OneAlertARound(book, self.clock, using=using)
        stop = asyncio.Event()
        notes: list[Note] = []
        running = run_monitor(
            self.home, book, watch, tell=notes.append, stop=stop, clock=self.clock, once=once
        )
        task = asyncio.create_task(running)
        try:
            yield Running(watch, stop, notes, task)
        finally:
            stop.set()
            await asyncio.wait([task], timeout=60)
            assert task.cancelled() or task.exception() is None
            book.close()

    def beat(self) -> Beat | None:
        with Store.open(self.home.database, now=0)[0] as store:
            return last_beat(store)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(home_in(tmp_path))


async def test_one_polls_the_other_waits_and_takes_over_at_its_end(bench: Bench) -> None:
    async with bench.monitor() as first:
        await first.until(lambda: first.watch.rounds >= 3)
        async with bench.monitor() as second:
            await second.until(lambda: bool(second.notes))
            rounds = first.watch.rounds
            await first.until(lambda: first.watch.rounds > rounds + 2)
            assert [type(note) for note in second.notes] == [WaitingForTurn]
            assert second.watch.rounds == 0

            first.stop.set()
            await second.until(lambda: second.watch.rounds >= 2)
            assert first.task.done()
            assert second.told(TurnTaken)


async def test_every_round_ends_with_a_heartbeat_that_others_can_read(bench: Bench) -> None:
    async with bench.monitor() as monitor:
        await monitor.until(lambda: bool(monitor.told(RoundEnded)))
        beat = bench.beat()

    assert beat is not None
    assert (beat.pid, beat.sights, beat.trouble) == (os.getpid(), (SIGHT,), None)


async def test_a_mistake_in_a_round_is_told_and_the_next_round_comes(bench: Bench) -> None:
    def hinder(number: int) -> None:
        if number == 2:
            raise ZeroDivisionError("at https://rpc.example/v2/CANARY")

    async with bench.monitor() as monitor:
        monitor.watch.hinder = hinder
        await monitor.until(lambda: monitor.watch.rounds >= 4)
        ended = [note for note in monitor.notes if isinstance(note, RoundEnded)]

    troubles = [note.beat.trouble for note in ended]
    assert troubles[0] is None
    assert "ZeroDivisionError" in str(troubles[1])
    assert "CANARY" not in str(troubles[1])
    assert troubles[2] is None


async def test_rounds_that_all_fail_are_told_once_through_every_channel(bench: Bench) -> None:
    """Each is a process of its own, as cron starts it."""
    double = TelegramDouble(bench.clock)

    def hinder(_: int) -> None:
        raise ZeroDivisionError

    async with double.running() as url:
        for _ in range(5):
            async with bench.monitor(lambda: telegram(url), once=True) as monitor:
                monitor.watch.hinder = hinder
                await asyncio.wait_for(monitor.task, 60)
            bench.clock.now += 60

    (told,) = double.taken
    assert "ZeroDivisionError" in told.text


async def test_an_announced_block_brings_the_next_round_forward(bench: Bench) -> None:
    async with bench.monitor() as monitor:
        monitor.watch.interval_seconds = 3600
        await monitor.until(lambda: monitor.watch.rounds == 1)
        monitor.watch.announced.set()
        await monitor.until(lambda: monitor.watch.rounds == 2)


async def test_while_something_is_wrong_only_the_interval_counts(bench: Bench) -> None:
    def hinder(_: int) -> None:
        raise ZeroDivisionError

    async with bench.monitor() as monitor:
        monitor.watch.interval_seconds = 3600
        monitor.watch.hinder = hinder
        await monitor.until(lambda: monitor.watch.rounds == 1)
        monitor.watch.announced.set()
        await pass_time(0.2)

        assert monitor.watch.rounds == 1


async def test_a_stop_does_not_wait_for_a_round_to_end(bench: Bench) -> None:
    async with bench.monitor() as monitor:
        monitor.watch.look_seconds = 60
        await monitor.until(lambda: monitor.watch.rounds == 1)

    async with bench.monitor() as next_one:
        await next_one.until(lambda: next_one.watch.rounds >= 1)


async def test_cancelled_it_leaves_nothing_running_and_waits_for_no_letter(bench: Bench) -> None:
    double = TelegramDouble(bench.clock, conduct=lambda: Conduct.SILENT_AFTER_TAKING)
    async with double.running() as url:
        patient = Telegram(TelegramSettings(TOKEN, CHAT, url))
        before = asyncio.all_tasks()
        async with bench.monitor(lambda: patient) as monitor:
            await monitor.until(lambda: bool(double.heard))
            monitor.watch.look_seconds = 60
            rounds = monitor.watch.rounds
            await monitor.until(lambda: monitor.watch.rounds > rounds)
            monitor.task.cancel()
            async with asyncio.timeout(60):
                await asyncio.gather(monitor.task, return_exceptions=True)
            left = {one.get_name() for one in asyncio.all_tasks() - before}
            assert not left & {"looking", "stopping", "to Telegram"}
        assert current_holder(bench.home.monitor_lock) is None


async def test_a_long_look_still_beats(bench: Bench) -> None:
    async with bench.monitor() as monitor:
        monitor.watch.look_seconds = 60
        bench.clock.now += 500
        await monitor.until(
            lambda: (beat := bench.beat()) is not None and beat.age(bench.clock()) == 0
        )
        assert monitor.told(RoundEnded) == []


async def test_a_new_token_counts_from_the_next_round_on_and_nothing_is_lost(bench: Bench) -> None:
    double = TelegramDouble(bench.clock, conduct=lambda: Conduct.UNAUTHORISED)
    async with double.running() as url, bench.monitor(lambda: telegram(url)) as monitor:
        await monitor.until(lambda: bool(monitor.told(Stopped)))
        double.conduct = lambda: Conduct.TAKES
        rounds = monitor.watch.rounds
        await monitor.until(lambda: monitor.watch.rounds > rounds + 2)
        assert double.taken == []

        monitor.watch.using = (lambda: telegram(url, token="5:other"),)
        bench.clock.now += 10
        await monitor.until(lambda: bool(double.taken))

    told = numbers_in(one.text for one in double.taken)
    assert told == list(range(1, len(told) + 1))
    assert len(told) > rounds


async def test_once_looks_once_sends_what_waits_and_ends(bench: Bench) -> None:
    double = TelegramDouble(bench.clock)
    async with (
        double.running() as url,
        bench.monitor(lambda: telegram(url), once=True) as monitor,
    ):
        beat = await asyncio.wait_for(monitor.task, 60)

    assert beat is not None
    assert beat.sights == (SIGHT,)
    assert monitor.watch.rounds == 1
    assert monitor.told(Sent) == [Sent("Telegram", (1,))]
    assert numbers_in(one.text for one in double.taken) == [1]


async def test_once_leaves_it_to_whoever_polls_already(bench: Bench) -> None:
    async with bench.monitor() as first:
        await first.until(lambda: first.watch.rounds >= 1)
        async with bench.monitor(once=True) as second:
            assert await asyncio.wait_for(second.task, 60) is None
        assert [type(note) for note in second.notes] == [WaitingForTurn]
        assert second.watch.rounds == 0


async def test_where_no_lock_can_be_written_the_watch_goes_on_and_says_so(bench: Bench) -> None:
    bench.home.monitor_lock.mkdir()

    async with bench.monitor() as monitor:
        await monitor.until(lambda: monitor.watch.rounds >= 1)

    (trouble,) = monitor.told(Troubled)
    assert "would not be noticed" in str(trouble)
