"""What rises while it is muted is told when the mute ends, if it still stands."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from agents.monitor.alerts.alert import AlertEvent, AlertMute, EventKind, Severity
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.channel import is_news
from chain.base.home import Home
from tests.agents.monitor.delivery_kit import START, cleared, happen, raised, subject

HOUR = 3_600.0
END = START + 2 * HOUR
WARNING = raised(7, severity=Severity.WARNING)
CRITICAL = raised(7)


@pytest.fixture
def book(home: Home) -> Iterator[AlertStore]:
    with closing(AlertStore.open(home, now=START)) as opened:
        yield opened


def told(events: tuple[AlertEvent, ...]) -> list[tuple[EventKind, Severity]]:
    return [(one.kind, one.alert.severity) for one in events if is_news(one)]


def muted(book: AlertStore) -> None:
    book.mute(AlertMute.of(subject(7), END), START)


def test_what_became_worse_is_told_when_the_mute_ends(book: AlertStore) -> None:
    happen(book, WARNING, now=START)
    muted(book)

    assert told(happen(book, CRITICAL, now=START + HOUR)) == []
    assert told(happen(book, CRITICAL, now=END - 1)) == []
    assert told(happen(book, CRITICAL, now=END)) == [(EventKind.UNMUTED, Severity.CRITICAL)]
    assert told(happen(book, CRITICAL, now=END + 60)) == []
    assert book.find(1).muted_until is None


@pytest.mark.parametrize("reopened", [False, True])
def test_what_newly_appeared_is_told_when_the_mute_ends(book: AlertStore, reopened: bool) -> None:
    if reopened:
        happen(book, WARNING, cleared(7), now=START)
    muted(book)
    happen(book, WARNING, now=START + HOUR)

    assert told(happen(book, now=END)) == [(EventKind.UNMUTED, Severity.WARNING)]


def test_what_the_home_kept_is_told_by_the_next_process(book: AlertStore, home: Home) -> None:
    muted(book)
    happen(book, CRITICAL, now=START + HOUR)
    book.close()

    with closing(AlertStore.open(home, now=END)) as later:
        assert told(happen(later, CRITICAL, now=END)) == [(EventKind.UNMUTED, Severity.CRITICAL)]


def test_what_is_over_acknowledged_or_as_it_was_is_not_told_again(book: AlertStore) -> None:
    happen(book, CRITICAL, raised(8), raised(9), raised(10), now=START)
    book.mute(AlertMute(END), START)
    happen(book, cleared(8), cleared(9), now=START + 1)
    happen(book, raised(8), raised(9), now=START + 2)
    happen(book, cleared(8), now=START + 3)
    book.ack(3, START + 4)
    happen(book, cleared(10), now=END - 1)

    assert told(happen(book, CRITICAL, raised(9), now=END)) == []


def test_what_is_over_with_the_mute_is_only_told_to_be_over(book: AlertStore) -> None:
    muted(book)
    happen(book, CRITICAL, now=START + HOUR)

    assert told(happen(book, cleared(7), now=END)) == [(EventKind.RESOLVED, Severity.CRITICAL)]
