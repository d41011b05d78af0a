"""Who polls, who is told that it lives, and what was noted."""

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.monitor.alerts.state import MonitorState
from agents.monitor.heartbeat import (
    Beat,
    Holder,
    PollingLock,
    Sight,
    Supervisor,
    current_holder,
    last_beat,
    write_beat,
)
from chain.base.store import Store


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    name = str(tmp_path / "notify") if request.param == "path" else f"@zuno-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(name if name[0] == "/" else "\0" + name[1:])
        yield listening, name


def test_what_is_told_arrives_as_systemd_reads_it(manager: tuple[socket.socket, str]) -> None:
    listening, name = manager
    supervisor = Supervisor.from_environment({"NOTIFY_SOCKET": name})

    supervisor.ready("watching 2 wallets")
    supervisor.alive()
    supervisor.report_status("block 7\nREADY=0\x1b[2J")
    supervisor.report_stop()

    told = [listening.recv(4096).decode() for _ in range(4)]
    assert told[0] == "READY=1\nSTATUS=watching 2 wallets"
    assert told[1] == "WATCHDOG=1"
    assert told[2] == "STATUS=block 7 READY=0[2J"
    assert told[3].startswith("STOPPING=1\n")


@pytest.mark.parametrize(
    "environment", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1234"}]
)
def test_without_a_supervisor_words_go_nowhere(environment: dict[str, str]) -> None:
    supervisor = Supervisor.from_environment(environment)

    supervisor.ready("well")
    assert supervisor.watchdog_seconds is None


def test_a_supervisor_that_is_gone_stops_nobody(tmp_path: Path) -> None:
    Supervisor(str(tmp_path / "nobody"), None).alive()


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_for_the_process_it_names(
    told: dict[str, str], seconds: float | None
) -> None:
    supervisor = Supervisor.from_environment({"NOTIFY_SOCKET": "/run/x", **told})

    assert supervisor.watchdog_seconds == seconds


BEAT = Beat(
    at=1000.0,
    pid=7,
    host="here",
    interval_seconds=60.0,
    sights=(Sight("base", "0x" + "ab" * 20, 31_204_113, 12, None),),
    trouble=None,
)


def test_a_heartbeat_is_read_back_by_another_process(tmp_path: Path) -> None:
    notebook = MonitorState(tmp_path / "zuno.db")
    write_beat(notebook, BEAT)
    notebook.close()

    store, _ = Store.open(tmp_path / "zuno.db", now=0)
    with store:
        assert last_beat(store) == BEAT


def test_no_heartbeat_is_none_and_an_old_one_is_overdue() -> None:
    assert last_beat(Store.in_memory()) is None
    assert BEAT.age(1012.0) == 12
    assert BEAT.age(900.0) == 0
    assert not BEAT.overdue(1000.0 + 149)
    assert BEAT.overdue(1000.0 + 151)


def test_what_cannot_be_written_is_kept_and_written_when_it_can(tmp_path: Path) -> None:
    home = tmp_path / "home"
    notebook = MonitorState(home / "zuno.db")
    notebook.put("monitor", "a", 1, now=0)
    notebook.put("monitor", "b", 2, now=0)

    assert "zuno.db" in str(notebook.trouble)
    assert notebook.get("monitor", "a", now=0) == 1

    home.mkdir()
    notebook.put("monitor", "c", 3, now=0)
    assert str(notebook.trouble) == "None"
    notebook.close()
    with Store.open(home / "zuno.db", now=0)[0] as store:
        assert store.items("monitor") == {"a": 1, "b": 2, "c": 3}


def test_a_database_that_was_moved_away_is_followed_by_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "zuno.db"
    notebook = MonitorState(path)
    notebook.put("monitor", "a", 1, now=0)
    path.rename(tmp_path / "zuno.db.corrupt-1")
    for left in tmp_path.glob("zuno.db-*"):
        left.unlink()
    notebook.put("monitor", "b", 2, now=0)
    notebook.close()

    with Store.open(path, now=0)[0] as store:
        assert store.items("monitor") == {"a": 1, "b": 2}


_HOLD = """
import sys, time
from pathlib import Path
from agents.monitor.heartbeat import Holder, PollingLock
lock = PollingLock(Path(sys.argv[1]), Holder.myself(now=77.5))
print(lock.take(), flush=True)
time.sleep(60)
"""


def _holding(path: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "True\n"
    return child


def test_one_holds_it_and_readers_know_whom_until_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "monitor.lock"
    child = _holding(path)
    try:
        mine = PollingLock(path, Holder.myself(now=1.0))

        assert not mine.take()
        assert current_holder(path) == Holder(child.pid, os.uname().nodename, 77.5)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()

    assert current_holder(path) is None
    assert mine.take()
    assert mine.is_held
    assert current_holder(path) == Holder(os.getpid(), os.uname().nodename, 1.0)
    mine.release()
    assert current_holder(path) is None


def test_the_file_is_private_and_a_link_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "monitor.lock"
    lock = PollingLock(path, Holder(1, "here", 0.0))
    lock.take()
    lock.release()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    elsewhere = tmp_path / "link"
    elsewhere.symlink_to(path)
    with pytest.raises(OSError, match="symbolic"):
        PollingLock(elsewhere, Holder(1, "here", 0.0)).take()
    assert current_holder(elsewhere) is None


@pytest.mark.parametrize("left", [b"", b"\xff" * 300, b'{"pid": "x"}', b"[1]"])
def test_whatever_stands_in_the_file_it_can_be_taken_and_has_a_holder(
    tmp_path: Path, left: bytes
) -> None:
    path = tmp_path / "monitor.lock"
    path.write_bytes(left)
    assert current_holder(path) is None

    lock = PollingLock(path, Holder(5, "here", 2.0))
    assert lock.take()
    assert current_holder(path) == Holder(5, "here", 2.0)
    path.write_bytes(left)
    found = current_holder(path)
    assert found is not None
    assert found.pid == 0
    lock.release()
