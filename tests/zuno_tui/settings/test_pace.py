"""How often a channel may speak, as a person writes it, and what is said of a mistake."""

from __future__ import annotations

from datetime import time
from typing import TYPE_CHECKING

from agents.monitor.alerts.alert import Severity
from agents.monitor.deliver.ledger import EVERYTHING, FOR_PEOPLE, Pace, QuietHours
from zuno_tui.settings import Settings
from zuno_tui.settings.channels import channel_settings
from zuno_tui.settings.check import checked
from zuno_tui.settings.schema import TelegramTable, WebhookTable

if TYPE_CHECKING:
    from collections.abc import Mapping

TELEGRAM = {"token": "12:abc", "chat": 1}
WEBHOOK = {"url": "https://hooks.example/x"}


def paces(telegram: Mapping[str, object], webhook: Mapping[str, object]) -> tuple[Pace, Pace]:
    settings = Settings(
        telegram=checked(TelegramTable, {**TELEGRAM, **telegram}),
        webhook=checked(WebhookTable, {**WEBHOOK, **webhook}),
    )
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
