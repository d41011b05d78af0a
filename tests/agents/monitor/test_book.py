"""The book of alerts: what opens, stays and ends, and what a kill leaves of it."""

import json
import os
import resource
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from agents.monitor.alerts import store_tables as book_tables
from agents.monitor.alerts.alert import (
    AlertKind,
    AlertMute,
    AlertState,
    AlertSubject,
    Cleared,
    EventKind,
    Raised,
    Severity,
)
from agents.monitor.alerts.store import AlertStore, UnknownAlertError
from agents.monitor.alerts.store_page import Poll, WatchPlace
from chain.base.home import Home
from chain.protocols.reference import v3_position, v4_position
from tests.agents.monitor.forked import forked
from tests.agents.monitor.made_up_alerts import (
    CHAIN_ID,
    HERE,
    NOW,
    WALLET,
    cleared,
    finding,
    polls,
    raised,
    subject,
)


def test_an_alert_opens_resolves_and_opens_again_as_one_alert(home: Home) -> None:
    book = AlertStore.open(home, now=NOW)

    events = book.apply(polls(raised(7, 1), cleared(7, 2), raised(7, 3), block=3), NOW)

    assert [one.kind for one in events] == [
        EventKind.OPENED,
        EventKind.RESOLVED,
        EventKind.REOPENED,
    ]
    [alert] = book.current()
    assert (alert.state, alert.episode, alert.block) == (AlertState.REOPENED, 2, 3)


def test_another_process_sees_the_same_alerts_at_once(home: Home) -> None:
    writer, reader = AlertStore.open(home, now=NOW), AlertStore.open(home, now=NOW)
    before = reader.revision

    writer.apply(polls(raised(7, 1)), NOW + 0.123456)

    assert reader.revision != before
    assert reader.current() == writer.current()
    reader.ack(1, NOW + 5.000999)
    reader.mute(AlertMute(NOW + 60.7654321, position_id=v4_position(7)), NOW + 6.1)
    assert writer.find(1).state is AlertState.ACKED
    assert reader.current() == writer.current()


def test_the_file_tells_what_the_book_tells(home: Home) -> None:
    book = AlertStore.open(home, now=NOW)
    book.apply(polls(raised(7, 1), raised(2**200, 2)), NOW)

    told = json.loads(home.alerts.read_text("utf-8"))

    assert home.alerts.stat().st_mode & 0o777 == 0o600
    assert {one["positionId"] for one in told} == {"7", str(2**200)}
    wanted = "id chainId walletAddress positionId kind severity state message reason"
    assert {*wanted.split(), "createdAt", "updatedAt"} <= told[0].keys()
    assert told[0]["createdAt"] == "2027-01-15T08:00:00.000Z"


def test_the_cursor_is_committed_with_the_alerts_it_covers(home: Home) -> None:
    AlertStore.open(home, now=NOW).apply(polls(raised(7, 1), block=9), NOW)

    state = AlertStore.open(home, now=NOW).state(HERE)

    assert state.cursor is not None
    assert state.cursor.block == 9


def test_text_from_outside_is_clean_in_the_book(home: Home) -> None:
    book = AlertStore.open(home, now=NOW)
    book.apply(polls(raised(7, 1, message="WE\x1b[31mTH\u202e\n left")), NOW)

    assert book.find(1).message == "WE[31mTH left"
    assert b"\x1b" not in home.alerts.read_bytes()


def test_a_mute_covers_what_opens_later_and_ends(home: Home) -> None:
    book = AlertStore.open(home, now=NOW)
    book.mute(AlertMute(NOW + 60, position_id=v4_position(7)), NOW)
    book.apply(polls(raised(7, 1), raised(8, 1)), NOW)

    muted, other = (
        next(one for one in book.current() if one.position_id == v4_position(n)) for n in (7, 8)
    )

    assert muted.is_muted(NOW + 59)
    assert not muted.is_muted(NOW + 60)
    assert not other.is_muted(NOW)


def test_a_worse_matter_than_the_acknowledged_one_asks_again(home: Home) -> None:
    book = AlertStore.open(home, now=NOW)
    book.apply(polls(raised(7, 1)), NOW)
    book.ack(1, NOW)

    [risen] = book.apply(polls(raised(7, 2, severity=Severity.CRITICAL)), NOW)

    assert risen.kind is EventKind.RISEN
    assert book.find(1).state is AlertState.OPEN


def test_an_alert_that_is_not_there_cannot_be_acknowledged(home: Home) -> None:
    with pytest.raises(UnknownAlertError, match="zuno alerts"):
        AlertStore.open(home, now=NOW).ack(3, NOW)


def test_a_poll_that_finds_the_same_again_writes_no_alert(home: Home) -> None:
    book = AlertStore.open(home, now=NOW)
    book.apply(polls(raised(7, 1)), NOW)
    revision, written = book.revision, home.alerts.stat().st_mtime_ns

    assert book.apply(polls(raised(7, 2), block=2), NOW + 60) == ()
    assert (book.revision, home.alerts.stat().st_mtime_ns) == (revision, written)


def test_a_corrupt_file_is_kept_aside_and_written_anew(home: Home) -> None:
    AlertStore.open(home, now=NOW).apply(polls(raised(7, 1)), NOW)
    home.alerts.write_text('[{"id": 1, "chai')

    book = AlertStore.open(home, now=NOW)

    assert "alerts.json was damaged" in book.notices[0]
    assert (home.root / f"alerts.json.corrupt-{int(NOW)}").exists()
    assert json.loads(home.alerts.read_text("utf-8"))[0]["positionId"] == "7"


@pytest.mark.parametrize("while_open", [False, True])
def test_a_corrupt_database_is_kept_aside_and_filled_from_what_was_told(
    home: Home, while_open: bool
) -> None:
    book = AlertStore.open(home, now=NOW)
    book.apply(polls(raised(7, 1), raised(8, 1)), NOW)
    if not while_open:
        book.close()
    for name in ("zuno.db", "zuno.db-wal"):
        path = home.root / name
        if path.exists():
            path.write_bytes(b"no database at all" * 1000)
    if not while_open:
        book = AlertStore.open(home, now=NOW)
    book.apply(polls(raised(9, 2)), NOW)

    later = AlertStore.open(home, now=NOW + 1)

    # A process that has it open may not notice: its pages are in memory, and the file tells them.
    assert any("zuno.db was damaged" in one for one in (*book.notices, *later.notices))
    assert book.trouble is None
    assert {one.position_id for one in later.current()} == set(map(v4_position, (7, 8, 9)))


def test_kinds_of_one_position_are_alerts_of_their_own(home: Home) -> None:
    book = AlertStore.open(home, now=NOW)
    book.apply(polls(raised(7, 1), raised(7, 1, kind=AlertKind.FEE_CHANGED)), NOW)

    assert {one.subject for one in book.current()} == {
        subject(7),
        subject(7, AlertKind.FEE_CHANGED),
    }


def test_a_reader_follows_to_the_database_that_took_a_damaged_ones_place(home: Home) -> None:
    writer = AlertStore.open(home, now=NOW)
    writer.apply(polls(raised(7, 1)), NOW)
    reader = AlertStore.open(home, now=NOW)
    home.database.rename(home.root / "zuno.db.corrupt-1")
    for suffix in ("-wal", "-shm"):
        (home.root / f"zuno.db{suffix}").unlink(missing_ok=True)

    AlertStore.open(home, now=NOW).apply(polls(raised(8, 2)), NOW)

    assert {one.position_id for one in reader.current()} == set(map(v4_position, (7, 8)))
    writer.apply(polls(raised(9, 3)), NOW)
    assert {one.position_id for one in reader.current()} == set(map(v4_position, (7, 8, 9)))


def test_a_screen_does_not_wait_for_a_writer(home: Home) -> None:
    book = AlertStore.open(home, now=NOW)
    book.apply(polls(raised(7, 1)), NOW)
    known = book.current()
    seen: list[object] = []

    def look() -> None:
        seen.append(book.current())
        seen.append(book.revision)

    with book._lock:
        screen = threading.Thread(target=look)
        screen.start()
        screen.join()

    assert seen[0] is known


def test_the_oldest_events_are_forgotten_and_no_number_comes_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_tables, "MOST_EVENTS", 3)
    book = AlertStore.open(home, now=NOW)
    for block in range(1, 7):
        book.apply(polls(raised(7, block) if block % 2 else cleared(7, block)), NOW)

    assert [one.number for one in book.events_after(0)] == [4, 5, 6]


def test_opening_the_book_to_read_it_writes_nothing(home: Home) -> None:
    AlertStore.open(home, now=NOW).apply(polls(raised(7, 1), raised(8, 1)), NOW + 0.1234)
    written = home.alerts.stat().st_mtime_ns

    assert len(AlertStore.open(home, now=NOW).current()) == 2
    assert home.alerts.stat().st_mtime_ns == written


def test_a_book_that_called_positions_by_numbers_is_read_with_everything_in_place(
    home: Home,
) -> None:
    of_v3 = v3_position(4)
    three = Raised(
        AlertSubject(CHAIN_ID, WALLET, of_v3, AlertKind.OUT_OF_RANGE), "base", finding(), 1, NOW
    )
    baselines = {of_v3: '{"since":1}', v4_position(7): '{"since":2}'}
    [poll] = polls(raised(7, 1))
    with closing(AlertStore.open(home, now=NOW)) as book:
        book.apply([replace(poll, changes=(*poll.changes, three), baselines=baselines)], NOW)
        book.mute(AlertMute(NOW + 90, position_id=of_v3), NOW + 1)
        before = book.current()
    with closing(sqlite3.connect(home.database)) as older, older:
        older.execute("UPDATE alert_baselines SET position = '-4' WHERE position = '3:4'")
        older.execute("UPDATE alerts SET subject = replace(subject, '/3:4/', '/-4/')")
        older.execute("UPDATE alert_mutes SET pattern = '[null, null, -4, null]'")
        older.execute("UPDATE alert_book SET version = 1")

    with closing(AlertStore.open(home, now=NOW + 2)) as book:
        assert book.current() == before
        assert book.state(HERE).baselines == baselines
        [again] = book.apply(
            [replace(poll, changes=(Cleared(three.subject, 2, NOW + 3, "in"),))], NOW
        )
        assert (again.kind, again.alert.position_id) == (EventKind.RESOLVED, of_v3)
        assert again.alert.is_muted(NOW + 60)
    with closing(sqlite3.connect(home.database)) as now:
        assert not now.execute("SELECT 1 FROM alerts WHERE subject LIKE '%/-4/%'").fetchall()


@pytest.mark.parametrize(
    ("error", "begun_anew"),
    [
        (sqlite3.DatabaseError("database disk image is malformed"), True),
        (sqlite3.OperationalError("database or disk is full"), False),
    ],
)
def test_damage_met_while_writing_loses_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch, error: Exception, begun_anew: bool
) -> None:
    book = AlertStore.open(home, now=NOW)
    book.apply(polls(raised(7, 1)), NOW)
    failures = [error]
    write_page = book_tables.write_page

    def fail_once(*given: object) -> object:
        if failures:
            raise failures.pop()
        return write_page(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(book_tables, "write_page", fail_once)
    events = book.apply(polls(raised(8, 2)), NOW + 1)

    aside = list(home.root.glob("zuno.db.corrupt-*"))
    assert bool(aside) is bool(events) is (book.trouble is None) is begun_anew
    assert any("zuno.db was damaged" in one for one in book.notices) is begun_anew
    assert {one.position_id for one in book.current()} == set(map(v4_position, (7, 8)))
    book.retry(NOW + 2)
    assert book.trouble is None
    held = {one.position_id for one in AlertStore.open(home, now=NOW).current()}
    assert held == set(map(v4_position, (7, 8)))


def test_what_is_known_is_put_back_even_where_the_view_is_gone(home: Home) -> None:
    book = AlertStore.open(home, now=NOW)
    book.apply(polls(raised(7, 1)), NOW)
    home.alerts.unlink()
    home.database.unlink()

    book.apply(polls(raised(8, 2)), NOW + 1)

    held = {one.position_id for one in AlertStore.open(home, now=NOW).current()}
    assert held == set(map(v4_position, (7, 8)))


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
