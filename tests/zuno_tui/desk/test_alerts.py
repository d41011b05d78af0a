"""Alerts at the desk: the monitor's own, kept by the desk when nobody else watches."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from agents.monitor.book import AlertBook
from agents.monitor.polling_lock import Holder, PollingLock
from chain.home import Home
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.desk.events import AlertRaised, AlertsChanged, Said
from zuno_tui.desk.intents import Acknowledge, Mute

if TYPE_CHECKING:
    from pathlib import Path

    from agents.monitor.alert import Alert
    from chain.devnet.launch import DevnetReady
    from tests.zuno_tui.desk.conftest import Node


@pytest.fixture
def out_of_range(node: Node) -> int:
    return int(node("zuno_status")["positions"]["below its range"])


async def test_the_desk_watches_when_nobody_does(
    devnet: DevnetReady, out_of_range: int, tmp_path: Path
) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(AlertsChanged, lambda told: bool(told.view.rows))
        seen = await desk.until(AlertsChanged, lambda told: told.view.last_seen is not None)
        first = next(row for row in told.view.rows if row.token_id == out_of_range)
        raised = await desk.until(AlertRaised, lambda told: told.row.alert_id == first.alert_id)
        since = len(desk.heard)
        await desk.ask(Acknowledge(first.alert_id))
        acked = await desk.until(AlertsChanged, since=since)
        await desk.ask(Mute(first.alert_id, 3600))
        muted = await desk.until(
            AlertsChanged, lambda told: any(row.muted_until for row in told.view.rows), since=since
        )
        await desk.ask(Acknowledge("not a number"))

    assert seen.view.watched_by == "desk"
    assert raised.row.next_command == f"recommend {out_of_range}"
    assert {row.alert_id: row.state for row in acked.view.rows}[first.alert_id] == "acked"
    assert [row.alert_id for row in muted.view.rows if row.muted_until] == [first.alert_id]
    assert "is not an alert's number" in desk.heard_last(Said).words
    on_disk = {str(one["id"]): one["state"] for one in json.loads(_file(tmp_path))}
    assert on_disk == {row.alert_id: row.state for row in muted.view.rows}


async def test_a_daemon_that_watches_is_left_to_it(devnet: DevnetReady, tmp_path: Path) -> None:
    home = Home.locate({}, tmp_path)
    daemon = PollingLock(home.monitor_lock, Holder(4242, "elsewhere", 0.0))
    assert daemon.take()
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(AlertsChanged, lambda told: told.view.watched_by == "daemon")
        assert not told.view.rows
        daemon.release()
        mine = await desk.until(AlertsChanged, lambda told: bool(told.view.rows))

    assert mine.view.watched_by == "desk"
    with closing(AlertBook.open(home, now=0.0)) as book:
        assert len(book.current()) == len(mine.view.rows)


async def test_alerts_that_were_late_are_drawn_all_the_same(
    devnet: DevnetReady, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A book that is written to gives the new revision and the old alerts, until it is free."""
    current, first_seen = AlertBook.current, dict[int, float]()

    def late(book: AlertBook) -> tuple[Alert, ...]:
        began = first_seen.setdefault(book.revision, time.monotonic())
        return current(book) if time.monotonic() - began > 1.0 else ()

    monkeypatch.setattr(AlertBook, "current", late)
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(AlertsChanged, lambda told: bool(told.view.rows))

    views = [event.view for event in desk.all_heard(AlertsChanged)]
    assert any(not view.rows and view.revision == told.view.revision for view in views)


def _file(home: Path) -> bytes:
    return Home.locate({}, home).alerts.read_bytes()
