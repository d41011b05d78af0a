"""The book: what was committed is there for every process, in the table and in the file."""

import json
import sqlite3
import threading
from contextlib import closing

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
from chain.base.home import Home
from chain.protocols.reference import v3_position, v4_position
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
    baselines = {of_v3: {"since": 1}, v4_position(7): {"since": 2}}
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
