"""What the monitor is not told, or told wrongly, and what it cannot write down."""

import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agents.monitor.alerts import store_tables as book_tables
from agents.monitor.alerts.alert import AlertEvent
from agents.monitor.alerts.state import MonitorState
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.channel import ChannelRefused, Delayed, Delivered, Notification, Outcome
from agents.monitor.deliver.delivery import ChannelWorker, Delivery, Sent, SetAside, Step, Stopped
from agents.monitor.deliver.pace import EVERYTHING
from agents.monitor.service import MOST_NAMED, Unsaved
from chain.base.home import Home
from chain.base.store import Store
from tests.agents.monitor.delivery_kit import (
    START,
    Clock,
    channel_worker_of,
    cleared,
    happen,
    home_in,
    numbers_in,
    raised,
    run_until_idle,
    telegram,
)
from tests.fakes.telegram import Conduct, TelegramDouble
from tests.virtual_time import pass_time

LETTER = 3
"""Events in one letter of the picky channel."""


@dataclass
class Picky:
    """A channel that takes several events a letter, and answers as a test decides."""

    answer: Callable[[tuple[int, ...]], Outcome]
    clock: Clock
    name: str = "picky"
    fingerprint: str = "picky"
    pause_seconds: float = 1.0
    pace = EVERYTHING
    taken: list[tuple[int, ...]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def wants(self, event: AlertEvent) -> bool:
        return bool(event)

    def letter(self, events: Sequence[AlertEvent]) -> Notification:
        return Notification(b"", tuple(events[:LETTER]))

    def notice(self, text: str) -> Notification:
        return Notification(text.encode(), ())

    async def send(self, letter: Notification, *, now: float) -> Outcome:
        assert now == self.clock()
        numbers = tuple(one.number for one in letter.events)
        outcome = self.answer(numbers)
        if isinstance(outcome, Delivered):
            self.taken.append(numbers)
            if not numbers:
                self.notices.append(letter.body.decode())
        return outcome

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Bench:
    home: Home
    clock: Clock
    book: AlertStore

    def channel_worker(
        self, answer: Callable[[tuple[int, ...]], Outcome]
    ) -> tuple[ChannelWorker, Picky]:
        channel = Picky(answer, self.clock)
        return channel_worker_of(self.home, self.book, channel, self.clock), channel


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    home, clock = home_in(tmp_path), Clock()
    with closing(AlertStore.open(home, now=clock())) as book:
        yield Bench(home, clock, book)


async def run(channel_worker: ChannelWorker, clock: Clock, most: int = 60) -> list[Step]:
    steps: list[Step] = []
    for _ in range(most):
        wait = channel_worker.wait_seconds()
        if wait is None:
            return steps
        clock.now += wait
        step = await channel_worker.step()
        assert step is not None
        steps.append(step)
    return steps


@pytest.mark.parametrize("poison", [{1}, {2}, {1, 2}, {1, 5}], ids=str)
@pytest.mark.parametrize(
    "failure",
    [Delayed("HTTP 500", answered=True), ChannelRefused("HTTP 400")],
    ids=["broken", "refused"],
)
async def test_an_event_that_is_never_taken_does_not_hold_up_the_others(
    bench: Bench, poison: set[int], failure: Outcome
) -> None:
    channel_worker, channel = bench.channel_worker(
        lambda numbers: failure if poison & set(numbers) else Delivered()
    )
    happen(bench.book, *(raised(number) for number in range(6)), now=bench.clock())

    steps = await run(channel_worker, bench.clock)

    taken = {number for letter in channel.taken for number in letter}
    assert taken == {1, 2, 3, 4, 5, 6} - poison
    assert {one.event for one in steps if isinstance(one, SetAside)} == poison
    assert set(channel_worker.progress.set_aside) == poison
    assert channel_worker.wait_seconds() is None
    assert bench.clock() - START < 6 * 3_600
    happen(bench.book, raised(9), now=bench.clock())
    await run(channel_worker, bench.clock)
    assert channel.taken[-1] == (7,)


@pytest.mark.parametrize(
    "failure",
    [Delayed("HTTP 503", answered=True), Delayed("no answer"), ChannelRefused("HTTP 403")],
    ids=["broken", "silent", "refused"],
)
async def test_a_channel_that_takes_nothing_for_long_loses_nothing(
    bench: Bench, failure: Outcome
) -> None:
    down = [True]
    channel_worker, channel = bench.channel_worker(lambda _: failure if down[0] else Delivered())
    happen(bench.book, *(raised(number) for number in range(6)), now=bench.clock())

    steps = await run(channel_worker, bench.clock, most=200)
    down[0] = False
    await run(channel_worker, bench.clock)

    assert not any(isinstance(one, SetAside) for one in steps)
    assert sorted(number for letter in channel.taken for number in letter) == [1, 2, 3, 4, 5, 6]
    assert (channel_worker.progress.suspects, channel_worker.progress.set_aside) == ((), ())


async def test_the_other_channels_are_told_once_that_one_refuses(bench: Bench) -> None:
    double = TelegramDouble(bench.clock, conduct=lambda: Conduct.BLOCKED)
    picky = Picky(lambda _: Delivered(), bench.clock)
    told: list[Step] = []
    async with double.running() as url:
        for stops in (1, 2):
            delivery = Delivery(
                bench.book, MonitorState(bench.home.database), bench.clock, told.append
            )
            await delivery.use([telegram(url), picky])
            happen(bench.book, raised(stops), now=bench.clock())
            delivery.wake()
            await _until_refused(told, stops)
            # The pause between two letters of the other channel.
            bench.clock.now += 1
            delivery.wake()
            await delivery.settle(most_seconds=5)
            await delivery.close()
            bench.clock.now += 900

    assert [one.first for one in told_stops(told)] == [True, False]
    assert len(picky.notices) == 1
    assert "Telegram" in picky.notices[0]


async def test_a_channel_nobody_serves_any_more_is_no_quiet_one(bench: Bench) -> None:
    def broken(_numbers: tuple[int, ...]) -> Outcome:
        raise LookupError

    told: list[Step] = []
    delivery = Delivery(bench.book, MonitorState(bench.home.database), bench.clock, told.append)
    await delivery.use([Picky(broken, bench.clock)])
    happen(bench.book, raised(1), now=bench.clock())
    delivery.wake()

    with pytest.raises(LookupError):
        await delivery.settle(most_seconds=5)
    with pytest.raises(LookupError):
        delivery.check()
    await delivery.close()


def told_stops(told: list[Step]) -> list[Stopped]:
    return [one for one in told if isinstance(one, Stopped)]


async def _until_refused(told: list[Step], times: int) -> None:
    for _ in range(500):
        if len(told_stops(told)) == times:
            return
        await pass_time(0.01)
    raise AssertionError(f"it was not refused {times} times within five seconds")


async def test_what_fails_in_silence_is_no_culprit(bench: Bench) -> None:
    asked: list[tuple[int, ...]] = []

    def answer(numbers: tuple[int, ...]) -> Outcome:
        asked.append(numbers)
        if 1 not in numbers:
            return Delivered()
        return Delayed("no answer") if channel.taken else Delayed("HTTP 500", answered=True)

    channel_worker, channel = bench.channel_worker(answer)
    happen(bench.book, raised(1), raised(2), now=bench.clock())
    while not channel.taken:
        await run(channel_worker, bench.clock, most=1)
    happen(bench.book, raised(3), now=bench.clock())
    steps = await run(channel_worker, bench.clock, most=5)

    first = asked.index((2,))
    assert asked[first + 1 : first + 3] == [(1,), (1, 3)]
    assert not any(isinstance(one, SetAside) for one in steps)


async def test_a_restart_while_the_book_cannot_be_read_forgets_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel_worker, _ = bench.channel_worker(lambda _: Delayed("no answer"))
    happen(bench.book, raised(1), raised(2), now=bench.clock())
    await channel_worker.step()

    with monkeypatch.context() as unreadable:
        unreadable.setattr(book_tables, "read_events", _io_error)
        other, channel = bench.channel_worker(lambda _: Delivered())
        assert other.wait_seconds() is None
    bench.book.retry(bench.clock())
    await run(other, bench.clock)

    assert channel.taken == [(1, 2)]


async def test_what_waits_survives_a_restart(bench: Bench) -> None:
    channel_worker, _ = bench.channel_worker(lambda _: Delayed("no answer"))
    happen(bench.book, *(raised(number) for number in range(4)), now=bench.clock())
    await channel_worker.step()
    with Store.open(bench.home.database, now=0)[0] as store:
        kept = json.dumps(store.items("monitor-delivery"))

    other, channel = bench.channel_worker(lambda _: Delivered())
    await run(other, bench.clock)

    assert '"waiting": [1, 2, 3, 4]' in kept
    assert channel.taken == [(1, 2, 3), (4,)]


def _io_error(*_arguments: object) -> None:
    raise sqlite3.OperationalError("disk I/O error")


def damage(home: Home, number: int, column: str = "document") -> None:
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute(
            f"UPDATE alert_events SET {column} = '{{broken' WHERE number = ?",
            (number,),
        )


@pytest.mark.parametrize("column", ["document", "kind", "at"])
def test_it_is_left_out_and_said_once(tmp_path: Path, column: str) -> None:
    home = home_in(tmp_path)
    with closing(AlertStore.open(home, now=START)) as book:
        happen(book, *(raised(number) for number in range(5)), now=START)
        damage(home, 2, column)
        damage(home, 3, column)

        assert [one.number for one in book.events_after(0)] == [1, 4, 5]
        assert [one.number for one in book.events_after(1, 1)] == [4]
        assert [one.number for one in book.events_after(0, 2)] == [1, 4]
        assert len(book.notices) == 2
        assert "Event 2" in book.notices[0]
        assert "2 so far" in book.notices[1]


async def test_a_channel_goes_on_behind_it_and_repeats_nothing(tmp_path: Path) -> None:
    home, clock = home_in(tmp_path), Clock()
    double = TelegramDouble(clock)
    with closing(AlertStore.open(home, now=clock())) as book:
        async with double.running() as url:
            channel_worker = channel_worker_of(home, book, telegram(url), clock)
            happen(book, raised(1), raised(2), now=clock())
            await run_until_idle(channel_worker, clock)
            damage(home, 2)
            happen(book, raised(3), now=clock())
            await run_until_idle(channel_worker, clock)
            await channel_worker.close()

    assert numbers_in(one.text for one in double.taken) == [1, 2, 3]


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A disk that is full until the patch is undone."""

    def refuse(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("agents.monitor.alerts.store_tables.write_page", refuse)
    return monkeypatch


async def test_what_cannot_be_saved_is_told_at_once_and_again_when_it_is(
    tmp_path: Path, full: pytest.MonkeyPatch
) -> None:
    home, clock, unsaved = home_in(tmp_path), Clock(), Unsaved()
    book = AlertStore.open(home, now=clock())
    double = TelegramDouble(clock)
    async with double.running() as url:
        channel_worker = channel_worker_of(home, book, telegram(url), clock)
        happen(book, raised(7, message="#7 left its range at evil.example"), now=clock())
        news = unsaved.news(book)
        assert news is not None
        channel_worker.warn(news)
        double.conduct = iter((Conduct.BROKEN, Conduct.TAKES, Conduct.TAKES)).__next__
        await run_until_idle(channel_worker, clock)
        (told,) = double.taken
        assert "Alerts cannot be saved" in told.text
        assert "CRITICAL: #7 left its range" in told.text
        assert "evil.example" not in told.text
        assert numbers_in([told.text]) == []

        full.undo()
        clock.now += 60
        book.retry(clock())
        steps = await run_until_idle(channel_worker, clock)
        await channel_worker.close()

    assert steps == [Sent("Telegram", (1,))]
    assert numbers_in(one.text for one in double.taken) == [1]


def test_each_is_told_once_and_many_are_counted(tmp_path: Path, full: pytest.MonkeyPatch) -> None:
    unsaved = Unsaved()
    book = AlertStore.open(home_in(tmp_path), now=0)
    happen(book, raised(1), now=0)
    assert "CRITICAL" in str(unsaved.news(book))
    assert unsaved.news(book) is None

    happen(book, *(raised(number) for number in range(2, 42)), now=1)
    many = str(unsaved.news(book))
    assert many.count("CRITICAL") == MOST_NAMED
    assert many.endswith(f"and {40 - MOST_NAMED} more: zuno alerts")

    happen(book, cleared(1), now=2)
    assert unsaved.news(book) is None
    happen(book, raised(1), now=3)
    assert str(unsaved.news(book)).count("CRITICAL") == 1


def test_while_all_is_saved_there_is_nothing_to_tell(tmp_path: Path) -> None:
    unsaved = Unsaved()
    book = AlertStore.open(home_in(tmp_path), now=0)
    happen(book, raised(1), now=0)

    assert unsaved.news(book) is None
