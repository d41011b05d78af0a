"""Who polls: one process at a time, the next one when it dies, and everybody may know who."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agents.monitor.heartbeat import Holder, PollingLock, current_holder

if TYPE_CHECKING:
    from pathlib import Path

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
    assert mine.held
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
