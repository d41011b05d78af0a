"""`zuno setting`: what is set and by whom, and one value written after it was checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.zuno_tui.conftest import CommandLine


def test_a_value_is_written_shown_and_refused(zuno: CommandLine) -> None:
    kept = zuno("setting", "limits.daily_usd", "5,000", "--json")
    refused = zuno("setting", "limits.daily_usd", "-1")
    shown = zuno("setting", "--json")

    assert kept.code == 0, kept.words
    assert kept.data["limits.daily_usd"]["value"] == "5,000"
    assert refused.code == 2
    assert shown.data["limits.daily_usd"]["from"] == "settings.toml"
    assert shown.data["telegram.token"]["value"] == "not set"
