"""Alerts at the desk: the monitor's own, kept by the desk when nobody else watches."""

import json
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from agents.monitor.alerts.alert import Alert
from agents.monitor.alerts.state import MonitorState
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.ledger import NAMESPACE, Progress
from agents.monitor.heartbeat import Beat, Holder, PollingLock, Sight, write_beat
from chain.base.home import Home
from chain.base.store import Store
from chain.contracts.addresses import shorten_address
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from tests.agents.monitor.delivery_kit import WALLET, happen, raised
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.catalog.handed_over import HandedOver, hand_over, take_handed_over
from zuno_tui.desk.events import AlertRaised, AlertsChanged, Said
from zuno_tui.intents.intents import Acknowledge, MuteAlert


@pytest.fixture
def out_of_range(node: Node) -> int:
    return int(node("zuno_status")["positions"]["below its range"])


async def test_the_desk_watches_when_nobody_does(
    devnet: DevnetReady, out_of_range: int, tmp_path: Path
) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(AlertsChanged, lambda told: bool(told.view.rows))
        seen = await desk.until(AlertsChanged, lambda told: told.view.last_seen is not None)
        first = next(row for row in told.view.rows if row.ref == v4_position(out_of_range))
        raised = await desk.until(AlertRaised, lambda told: told.row.alert_id == first.alert_id)
        since = len(desk.heard)
        await desk.ask(Acknowledge(first.alert_id))
        acked = await desk.until(AlertsChanged, since=since)
        await desk.ask(MuteAlert(first.alert_id, 3600))
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
    with closing(AlertStore.open(home, now=0.0)) as book:
        assert len(book.current()) == len(mine.view.rows)


async def test_alerts_that_were_late_are_drawn_all_the_same(
    devnet: DevnetReady, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A book that is written to gives the new revision and the old alerts, until it is free."""
    current, looks = AlertStore.current, Counter[int]()

    def late(book: AlertStore) -> tuple[Alert, ...]:
        looks[book.revision] += 1
        return current(book) if looks[book.revision] > 2 else ()

    monkeypatch.setattr(AlertStore, "current", late)
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(AlertsChanged, lambda told: bool(told.view.rows))

    views = [event.view for event in desk.all_heard(AlertsChanged)]
    assert any(not view.rows and view.revision == told.view.revision for view in views)


def _file(home: Path) -> bytes:
    return Home.locate({}, home).alerts.read_bytes()


async def test_alerts_of_other_networks_and_wallets_are_shown_and_ring(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    home = Home.locate({}, tmp_path)
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.until(AlertsChanged, lambda told: bool(told.view.rows))
        with closing(AlertStore.open(home, now=time.time())) as elsewhere:
            happen(elsewhere, raised(7), now=time.time())
            [alert] = [one for one in elsewhere.current() if one.network == "base"]
        rung = await desk.until(AlertRaised, lambda told: told.row.alert_id == str(alert.id))
        shown = await desk.until(
            AlertsChanged, lambda told: any(row.place for row in told.view.rows)
        )
        since = len(desk.heard)
        await desk.ask(Acknowledge("all"))
        acked = await desk.until(AlertsChanged, since=since)

    assert rung.row.severity == "critical"
    assert rung.row.place == f"base {shorten_address(WALLET)}"
    assert rung.row.next_command == "switch to base"
    assert [row.alert_id for row in shown.view.rows if row.place] == [str(alert.id)]
    assert {row.state for row in acked.view.rows} == {"acked"}


async def test_the_desk_says_which_agent_hands_a_plan_over(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    path = Home.locate({}, tmp_path).root / "zuno.db"
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.until(AlertsChanged)
        now = time.time()
        store, _ = Store.open(path, now=now)
        with store:
            hand_over(store, HandedOver("plan_00", "an [red]editor[/]\x1b[2J", "28", now))
        told = await desk.until(Said, lambda told: "proposes" in told.words)

    assert told.words.startswith("An agent («an [red]editor[/]")
    assert told.words.endswith("proposes a plan for #28. To read it: plan plan_00")
    assert "\x1b" not in told.words


async def test_what_was_handed_over_while_no_desk_was_open_is_told_once(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    home = Home.locate({}, tmp_path)
    home.prepare()
    now = time.time()
    store, _ = Store.open(home.database, now=now)
    with store:
        long_ago = HandedOver("plan_00", "editor", "26", now - 3 * 86_400)
        hand_over(store, long_ago)
        hand_over(store, HandedOver("plan_01", "editor", "28", now - 3_600))
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(Said, lambda told: "proposes" in told.words)
        seen = [each.words for each in desk.heard if isinstance(each, Said)]
    store, _ = Store.open(home.database, now=now)
    with store:
        assert take_handed_over(store, time.time()) == []
    assert told.words.endswith("proposes a plan for #28. To read it: plan plan_01")
    assert not any("plan_00" in words for words in seen)


@pytest.mark.parametrize(
    ("sights", "whole"),
    [
        ((), False),
        ((Sight("devnet", "{mine}", 7, 3, None),), True),
        ((Sight("base", WALLET, 7, 3, None),), False),
        ((Sight("devnet", "{mine}", 7, 3, None), Sight("base", WALLET, None, 0, "dead")), False),
    ],
    ids=["nothing seen", "all seen", "not ours", "one blind"],
)
async def test_all_is_well_only_when_every_watch_was_seen(
    devnet: DevnetReady, tmp_path: Path, sights: tuple[Sight, ...], whole: bool
) -> None:
    home = Home.locate({}, tmp_path)
    home.prepare()
    daemon = PollingLock(home.monitor_lock, Holder(4242, "elsewhere", 0.0))
    assert daemon.take()
    seen = tuple(
        replace(one, wallet_address=one.wallet_address.format(mine=devnet.wallet)) for one in sights
    )
    with closing(MonitorState(home.database)) as notebook:
        write_beat(notebook, Beat(time.time(), 4242, "elsewhere", 60.0, seen, None))
    try:
        async with sitting(opening(tmp_path, devnet.url)) as desk:
            told = await desk.until(AlertsChanged, lambda told: told.view.last_seen is not None)
    finally:
        daemon.release()

    assert told.view.rows == ()
    assert (told.view.unseen is None) is whole
    first = next(event.view for event in desk.heard if isinstance(event, AlertsChanged))
    assert first.unseen is not None


async def test_a_channel_that_refuses_is_shown(devnet: DevnetReady, tmp_path: Path) -> None:
    home = Home.locate({}, tmp_path)
    home.prepare()
    refusing = Progress("x", 0, trouble="HTTP 403, no", stopped_at=1.0, set_aside=(17,))
    with closing(MonitorState(home.database)) as notebook:
        notebook.put(NAMESPACE, "Telegram", to_builtins(refusing), now=0)
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(AlertsChanged, lambda told: told.view.trouble is not None)

    assert "HTTP 403" in str(told.view.trouble)
    assert "17" in str(told.view.trouble)


async def test_a_damaged_event_is_said_and_what_comes_after_it_rings(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    home = Home.locate({}, tmp_path)
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.until(AlertsChanged, lambda told: bool(told.view.rows))
        with closing(AlertStore.open(home, now=time.time())) as elsewhere:
            numbers = [one.number for one in elsewhere.events_after(0)]
            with closing(sqlite3.connect(home.database)) as connection, connection:
                connection.execute(
                    "INSERT INTO alert_events (kind, document, at) VALUES ('opened', '{broken', 0)"
                )
            happen(elsewhere, raised(7), now=time.time())
        rung = await desk.until(AlertRaised, lambda told: bool(told.row.place))
        said = await desk.until(Said, lambda said: "is damaged" in said.words)

    assert rung.row.ref == v4_position(7)
    assert str(max(numbers) + 1) in said.words


async def test_a_look_that_fails_is_said_and_the_next_one_comes(
    devnet: DevnetReady, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = [True]
    current = AlertStore.current

    def odd(book: AlertStore) -> tuple[Alert, ...]:
        if failing[0]:
            raise ZeroDivisionError
        return current(book)

    monkeypatch.setattr(AlertStore, "current", odd)
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.until(AlertsChanged, lambda told: told.view.trouble is not None)
        failing[0] = False
        told = await desk.until(AlertsChanged, lambda told: bool(told.view.rows))

    assert told.view.trouble is None
