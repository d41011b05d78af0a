"""How often a channel may speak, as a person writes it, and what is said of a mistake."""

from __future__ import annotations

from datetime import time
from typing import TYPE_CHECKING

import pytest

from agents.monitor.alerts.alert import Severity
from agents.monitor.deliver.ledger import EVERYTHING, FOR_PEOPLE, Pace, QuietHours
from zuno_tui.settings import Settings, SettingsError
from zuno_tui.settings.channels import channel_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

TELEGRAM = {"token": "12:abc", "chat": 1}
WEBHOOK = {"url": "https://hooks.example/x"}


def paces(telegram: Mapping[str, object], webhook: Mapping[str, object]) -> tuple[Pace, Pace]:
    settings = Settings(telegram={**TELEGRAM, **telegram}, webhook={**WEBHOOK, **webhook})
    first, second = channel_settings(settings, {}).channels()
    return first.pace, second.pace


def test_people_are_spared_and_programs_are_told_everything() -> None:
    assert paces({}, {}) == (FOR_PEOPLE, EVERYTHING)
    assert FOR_PEOPLE.least_severity is Severity.WARNING
    assert (FOR_PEOPLE.most_a_day, FOR_PEOPLE.critical_passes) == (3, True)


def test_every_channel_has_its_own() -> None:
    telegram, webhook = paces(
        {
            "least_severity": "critical",
            "quiet_hours": "22:00-7:30",
            "time_zone": "Europe/Berlin",
            "critical_in_quiet_hours": False,
            "cooldown_minutes": 30,
            "most_a_day": 5,
            "remind_hours": 0,
        },
        {"least_severity": "warning", "remind_hours": 2.5},
    )

    assert telegram == Pace(
        least_severity=Severity.CRITICAL,
        quiet_hours=QuietHours(time(22), time(7, 30), "Europe/Berlin"),
        critical_passes=False,
        cooldown_seconds=1_800,
        most_a_day=5,
        remind_seconds=0,
        for_people=True,
    )
    assert webhook == Pace(least_severity=Severity.WARNING, remind_seconds=9_000)


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({"least_severity": "CANARY"}, "least_severity"),
        ({"least_severity": ["CANARY"]}, "least_severity"),
        ({"quiet_hours": "22-7", "time_zone": "UTC"}, "quiet_hours"),
        ({"quiet_hours": "22:00-24:00", "time_zone": "UTC"}, "quiet_hours"),
        ({"quiet_hours": "08:00-08:00", "time_zone": "UTC"}, "quiet_hours"),
        ({"quiet_hours": 22, "time_zone": "UTC"}, "quiet_hours"),
        ({"quiet_hours": "22:00-07:00"}, "time_zone"),
        ({"quiet_hours": "22:00-07:00", "time_zone": "CANARY"}, "time_zone"),
        ({"quiet_hours": "22:00-07:00", "time_zone": "../../etc/passwd"}, "time_zone"),
        ({"quiet_hours": "22:00-07:00", "time_zone": ""}, "time_zone"),
        ({"time_zone": "UTC"}, "quiet_hours"),
        ({"critical_in_quiet_hours": "CANARY"}, "critical_in_quiet_hours"),
        ({"cooldown_minutes": -1}, "cooldown_minutes"),
        ({"cooldown_minutes": "CANARY"}, "cooldown_minutes"),
        ({"cooldown_minutes": float("nan")}, "cooldown_minutes"),
        ({"most_a_day": 2.5}, "most_a_day"),
        ({"most_a_day": True}, "most_a_day"),
        ({"remind_hours": 1_000}, "remind_hours"),
        ({"cooldown": 5}, "cooldown_minutes"),
    ],
)
def test_a_mistake_is_named_and_not_repeated(table: Mapping[str, object], named: str) -> None:
    for name in ("telegram", "webhook"):
        both: dict[str, Mapping[str, object]] = {"telegram": {}, "webhook": {}, name: table}
        with pytest.raises(SettingsError, match=named) as caught:
            paces(both["telegram"], both["webhook"])
        assert name in str(caught.value)
        assert "CANARY" not in str(caught.value)
