"""What the book withstands: kill −9, four writers, a full disk, a home that cannot be written."""

import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random

import pytest

from agents.monitor.alerts.alert import AlertSubject, Raised
from agents.monitor.alerts.store import AlertStore
from agents.monitor.alerts.store_page import Poll, WatchPlace
from chain.base.home import Home
from chain.protocols.reference import v4_position
from tests.agents.monitor.forked import forked
from tests.agents.monitor.made_up_alerts import CHAIN_ID, NOW, cleared, finding, polls, raised

KILLS_IN_A_SLICE = 50


def keep_writing(home: Home, first: int, say: Callable[[str], None]) -> None:
    """Open and resolve alerts for ever, saying each event once it is reported."""
    book = AlertStore.open(home, now=NOW)
    for number in range(first, first + 100_000):
        position = number % 40
        change = cleared(position, number) if number % 3 == 0 else raised(position, number)
        for event in book.apply(polls(change, block=number), NOW + number):
            say(f"{event.number} {event.kind} {event.alert.position_id} {event.alert.block}")


def kill_while_writing(home: Home, random: Random, times: int) -> int:
    reported: set[str] = set()
    for attempt in range(times):
        with forked(partial(keep_writing, home, attempt * 1_000)) as child:
            child.wait_for(random.randint(0, 4))
            time.sleep(random.uniform(0, 0.02))
            if home.alerts.exists():
                json.loads(home.alerts.read_bytes())
            child.kill()
            reported |= set(child.read().splitlines())
        book = AlertStore.open(home, now=NOW)
        assert (book.trouble, book.notices) == (None, ())
        kept = {
            f"{one.number} {one.kind} {one.alert.position_id} {one.alert.block}"
            for one in book.events_after(0, limit=10_000_000)
        }
        assert reported <= kept
        told = json.loads(home.alerts.read_bytes())
        assert {one["id"] for one in told} == {one.id for one in book.current()}
        assert not list(home.root.glob(".alerts.json.*"))
        book.close()
    return len(reported)


def test_killed_while_writing_nothing_reported_is_lost(home: Home) -> None:
    assert kill_while_writing(home, Random(7), 15) > 15


@pytest.mark.soak
@pytest.mark.parametrize("piece", range(20))
def test_killed_a_thousand_times_while_writing_nothing_reported_is_lost(
    home: Home, piece: int
) -> None:
    assert kill_while_writing(home, Random(1_000 + piece), KILLS_IN_A_SLICE) > KILLS_IN_A_SLICE


def test_four_writers_at_once_lose_nothing_and_the_file_never_goes_back(home: Home) -> None:
    def write(wallet: str) -> Callable[[Callable[[str], None]], None]:
        def work(say: Callable[[str], None]) -> None:
            book = AlertStore.open(home, now=NOW)
            for number in range(1, 31):
                change = raised(number, number)
                subject = AlertSubject(CHAIN_ID, wallet, v4_position(number), change.subject.kind)
                mine = Raised(subject, "base", change.finding, number, change.time)
                [event] = book.apply([Poll(WatchPlace(CHAIN_ID, wallet), (mine,))], NOW)
                say(str(event.number))
                book.ack(event.alert.id, NOW)
            assert book.trouble is None

        return work

    wallets = ["0x" + f"{number:040x}" for number in range(4)]
    with ExitStack() as running:
        children = [running.enter_context(forked(write(wallet))) for wallet in wallets]
        # Opened while others write, it may not have read anything yet.
        seen, revision, reader = 0, -1, AlertStore.open(home, now=NOW)
        while seen < 120:
            told = len(json.loads(home.alerts.read_bytes()))
            assert told >= seen, "an older file after a newer one"
            assert reader.revision >= revision
            seen, revision = told, reader.revision
        said = [child.read().split() for child in children]
    assert sorted(int(one) for each in said for one in each) == sorted(
        one.number for one in reader.events_after(0) if one.kind == "opened"
    )
    assert len(reader.current()) == 120
    assert all(one.state == "acked" for one in reader.current())


def test_a_full_disk_is_survived_in_memory_and_written_later(home: Home) -> None:
    def work(say: Callable[[str], None]) -> None:
        book = AlertStore.open(home, now=NOW)
        book.apply(polls(raised(1, 1)), NOW)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
        assert book.apply(polls(raised(2, 2), block=2), NOW) == ()
        assert book.trouble is not None
        assert "kept in memory" in book.trouble
        book.ack(1, NOW)
        assert {one.position_id for one in book.current()} == set(map(v4_position, (1, 2)))
        assert len(book.events_after(0)) == 1
        cursor = book.state(polls()[0].place).cursor
        assert cursor is not None
        assert cursor.block == 2
        assert [one["id"] for one in json.loads(home.alerts.read_bytes())] == [1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        say(" ".join(f"{one.kind}" for one in book.retry(NOW)))
        assert book.trouble is None

    with forked(work) as child:
        assert child.read() == "opened acked"
    later = AlertStore.open(home, now=NOW)
    assert {one.position_id for one in later.current()} == set(map(v4_position, (1, 2)))
    assert {one["positionId"] for one in json.loads(home.alerts.read_bytes())} == {"1", "2"}


@pytest.fixture
def everyones_folder() -> Iterator[Path]:
    """A folder that a stripped process can reach, which those of pytest are not."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    shutil.rmtree(folder)


def test_a_home_that_cannot_be_written_is_survived_in_memory(everyones_folder: Path) -> None:
    home = Home(everyones_folder / "home", everyones_folder)
    home.root.mkdir()
    with_one = AlertStore.open(home, now=NOW)
    with_one.apply(polls(raised(1, 1)), NOW)
    with_one.close()

    def work(say: Callable[[str], None]) -> None:
        if os.getuid() == 0:
            for path in (everyones_folder, home.root, *home.root.iterdir()):
                os.chown(path, 65534, 65534)
            os.setgid(65534)
            os.setuid(65534)
        for path in home.root.iterdir():
            path.chmod(0o400)
        home.root.chmod(0o500)
        book = AlertStore.open(home, now=NOW)
        assert book.trouble is not None
        assert {one.position_id for one in book.current()} == set(map(v4_position, (1,)))
        book.apply(polls(raised(2, 2)), NOW)
        assert {one.position_id for one in book.current()} == set(map(v4_position, (1, 2)))
        home.root.chmod(0o700)
        for path in home.root.iterdir():
            path.chmod(0o600)
        say(" ".join(one.kind for one in book.retry(NOW)))
        assert book.trouble is None

    with forked(work) as child:
        assert child.read() == "opened"
    held = {one.position_id for one in AlertStore.open(home, now=NOW).current()}
    assert held == set(map(v4_position, (1, 2)))


def test_ten_thousand_alerts_are_opened_read_and_seen_again_quickly(home: Home) -> None:
    book = AlertStore.open(home, now=NOW)
    many = tuple(raised(number, 1) for number in range(10_000))
    start = time.process_time()
    book.apply(polls(*many), NOW)
    opened = time.process_time() - start
    start = time.process_time()
    for _ in range(1_000):
        book.current()
    seen = time.process_time() - start

    assert opened < 6
    assert seen < 0.5
    assert finding().kind is book.current()[0].kind
