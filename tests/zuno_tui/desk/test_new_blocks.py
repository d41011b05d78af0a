"""A desk with a WebSocket beside its endpoint: woken by new blocks, and polling without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import zuno_tui.desk.desk
from tests.fakes.tcp_line import tcp_line
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.desk.events import Said, StatusChanged
from zuno_tui.desk.reading import Rhythm

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady
    from tests.zuno_tui.desk.conftest import Node
    from tests.zuno_tui.desk.sitting import Sitting


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
