"""What a person is told at once, what waits, and what they are spared."""

from datetime import datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertKind, AlertMute, Raised, Severity
from agents.monitor.deliver.ledger import MERGED_SECONDS
from agents.monitor.deliver.pace import FOR_PEOPLE, Pace, QuietHours
from tests.agents.monitor.deliver.paced_person import HOUR, MINUTE, Person
from tests.agents.monitor.delivery_kit import START, cleared, raised, subject

DAY = 24 * HOUR
BERLIN = "Europe/Berlin"
NIGHT = QuietHours(time(22), time(7), BERLIN)


def warning(position: int = 7, kind: AlertKind = AlertKind.OUT_OF_RANGE) -> Raised:
    return raised(position, kind=kind, severity=Severity.WARNING)


def info(position: int = 7) -> Raised:
    kind = AlertKind.FEES_WORTH_COLLECTING
    return raised(position, kind=kind, severity=Severity.INFO)


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(BERLIN)).timestamp()


@pytest.mark.parametrize(
    ("now", "end"),
    [
        ("2026-11-15T21:59", None),
        ("2026-11-15T22:00", "2026-11-16T07:00"),
        ("2026-11-16T03:00", "2026-11-16T07:00"),
        ("2026-11-16T06:59", "2026-11-16T07:00"),
        ("2026-11-16T07:00", None),
        ("2026-10-24T23:00", "2026-10-25T07:00"),
        ("2026-03-28T23:00", "2026-03-29T07:00"),
    ],
)
def test_the_night_is_quiet_by_the_clocks_of_its_zone(now: str, end: str | None) -> None:
    assert NIGHT.end_after(at(now)) == (None if end is None else at(end))


@pytest.mark.parametrize(("now", "quiet"), [("11:59", False), ("12:00", True), ("13:00", False)])
def test_a_siesta_does_not_pass_midnight(now: str, quiet: bool) -> None:
    siesta = QuietHours(time(12), time(13), BERLIN)
    end = siesta.end_after(at(f"2026-11-15T{now}"))
    assert end == (at("2026-11-15T13:00") if quiet else None)


async def test_remarks_are_left_to_the_desk(tmp_path: Path) -> None:
    person = Person.in_folder(tmp_path)
    await person.sees(info(), warning(8))

    assert person.heard == [(("opened", 8),)]


async def test_the_least_severity_can_be_raised(tmp_path: Path) -> None:
    pace = replace(FOR_PEOPLE, least_severity=Severity.CRITICAL)
    person = Person.in_folder(tmp_path, pace)
    await person.sees(warning())
    await person.sees(raised(7))

    assert person.heard == [(("risen", 7),)]


async def test_what_is_critical_goes_at_once_and_the_rest_waits_for_the_cooldown(
    tmp_path: Path,
) -> None:
    person = Person.in_folder(tmp_path)
    await person.sees(warning(kind=AlertKind.NEAR_BOUNDARY))
    await person.passes(5 * MINUTE)
    await person.sees(warning())
    await person.sees(warning(8))
    assert person.heard == [(("opened", 7),), (("opened", 8),)]
    await person.sees(raised(7))
    assert person.heard[2:] == [(("risen", 7),)]
    await person.sees(warning(8, AlertKind.FEE_CHANGED))
    await person.passes(HOUR)

    assert person.heard[3:] == [(("opened", 8),)]
    assert person.messages[3].at == person.messages[1].at + HOUR


async def test_what_came_and_went_while_it_waited_is_left_out_unless_it_was_critical(
    tmp_path: Path,
) -> None:
    pace = replace(FOR_PEOPLE, quiet_hours=NIGHT, critical_passes=False)
    person = Person.in_folder(tmp_path, pace, at("2026-11-15T23:00"))
    await person.sees(warning(1), raised(2), warning(3), warning(1, AlertKind.FEE_CHANGED))
    await person.sees(cleared(1), cleared(2))
    await person.passes(9 * HOUR)

    assert [sorted(one) for one in person.heard] == [
        [("opened", 1), ("opened", 2), ("opened", 3), ("resolved", 2)]
    ]
    assert [one.at for one in person.messages] == [at("2026-11-16T07:00")]


async def test_quiet_hours_let_through_what_is_critical(tmp_path: Path) -> None:
    pace = replace(FOR_PEOPLE, quiet_hours=NIGHT)
    person = Person.in_folder(tmp_path, pace, at("2026-11-15T23:00"))
    await person.sees(warning(1), raised(2))
    assert person.heard == [(("opened", 2),)]
    await person.passes(9 * HOUR)

    assert person.heard[1:] == [(("opened", 1),)]


async def test_an_end_is_told_of_what_was_critical_and_otherwise_only_beside_other_news(
    tmp_path: Path,
) -> None:
    person = Person.in_folder(tmp_path)
    await person.sees(warning(1), raised(2))
    await person.passes(2 * HOUR)
    await person.sees(cleared(1), cleared(2))
    assert person.heard[1:] == [(("resolved", 2),)]
    await person.passes(2 * HOUR)
    await person.sees(warning(1, AlertKind.FEE_CHANGED))

    assert [sorted(one) for one in person.heard[2:]] == [[("opened", 1), ("resolved", 1)]]


async def test_what_is_critical_beyond_three_messages_goes_together_and_none_is_missing(
    tmp_path: Path,
) -> None:
    person = Person.in_folder(tmp_path)
    for _ in range(3):
        await person.sees(raised(7), raised(8))
        await person.sees(cleared(7), cleared(8))
        await person.passes(10 * MINUTE)
    assert len(person.messages) == 3
    await person.sees(raised(7))
    first = len(person.messages)
    for _ in range(4):
        await person.passes(10 * MINUTE)
        await person.sees(cleared(7), cleared(8))
        await person.sees(raised(7), raised(8))
    assert len(person.messages) == first == 4
    await person.passes(MERGED_SECONDS)

    assert person.messages[4].at == person.messages[3].at + MERGED_SECONDS
    rises = [kind for kind, _ in person.heard[4]].count("reopened")
    assert rises == 8
    assert len(person.messages) == 5


async def test_another_danger_is_told_at_once_though_the_days_messages_are_used_up(
    tmp_path: Path,
) -> None:
    person = Person.in_folder(tmp_path)
    for _ in range(5):
        await person.sees(raised(7))
        await person.sees(cleared(7))
        await person.passes(10 * MINUTE)
    before = len(person.messages)
    await person.sees(raised(7, kind=AlertKind.HOOK_CHANGED))

    assert before == 4
    assert [("opened", 7) in one for one in person.heard[before:]] == [True]


async def test_what_is_critical_and_not_acknowledged_is_told_again_in_one_message(
    tmp_path: Path,
) -> None:
    person = Person.in_folder(tmp_path)
    await person.sees(raised(1))
    await person.passes(HOUR)
    await person.sees(raised(2), raised(3), raised(4), warning(5))
    person.book.ack(3, person.clock())
    person.book.mute(AlertMute.of(subject(4), START + 30 * DAY), person.clock())
    await person.passes(11 * HOUR)

    assert person.heard[2:] == [(("reminded", 1), ("reminded", 2))]
    await person.sees(cleared(2))
    person.restart()
    await person.passes(12 * HOUR)
    assert ("reminded", 1) in person.heard[-1]
    assert ("reminded", 2) not in person.heard[-1]
    last = len(person.messages)
    person.book.ack(1, person.clock())
    await person.passes(3 * DAY)
    assert person.heard[last:] == [(("resolved", 2),)]


async def test_a_clock_set_back_silences_nothing(tmp_path: Path) -> None:
    person = Person.in_folder(tmp_path)
    for position in (7, 8):
        await person.sees(warning(position))
    person.clock.now -= 400 * DAY
    await person.sees(raised(7))
    await person.sees(warning(8, AlertKind.FEE_CHANGED))
    await person.passes(HOUR)

    assert person.heard[2:] == [(("risen", 7),), (("opened", 8),)]


async def test_a_restart_keeps_what_was_told_and_what_waits(tmp_path: Path) -> None:
    person = Person.in_folder(tmp_path)
    await person.sees(warning())
    await person.sees(warning(kind=AlertKind.FEE_CHANGED))
    person.restart()
    await person.passes(HOUR - MINUTE)
    assert len(person.messages) == 1
    await person.passes(MINUTE)

    assert person.heard[1:] == [(("opened", 7),)]


async def test_without_a_pace_everything_is_told(tmp_path: Path) -> None:
    person = Person.in_folder(tmp_path, Pace())
    await person.sees(info(), warning())
    await person.sees(cleared(7))
    await person.sees(warning())

    assert [kind for one in person.heard for kind, _ in one] == [
        *("opened", "opened", "resolved", "reopened")
    ]
