"""The positions pane without a screen: what was known, what is read, what cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.desk.events import PositionsChanged, StatusChanged
from zuno_tui.present.charts import figure

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady


async def test_a_desk_opens_on_every_position(devnet: DevnetReady, tmp_path: Path) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
        status = await desk.until(StatusChanged, lambda told: told.view.block is not None)

    assert told.view.found == f"{len(told.view.rows)} of {len(told.view.rows)} found"
    assert {row.standing for row in told.view.rows} >= {"in range", "out of range", "empty"}
    assert status.view.network == "Embedded chain"


async def test_the_day_before_it_was_opened_is_drawn(devnet: DevnetReady, tmp_path: Path) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(
            PositionsChanged, lambda told: any(row.chart is not None for row in told.view.rows)
        )

    for row in told.view.rows:
        assert row.chart is not None
        assert row.price == figure(row.chart.prices[-1]) or len(row.price) > len("94,107.1")
        assert row.chart.low < row.chart.high
        assert [*row.chart.times] == sorted(row.chart.times)
    glance = told.view.glance
    assert glance is not None
    assert glance.ether_change.endswith("24 h")


async def test_the_next_run_begins_with_what_the_last_one_knew(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.until(
            PositionsChanged,
            lambda told: any(row.net_a_day.startswith("+") for row in told.view.rows),
        )
    async with sitting(opening(tmp_path, "http://127.0.0.1:9")) as desk:
        first = await desk.until(PositionsChanged)
        stale = await desk.until(PositionsChanged, lambda told: told.view.stale is not None)

    assert first.view.remembered
    assert any(row.net_a_day.startswith("+") for row in first.view.rows)
    assert stale.view.rows == first.view.rows
    assert "127.0.0.1" in (stale.view.stale or "")
