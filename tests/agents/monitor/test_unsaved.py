"""A disk that cannot be written delays the outbox, and silences nobody."""

import sqlite3
from pathlib import Path

import pytest

from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.delivery import Sent
from agents.monitor.service import MOST_NAMED, Unsaved
from tests.agents.monitor.delivery_kit import (
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
