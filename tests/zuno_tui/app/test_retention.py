"""What is let go of, and when: never what is unfinished, never while reading."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chain.base.home import Home
from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.execution.outbox.outbox import Outbox
from chain.history.events import FeeTerms
from chain.history.hour_reader import HourMemory
from chain.history.hours import KeptHours, Landmark
from chain.math.fees import ProtocolFee
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from zuno_tui.app.retention import StoredFile, let_go, let_go_when_due, surplus
from zuno_tui.settings.schema import RetentionSettings

NOW = 1_790_000_000.0
DAY = 86_400.0
SETTINGS = RetentionSettings(days=30, megabytes=10, memory_days=7)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path, tmp_path)
    made.plans.mkdir()
    made.records.mkdir()
    return made


def _put(home: Home, number: int, *, days: float, size: int = 100) -> tuple[Path, Path]:
    """A plan and its record, as old as that."""
    plan = home.plans / f"plan_{number:016x}.json"
    record = home.records / f"req_{number:016x}.jsonl"
    plan.write_text(json.dumps({"planId": plan.stem, "requestId": record.stem}))
    record.write_bytes(b"x" * size)
    for path in (plan, record):
        os.utime(path, (NOW - days * DAY, NOW - days * DAY))
    return plan, record


def test_what_is_older_than_the_settings_say_goes(home: Home) -> None:
    old, new = _put(home, 1, days=31), _put(home, 2, days=29)

    gone = let_go(home, Store.in_memory(), SETTINGS, now=NOW)

    assert (gone.plans, gone.records) == (1, 1)
    assert [path.exists() for path in (*old, *new)] == [False, False, True, True]


def test_beyond_so_many_bytes_the_oldest_records_go(home: Home) -> None:
    kept = [_put(home, number, days=number, size=3_000_000) for number in range(1, 6)]

    let_go(home, Store.in_memory(), SETTINGS, now=NOW)

    assert [record.exists() for _, record in kept] == [True, True, True, False, False]
    assert all(plan.exists() for plan, _ in kept)


def test_only_files_of_ours_go(home: Home, tmp_path: Path) -> None:
    _put(home, 1, days=400)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    os.utime(elsewhere, (0, 0))
    strangers = [
        home.plans / "plan_x.json.corrupt-1",
        home.plans / "notes.json",
        home.records / "notes.txt",
    ]
    for path in strangers:
        path.write_text("mine")
        os.utime(path, (0, 0))
    link = home.records / "link.jsonl"
    link.symlink_to(elsewhere)

    let_go(home, Store.in_memory(), SETTINGS, now=NOW)

    assert all(path.exists() for path in (*strangers, link, elsewhere))


def test_swaps_nobody_asked_for_are_forgotten_and_nothing_else(home: Home) -> None:
    store, network = Store.in_memory(), network_named("base")
    for pool, days in (("0x" + "01" * 32, 8), ("0x" + "02" * 32, 6)):
        memory = HourMemory(store, network, partial(float, NOW - days * DAY))
        last = Landmark(2, "0x" + "aa" * 32, 0)
        memory.save({pool: KeptHours(0, False, last, (), (), (), 0)}, 0)
    store.put("tokens", "1/0xabc", {"decimals": 6}, now=0.0)
    store.put("changes", "1/7", {}, now=0.0)

    gone = let_go(home, store, SETTINGS, now=NOW)

    reading, terms = HourMemory(store, network, lambda: NOW), FeeTerms(500, ProtocolFee(0, 0))
    assert gone.pools == 1
    assert reading.load("0x" + "01" * 32, terms) is None
    assert reading.load("0x" + "02" * 32, terms) is not None
    assert store.get("tokens", "1/0xabc") == {"decimals": 6}
    assert store.get("changes", "1/7") == {}


def test_it_is_done_once_a_day_and_said(home: Home) -> None:
    store = Store.in_memory()
    old, _ = _put(home, 1, days=31)
    first = let_go_when_due(home, store, SETTINGS, now=NOW)
    again, _ = _put(home, 2, days=31)
    soon = let_go_when_due(home, store, SETTINGS, now=NOW + DAY - 1)
    kept = again.exists()
    set_back = let_go_when_due(home, store, SETTINGS, now=NOW - DAY)

    assert first is not None
    assert str(home.settings) in first
    assert (old.exists(), soon, kept) == (False, None, True)
    assert set_back is None, "nothing is older than that by a clock that was set back"
    assert let_go_when_due(home, store, SETTINGS, now=NOW + DAY) is not None
    assert not again.exists()


def test_an_outbox_that_cannot_be_read_keeps_everything(home: Home) -> None:
    plan, record = _put(home, 1, days=400)
    home.outbox.write_bytes(b"not a database, and longer than a header of one" * 40)

    told = let_go_when_due(home, Store.in_memory(), SETTINGS, now=NOW)

    assert told is not None
    assert plan.exists()
    assert record.exists()


@pytest.mark.parametrize("needed", [False, True])
def test_the_oldest_stays_while_it_is_needed(tmp_path: Path, needed: bool) -> None:
    path = tmp_path / "plan"
    one = StoredFile(path, 0.0, 10)

    gone = surplus([one], before=NOW, most_bytes=5, needed=frozenset((path,) if needed else ()))

    assert gone == (() if needed else (one,))


def test_an_approved_plan_and_its_record_stay_until_it_is_over(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(devnet, CommandLine(tmp_path / "home"), capsys)
    home = Home(desk.command.home, tmp_path)
    plan = desk.recommended("above its range")
    approved = desk.here("approve", plan["planId"], "--candidate", "exit", "--json", *desk.flags)
    assert approved.code == 0, approved.words
    other: dict[str, Any] = desk.recommended("healthy")
    files = {
        name: (home.plans / f"{one['planId']}.json", home.records / f"{one['requestId']}.jsonl")
        for name, one in (("approved", plan), ("idle", other))
    }
    for path in (*files["approved"], *files["idle"]):
        os.utime(path, (0, 0))

    let_go(home, Store.in_memory(), SETTINGS, now=NOW)

    assert [path.exists() for path in files["approved"]] == [True, True]
    assert [path.exists() for path in files["idle"]] == [False, False]
    with Outbox.open(home.outbox) as outbox:
        assert [one.plan_id for one in outbox.dispatches()] == [plan["planId"]]


def test_a_look_lets_go_of_nothing(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(devnet, CommandLine(tmp_path / "home"), capsys)
    plan = desk.recommended("healthy")
    path = desk.command.home / "plans" / f"{plan['planId']}.json"
    os.utime(path, (0, 0))

    for command in (("plan",), ("explain",), ("positions",), ("replay", plan["requestId"])):
        desk.here(*command)

    assert path.exists()
