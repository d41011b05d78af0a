"""What a channel remembers of what it told, and what follows for the next: pure, to the second."""

from pathlib import Path

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertEvent, EventKind, Severity
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.ledger import (
    MERGED_SECONDS,
    DeliveryLedger,
    DeliveryPlan,
    LastMessage,
    Progress,
    plan,
    position_of,
    read_progress,
    taken_in,
    without_stale,
)
from agents.monitor.deliver.pace import EVERYTHING, FOR_PEOPLE, Pace
from chain.base.units import DAY, HOUR
from tests.agents.monitor.delivery_kit import START, happen, home_in, raised

THREE = (START, START + 1, START + 2)


@pytest.fixture
def critical(tmp_path: Path) -> AlertEvent:
    book = AlertStore.open(home_in(tmp_path), now=START)
    [event] = happen(book, raised(7), now=START)
    book.close()
    return event


@pytest.fixture
def warning(critical: AlertEvent) -> AlertEvent:
    return replace(critical, alert=replace(critical.alert, severity=Severity.WARNING))


def told_once(event: AlertEvent, *, at: float = START, is_critical: bool = True) -> DeliveryLedger:
    told = LastMessage(position_of(event.alert), event.alert.episode, is_critical, at)
    return DeliveryLedger({event.alert.id: told}, {told.position: (at,)})


def test_what_nobody_answered_is_remembered_until_it_is_over() -> None:
    standing, over = LastMessage("a", 1, True, START), LastMessage("b", 1, True, START, over=True)
    ledger = DeliveryLedger({1: standing, 2: over})

    assert ledger.at(START + DAY - 1).told.keys() == {1, 2}
    assert ledger.at(START + DAY).told.keys() == {1}
    assert ledger.at(START + 30 * DAY).told == {1: standing}
    assert (standing.standing, standing.over) == (True, False)


def test_messages_count_for_a_day_and_a_clock_set_back_moves_them_to_now() -> None:
    ledger = DeliveryLedger(
        {1: LastMessage("a", 1, True, START + 9)}, {"a": (START, START + 5)}, START + 7
    )

    assert ledger.at(START + DAY - 1).messages == {"a": (START, START + 5)}
    assert ledger.at(START + DAY).messages == {"a": (START + 5,)}
    assert ledger.at(START + DAY + 5).messages == {}
    back = ledger.at(START + 2)
    assert back.messages == {"a": (START, START + 2)}
    assert (back.told[1].at, back.merged_at) == (START + 2, START + 2)
    assert ledger.at(START + 8).merged_at == START + 7
    assert DeliveryLedger().at(START).merged_at is None


@pytest.mark.parametrize(
    ("kind", "standing", "over"),
    [
        (EventKind.RISEN, True, False),
        (EventKind.ACKED, False, False),
        (EventKind.MUTED, False, False),
        (EventKind.RESOLVED, False, True),
    ],
)
def test_what_ends_reminders(
    critical: AlertEvent, kind: EventKind, standing: bool, over: bool
) -> None:
    later = told_once(critical).after_known(replace(critical, kind=kind))
    again = later.after_known(replace(critical, kind=EventKind.ACKED))

    assert (later.told[1].standing, later.told[1].over) == (standing, over)
    assert (again.told[1].standing, again.told[1].over) == (False, over)
    assert DeliveryLedger().after_known(replace(critical, kind=kind)) == DeliveryLedger()


def test_a_message_counts_once_for_each_position_in_it(
    critical: AlertEvent, warning: AlertEvent
) -> None:
    other = replace(warning, number=2, alert=replace(warning.alert, id=2))
    place = position_of(critical.alert)

    one = DeliveryLedger({}, {}, START - 5).after_message([critical, other], START, merged=False)
    two = one.after_message([replace(critical, kind=EventKind.RESOLVED)], START + 9, merged=True)

    assert one.messages == {place: (START,)}
    assert {number: (told.critical, told.standing) for number, told in one.told.items()} == {
        1: (True, True),
        2: (False, False),
    }
    assert (one.merged_at, two.merged_at) == (START - 5, START + 9)
    assert two.messages == {place: (START, START + 9)}
    assert (two.told[1].at, two.told[1].over) == (START, True)
    assert two.told_in_episode(critical.alert) == two.told[1]
    assert two.told_in_episode(replace(critical.alert, episode=2)) is None


def test_it_is_read_back_as_it_was_written(critical: AlertEvent) -> None:
    ledger = replace(told_once(critical), merged_at=START)
    document = to_builtins(ledger)
    written = {**document, "told": {str(number): one for number, one in document["told"].items()}}

    progress = {"fingerprint": "x", "cursor": 7, "waiting": [8]}
    assert read_progress({**progress, "ledger": written}) == Progress(
        "x", 7, waiting=(8,), ledger=ledger
    )
    assert read_progress({**progress, "ledger": {"told": 3}}) == Progress("x", 7, waiting=(8,))
    assert read_progress(progress) == Progress("x", 7, waiting=(8,))


def test_a_warning_waits_for_the_cooldown_and_leaves_one_message_to_what_is_critical(
    warning: AlertEvent, critical: AlertEvent
) -> None:
    place = position_of(warning.alert)
    once = DeliveryLedger({}, {place: (START,)})
    twice = DeliveryLedger({}, {place: (START, START + 1)})

    def planned(event: AlertEvent, ledger: DeliveryLedger, seconds: float) -> DeliveryPlan:
        return plan([event], FOR_PEOPLE, ledger, START + seconds)

    early = planned(warning, once, HOUR - 1)
    assert (early.due, early.next_at) == ((), START + HOUR)
    assert planned(warning, once, HOUR).due == (warning,)
    full = planned(warning, twice, 2 * HOUR)
    assert (full.due, full.next_at) == ((), START + DAY)
    assert planned(critical, twice, 2).due == (critical,)


def test_what_is_critical_beyond_the_day_goes_together_every_six_hours(
    critical: AlertEvent,
) -> None:
    place = position_of(critical.alert)
    told = {1: LastMessage(place, 1, True, START)}
    again = replace(critical, at=START + 3)

    def planned(ledger: DeliveryLedger, seconds: float) -> DeliveryPlan:
        return plan([again], FOR_PEOPLE, ledger, START + seconds)

    first = planned(DeliveryLedger(told, {place: THREE}), 3)
    assert (first.due, first.merged) == ((again,), True)
    merged = DeliveryLedger(told, {place: THREE}, START + 2)
    waits = planned(merged, 3)
    assert (waits.due, waits.next_at) == ((), START + 2 + MERGED_SECONDS)
    assert planned(merged, 2 + MERGED_SECONDS).due == (again,)
    # Two messages are not yet the day's, and what was never told goes at once.
    assert not planned(DeliveryLedger(told, {place: THREE[:2]}, START + 2), 3).merged
    assert planned(DeliveryLedger({}, {place: THREE}, START + 2), 3).due == (again,)


def test_reminders_come_after_half_a_day_and_take_along_whose_turn_is_near(
    critical: AlertEvent,
) -> None:
    place = position_of(critical.alert)
    half = FOR_PEOPLE.remind_seconds
    told = {
        1: LastMessage(place, 1, True, START),
        2: LastMessage("near", 1, True, START + half / 2),
        3: LastMessage("far", 1, True, START + half / 2 + 1),
        4: LastMessage("warning", 1, False, START),
        5: LastMessage("answered", 1, True, START, standing=False),
    }

    early = plan([], FOR_PEOPLE, DeliveryLedger(told), START + half - 1)
    assert (early.due, early.reminders, early.next_at) == ((), (), START + half)
    due = plan([], FOR_PEOPLE, DeliveryLedger(told), START + half)
    assert (due.reminders, due.next_at) == ((1, 2), None)
    # What is told anyway is not told twice in one message.
    risen = replace(critical, kind=EventKind.RISEN, at=START + half)
    assert plan([risen], FOR_PEOPLE, DeliveryLedger(told), START + half).reminders == (2,)
    assert plan([], Pace(), DeliveryLedger(told), START + half) == DeliveryPlan((), (), False, None)


def test_what_is_taken_in(critical: AlertEvent, warning: AlertEvent) -> None:
    remark = replace(warning, alert=replace(warning.alert, severity=Severity.INFO))
    ended = replace(warning, number=9, kind=EventKind.RESOLVED)

    assert taken_in((), remark, EVERYTHING, DeliveryLedger()) == (remark,)
    assert taken_in((), remark, FOR_PEOPLE, DeliveryLedger()) == ()
    assert taken_in((), warning, FOR_PEOPLE, DeliveryLedger()) == (warning,)
    assert taken_in((warning,), ended, FOR_PEOPLE, DeliveryLedger()) == ()
    assert taken_in((warning,), ended, EVERYTHING, DeliveryLedger()) == (warning, ended)
    assert taken_in((critical,), ended, FOR_PEOPLE, DeliveryLedger()) == (critical, ended)
    known = told_once(warning, is_critical=False)
    assert taken_in((), ended, FOR_PEOPLE, known) == (ended,)


def test_an_end_is_news_for_a_day(critical: AlertEvent, warning: AlertEvent) -> None:
    ended = replace(warning, number=9, kind=EventKind.RESOLVED)

    assert without_stale((ended,), START + DAY - 1) == (ended,)
    assert without_stale((ended,), START + DAY) == ()
    assert without_stale((critical, ended), START + DAY) == (critical, ended)
    assert without_stale((warning,), START + 9 * DAY) == (warning,)
