"""The desk of the demo's wallet as it is drawn: three sizes, two units, four themes."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from chain.devnet.launch import DevnetReady
from chain.protocols.reference import position_label
from tests.zuno_tui.desk.sitting import opening, sitting
from tests.zuno_tui.screen.looks import front_of, lines_of
from tests.zuno_tui.screen.scenes import desk_app, play
from zuno_tui.desk.events import AlertsChanged, PositionsChanged
from zuno_tui.present.terminal import cell_width
from zuno_tui.present.views import PositionRow
from zuno_tui.present.words import UNKNOWN
from zuno_tui.screen.themes import COLOURLESS, THEME_NAMES

SIZES = ((80, 24), (120, 36), (200, 50))
THEMES = [name for name in THEME_NAMES if name != COLOURLESS]
HEADS = {"VALUE": 0, "COLLECT": 1, "VS HOLD": 2, "NET 24H": 3}
UPRIGHT = set("│┃┊┋╎╏▌▐▎▕▄▀█╭╮╰╯┏┓┗┛┌┐└┘├┤┠┨▲▼")


@pytest.mark.parametrize("unit", [pytest.param("usd", marks=pytest.mark.soak), "eth"])
async def test_nothing_is_cut_and_nothing_overlaps(
    unit: str, devnet: DevnetReady, tmp_path: Path
) -> None:
    (tmp_path / "settings.toml").write_text(f'unit = "{unit}"\n', "utf-8")
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(
            PositionsChanged, lambda told: bool(told.view.glance and told.view.glance.day)
        )
        alerts = await desk.until(AlertsChanged, lambda told: len(told.view.rows) > 2)
    assert all(row.figures for row in told.view.rows)

    async with desk_app().run_test(size=SIZES[0]) as pilot:
        await play(pilot, told, alerts)
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            first: list[str] = []
            for theme in THEMES:
                pilot.app.theme = theme
                await pilot.pause()
                await pilot.pause()
                lines = lines_of(pilot)
                assert len(lines) == height
                assert max(map(cell_width, lines)) <= width
                assert_figures_whole(lines, told.view.rows, unit)
                assert_frames_closed(pilot, lines)
                assert [line for line in lines if "…" in line and line[:1] in "╭╰"] == []
                [fees] = [line for line in lines if "Worth collecting on" in line]
                assert ("$" in fees) is (unit == "usd"), fees
                first = first or front_of(pilot)
                assert front_of(pilot) == first, theme


def assert_figures_whole(lines: list[str], rows: tuple[PositionRow, ...], unit: str) -> None:
    """Each money cell ends where its column's head ends, with room before it."""
    head = next(line for line in lines if "PAIR" in line and "VALUE" in line)
    named = "" if unit == "usd" else f" {unit.upper()}"
    ends = {
        name: head.index(name) + len(name) + len(named)
        for name in HEADS
        if f"{name}{named}" in head
    }
    assert "VALUE" in ends, head
    seen = 0
    for row in rows:
        name = f"{position_label(row.ref)} "
        line = next((line for line in lines if name in line and row.pair in line), None)
        if line is None:
            continue
        seen += 1
        assert "…" not in line.partition(row.pair)[2][: max(ends.values())], line
        for column, end in ends.items():
            shown = row.figures[HEADS[column]]
            wanted = "–" if shown == UNKNOWN else shown
            before, drawn = line[:end].rpartition(" ")[::2]
            assert drawn.removeprefix("~") == wanted, (column, line)
            assert before, line
    assert seen > 3


def assert_frames_closed(pilot: Pilot[None], lines: list[str]) -> None:
    """Where a pane's frame goes down the screen, nothing else is drawn over it."""
    panes = [pane for pane in pilot.app.screen.query(".pane") if pane.region and pane.display]
    assert panes
    for pane in panes:
        region = pane.region
        for y in range(region.y, min(region.bottom, len(lines))):
            line = lines[y].ljust(region.right)
            assert line[region.x] in UPRIGHT, (pane.id, y, line)
            assert line[region.right - 1] in UPRIGHT, (pane.id, y, line)
        for other in panes:
            assert other is pane or not region.overlaps(other.region), (pane.id, other.id)
