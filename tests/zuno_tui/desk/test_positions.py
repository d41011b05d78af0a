"""Positions at the desk: new blocks and what is judged."""

from pathlib import Path

import pytest

import zuno_tui.desk.desk
from chain.base.units import DAY, HOUR
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from tests.fakes.tcp_line import tcp_line
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import Sitting, opening, sitting
from zuno_tui.desk.events import PageReady, PlanChanged, PositionsChanged, Said, StatusChanged
from zuno_tui.desk.reading import Rhythm
from zuno_tui.features.lab.commands.scorecard import ShowScorecard
from zuno_tui.intents.intents import Recommend
from zuno_tui.present.charts import figure


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


def _polling_every(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rhythm = Rhythm(
        between_reads=seconds, longest_pause=seconds, between_gains=600, between_heads=0.1
    )
    monkeypatch.setattr(zuno_tui.desk.desk, "EMBEDDED", rhythm)


async def _sees_the_next_block(desk: Sitting, node: Node) -> None:
    since = len(desk.heard)
    node("evm_mine")
    number = int(node("eth_blockNumber"), 16)
    await desk.until(StatusChanged, lambda told: told.view.block == number, since=since)


@pytest.mark.usefixtures("changed_world")
async def test_a_new_block_wakes_a_desk_that_would_not_look_for_an_hour(
    devnet: DevnetReady, node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _polling_every(3600, monkeypatch)
    urls = f"{devnet.url},{devnet.url.replace('http', 'ws')}"
    async with sitting(opening(tmp_path, urls)) as desk:
        await desk.until(StatusChanged, lambda told: told.view.subscription == "live")
        await desk.until(StatusChanged, lambda told: told.view.block is not None)

        await _sees_the_next_block(desk, node)


@pytest.mark.usefixtures("changed_world")
async def test_a_cut_socket_is_said_and_polling_goes_on(
    devnet: DevnetReady, node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _polling_every(0.3, monkeypatch)
    async with (
        tcp_line(devnet.url) as line,
        sitting(opening(tmp_path, f"{devnet.url},{line.socket_url}")) as desk,
    ):
        await desk.until(StatusChanged, lambda told: told.view.subscription == "live")
        line.cut()
        lost = await desk.until(StatusChanged, lambda told: told.view.subscription == "lost")
        said = await desk.until(Said, lambda told: told.tone == "warn")

        assert lost.view.trouble is None
        assert "a-key-that-is-never-shown" not in said.words
        await _sees_the_next_block(desk, node)


def told(changed: PlanChanged) -> str:
    """What the plan's sentence ends with."""
    assert changed.view is not None
    return changed.view.recommendation.rsplit(". ", 1)[-1]


async def test_a_second_plan_says_how_the_first_did(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(Recommend(token_id))
        first = await desk.until(PlanChanged)
        await desk.desk.idle()
        after_one = len(desk.heard)
        head = node("eth_getBlockByNumber", "latest", False)
        node("evm_mine", hex(int(head["timestamp"], 16) + DAY + HOUR))
        await desk.ask(Recommend(token_id))
        await desk.desk.idle()
        shown = [one for one in desk.heard[after_one:] if isinstance(one, PlanChanged)]
        await desk.ask(ShowScorecard())
        page = await desk.until(PageReady)

    assert " such " not in told(first)
    assert " such " not in told(shown[0])
    assert told(shown[1]) == "1 of 1 such plan to keep it beat closing after 1 day."
    assert shown[0].view is not None
    assert shown[1].view is not None
    assert shown[0].view.plan_id == shown[1].view.plan_id
    assert page.title == "zuno scorecard"
    assert any(line.startswith("keep") and "1 of 1" in line for line in page.lines)
