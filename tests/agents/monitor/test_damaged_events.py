"""An event that no longer reads is left out, counted and said; what is around it is told."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agents.monitor.alerts.store import AlertStore
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
