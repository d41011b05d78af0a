"""The monitor's thresholds as a person writes them, and what is said of a mistake."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from chain.protocols.reference import v4_position
from zuno_tui.settings import Flags, load_settings
from zuno_tui.settings.monitor import monitor_settings

if TYPE_CHECKING:
    from pathlib import Path

    from agents.monitor.rules.thresholds import WatchSettings


def read(tmp_path: Path, text: str) -> WatchSettings:
    path = tmp_path / "settings.toml"
    path.write_text(text)
    return monitor_settings(load_settings(path, {}, Flags()))


def test_without_a_word_everything_has_a_default(tmp_path: Path) -> None:
    watching = read(tmp_path, "")

    assert watching.interval_seconds == 60
    assert watching.thresholds("base", v4_position(7)).near_edge == 0.15


def test_a_position_has_thresholds_of_its_own_on_one_network_or_any(tmp_path: Path) -> None:
    watching = read(
        tmp_path,
        """
        [monitor]
        interval = 15
        near_edge = 0.1
        [monitor.positions.7]
        survival = 0.8
        [monitor.positions."base:7"]
        price_below = 2500.5
        """,
    )

    assert watching.interval_seconds == 15
    assert watching.thresholds("ethereum", v4_position(7)).survival == 0.8
    assert watching.thresholds("ethereum", v4_position(7)).near_edge == 0.1
    assert watching.thresholds("base", v4_position(7)).price_below == Fraction("2500.5")
    assert watching.thresholds("base", v4_position(8)) == watching.everywhere


def test_a_network_has_thresholds_of_its_own_and_a_position_departs_from_them(
    tmp_path: Path,
) -> None:
    watching = read(
        tmp_path,
        """
        [monitor]
        loss = 0.1
        [monitor.networks.base]
        loss = 0.2
        near_edge = 0.05
        [monitor.positions.7]
        survival = 0.8
        [monitor.positions."base:8"]
        loss = 0.3
        """,
    )

    named = [("ethereum", 1), ("base", 1), ("ethereum", 7), ("base", 7), ("base", 8)]
    places = [(network, v4_position(number)) for network, number in named]
    assert [watching.thresholds(*place).loss for place in places] == [0.1, 0.2, 0.1, 0.2, 0.3]
    assert [watching.thresholds(*place).near_edge for place in places[2:]] == [0.15, 0.05, 0.05]
    assert [watching.thresholds(*place).survival for place in places[2:]] == [0.8, 0.8, 0.5]
