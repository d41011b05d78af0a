"""A book whose database breaks while it is open begins anew, once, and says so."""

import sqlite3

import pytest

from agents.monitor.alerts import store_tables as book_tables
from agents.monitor.alerts.store import AlertStore
from chain.base.home import Home
from chain.protocols.reference import v4_position
from tests.agents.monitor.made_up_alerts import NOW, polls, raised


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
