"""Where a channel stands is neither guessed nor lost: nothing is told twice, nothing left out."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.state import MonitorState
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.delivery import (
    REFUSALS_BEFORE_SUSPECT,
    SUSPECT_AFTER,
    ChannelWorker,
)
from chain.base.home import Home
from tests.agents.monitor.delivery_kit import (
    START,
    Clock,
    channel_worker_of,
    happen,
    home_in,
    numbers_in,
    raised,
    run_until_idle,
    telegram,
)
from tests.fakes.telegram import TelegramDouble


def told(double: TelegramDouble) -> list[int]:
    return numbers_in(one.text for one in double.taken)


def rename_table(home: Home, one: str, other: str) -> None:
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute(f"ALTER TABLE {one} RENAME TO {other}")


async def test_a_book_that_cannot_be_read_moves_nobody(tmp_path: Path) -> None:
    home, clock = home_in(tmp_path), Clock()
    double = TelegramDouble(clock)
    with closing(AlertStore.open(home, now=START)) as book:
        async with double.running() as url:
            channel_worker = channel_worker_of(home, book, telegram(url), clock)
            happen(book, raised(1), raised(2), now=clock())
            await run_until_idle(channel_worker, clock)
            before = channel_worker.progress.cursor
            rename_table(home, "alert_events", "elsewhere")

            assert channel_worker.wait_seconds() is None
            assert channel_worker.progress.cursor == before == 2

            rename_table(home, "elsewhere", "alert_events")
            happen(book, raised(3), now=clock())
            await run_until_idle(channel_worker, clock)
            await channel_worker.close()

    assert told(double) == [1, 2, 3]


async def test_all_of_a_book_that_was_begun_anew_is_told(tmp_path: Path) -> None:
    clock = Clock()
    double = TelegramDouble(clock)
    first, second = home_in(tmp_path / "first"), home_in(tmp_path / "second")
    async with double.running() as url:
        with closing(AlertStore.open(first, now=START)) as book:
            channel_worker = channel_worker_of(first, book, telegram(url), clock)
            happen(book, *(raised(number) for number in range(3)), now=clock())
            await run_until_idle(channel_worker, clock)
            await channel_worker.close()
        with closing(AlertStore.open(second, now=START)) as book:
            happen(book, raised(7), now=clock())
            channel_worker = ChannelWorker(telegram(url), book, MonitorState(first.database), clock)
            await run_until_idle(channel_worker, clock)
            await channel_worker.close()

    assert told(double) == [1, 2, 3, 1]


@pytest.mark.parametrize("count", [0, 3])
def test_a_new_channel_begins_behind_what_was(tmp_path: Path, count: int) -> None:
    home, clock = home_in(tmp_path), Clock()
    with closing(AlertStore.open(home, now=START)) as book:
        happen(book, *(raised(number) for number in range(count)), now=START)
        channel_worker = channel_worker_of(home, book, telegram("http://127.0.0.1:9"), clock)

        assert channel_worker.progress.cursor == count
        assert channel_worker.wait_seconds() is None


async def test_without_its_notebook_a_channel_waits(tmp_path: Path) -> None:
    home, clock = home_in(tmp_path), Clock()
    notes, aside = tmp_path / "notes.db", tmp_path / "aside.db"
    double = TelegramDouble(clock)
    with closing(AlertStore.open(home, now=START)) as book:
        async with double.running() as url:
            kept = MonitorState(notes)
            channel_worker = ChannelWorker(telegram(url), book, kept, clock)
            happen(book, raised(1), raised(2), now=clock())
            await run_until_idle(channel_worker, clock)
            await channel_worker.close()
            kept.close()
            notes.rename(aside)
            notes.mkdir()

            channel_worker = ChannelWorker(telegram(url), book, MonitorState(notes), clock)
            happen(book, raised(3), now=clock())
            assert channel_worker.wait_seconds() is None
            assert await channel_worker.step() is None
            channel_worker.warn("the disk is full")
            await run_until_idle(channel_worker, clock)
            assert "the disk is full" in double.taken[-1].text
            assert told(double) == [1, 2]

            notes.rmdir()
            aside.rename(notes)
            await run_until_idle(channel_worker, clock)
            await channel_worker.close()

    assert told(double) == [1, 2, 3]


def test_on_trial_is_one_suspect_at_a_time(tmp_path: Path) -> None:
    home, clock = home_in(tmp_path), Clock()
    with closing(AlertStore.open(home, now=START)) as book:
        channel_worker = channel_worker_of(home, book, telegram("http://127.0.0.1:9"), clock)
        happen(book, *(raised(number) for number in range(4)), now=START)
        assert channel_worker.wait_seconds() == 0

        def chosen(**changes: object) -> list[int]:
            channel_worker.progress = replace(channel_worker.progress, **changes)
            return [one.number for one in channel_worker._chosen(channel_worker._plan())]

        assert chosen() == [1, 2, 3, 4]
        assert chosen(suspects=(3, 2), trial=0) == [3]
        assert chosen(suspects=(9,), trial=0) == [1, 2, 3, 4]
        assert chosen(suspects=(), trial=None, failures=SUSPECT_AFTER - 1) == [1, 2, 3, 4]
        # The first every second time, the others in turn.
        tried = [chosen(failures=number) for number in range(8, 14)]
        assert tried == [[1], [3], [1], [4], [1], [2]]
        stopped = {"stopped_at": START, "failures": REFUSALS_BEFORE_SUSPECT - 1}
        assert chosen(**stopped) == [1, 2, 3, 4]
        assert len(chosen(stopped_at=START, failures=REFUSALS_BEFORE_SUSPECT)) == 1
        assert (REFUSALS_BEFORE_SUSPECT, SUSPECT_AFTER) == (2, 8)
