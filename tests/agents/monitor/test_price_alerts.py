"""Prices a person set: kept once, told once a crossing, over when the price is back."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertKind, AlertState, EventKind
from agents.monitor.alerts.state import (
    PriceAlert,
    PriceSide,
    UnknownPriceAlertError,
    drop_price_alert,
    keep_price_alert,
    read_price_alerts,
)
from agents.monitor.alerts.store import AlertStore
from agents.monitor.alerts.store_page import Poll, WatchPlace
from agents.monitor.rules.worth_risks import COOLDOWN_SECONDS, price_crossings
from chain.base.home import Home
from chain.contracts.networks import NATIVE, network_named
from chain.rpc.records import Block

BASE = network_named("base")
PLACE = WatchPlace(BASE.chain_id, "0x" + "11" * 20)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", tmp_path / "cache")
    home.prepare()
    return home


@pytest.fixture
def book(home: Home) -> Iterator[AlertStore]:
    store = AlertStore.open(home, now=0.0)
    yield store
    store.close()


def _keep(home: Home, side: PriceSide, level: str) -> PriceAlert:
    return keep_price_alert(
        home.database,
        chain_id=BASE.chain_id,
        token=NATIVE,
        symbol="ETH",
        side=side,
        level=level,
        now=1.0,
    )


def _poll(book: AlertStore, price: int | None, at: int) -> list[EventKind]:
    """The events of one look at this price and time."""
    block = Block(at, f"0x{at:064x}", f"0x{at - 1:064x}", at, 1, 0, 1)
    known = None if price is None else Fraction(price)
    changes = price_crossings(
        BASE,
        PLACE,
        book.price_alerts(BASE.chain_id),
        {NATIVE: known},
        alerts=book.current(),
        block=block,
    )
    return [event.kind for event in book.apply([Poll(PLACE, tuple(changes))], float(at))]


def test_each_crossing_is_told_once(home: Home, book: AlertStore) -> None:
    _keep(home, "below", "3000")

    assert _poll(book, 3100, 10) == []
    assert _poll(book, 2990, 20) == [EventKind.OPENED]
    assert _poll(book, 2950, 30) == []
    assert _poll(book, 3005, 40) == []  # half a percent must lie between
    assert _poll(book, 3020, 50) == [EventKind.RESOLVED]
    assert _poll(book, 2990, 60) == []  # too soon after the last time
    assert _poll(book, 2990, 50 + COOLDOWN_SECONDS) == [EventKind.REOPENED]


def test_levels_of_one_token_are_alerts_of_their_own(home: Home, book: AlertStore) -> None:
    _keep(home, "below", "3000")
    _keep(home, "above", "2500")

    assert _poll(book, 2800, 10) == [EventKind.OPENED, EventKind.OPENED]
    assert {one.subject.label for one in book.current()} == {"ETH below 3000", "ETH above 2500"}
    assert all(one.kind == AlertKind.PRICE_CROSSED for one in book.current())


def test_an_unknown_price_changes_nothing(home: Home, book: AlertStore) -> None:
    _keep(home, "above", "3000")

    assert _poll(book, None, 10) == []
    assert _poll(book, 3001, 20) == [EventKind.OPENED]
    assert _poll(book, None, 30) == []


def test_what_is_removed_is_over(home: Home, book: AlertStore) -> None:
    kept = _keep(home, "above", "3000")
    _poll(book, 3001, 10)

    drop_price_alert(home.database, kept.id)

    assert _poll(book, 3001, 20) == [EventKind.RESOLVED]
    with pytest.raises(UnknownPriceAlertError):
        drop_price_alert(home.database, kept.id)


def test_they_and_what_they_became_outlive_a_restart(home: Home, book: AlertStore) -> None:
    kept = _keep(home, "below", "3000")
    _poll(book, 2900, 10)
    book.close()

    again = AlertStore.open(home, now=20.0)

    assert read_price_alerts(home.database) == (kept,)
    assert [one.subject.label for one in again.current()] == [kept.words]
    assert again.current()[0].state is AlertState.OPEN
    assert _poll(again, 2900, 20) == []
    again.close()


def test_the_same_price_is_kept_once(home: Home) -> None:
    first = _keep(home, "below", "3000")

    assert _keep(home, "below", "3000") == replace(first)
    assert len(read_price_alerts(home.database)) == 1
