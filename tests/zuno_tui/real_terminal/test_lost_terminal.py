"""A terminal that is lost ends what ran in it, whoever leads its processes, and nothing is left."""

import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.chain.devnet.test_kills import runs
from tests.samples import some_of
from tests.zuno_tui.real_terminal.ssh_server import SshServer
from tests.zuno_tui.screen_terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")

HUNG = 120.0
"""Seconds after which whatever is waited for is called hung."""
DEMO = (sys.executable, "-m", "zuno_tui", "demo")
LEADERS = ("none", "sh", "make", "ssh", "tmux")
MANY = 10


def _until_gone(place: Path) -> float:
    """Seconds until no process is left whose temporary folder this is."""
    began = time.monotonic()
    while pids := _processes(place):
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pids[0])
            assert select.select([descriptor], [], [], HUNG)[0], "it hangs"
            os.close(descriptor)
    return time.monotonic() - began


def _processes(place: Path) -> list[int]:
    """Those whose temporary folder this is, whoever started them."""
    wanted = f"TMPDIR={place}".encode()
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            is_one = wanted in environ.read_bytes().split(b"\0")
        except OSError:
            continue
        if is_one and runs(int(environ.parent.name)):
            found.append(int(environ.parent.name))
    return found


def _led_by(leader: str, folder: Path) -> list[str]:
    """The demo, run by what leads the processes of the terminal."""
    demo = shlex.join(DEMO)
    if leader == "make":
        (folder / "Makefile").write_text(f"run:\n\t{demo}\n", "utf-8")
        return ["make", "--silent", "-C", str(folder), "run"]
    return ["sh", "-c", f"{demo}; true"] if leader == "sh" else list(DEMO)


def _end_tmux(folder: Path) -> None:
    subprocess.run(["tmux", "-S", str(folder / "tmux"), "kill-server"], check=True)


@contextmanager
def _opened(leader: str, folder: Path, server: SshServer) -> Iterator[Callable[[], None]]:
    """A demo whose rows are read, and how its terminal is taken away."""
    place = folder / "temporary"
    place.mkdir()
    environment = {"TMPDIR": str(place), "ZUNO_HOME": str(folder / "home")}
    command = _led_by(leader, folder)
    if leader in ("ssh", "tmux"):
        named = [f"{name}={value}" for name, value in environment.items()]
        command = ["env", *named, *_led_by("make", folder)]
    if leader == "ssh":
        command = server.client(shlex.join(command))
    if leader == "tmux":
        command = ["tmux", "-S", str(folder / "tmux"), "new-session", f"exec {shlex.join(command)}"]
    with Terminal(command, 120, 36, environment if leader in ("none", "sh", "make") else {}) as run:
        run.wait_for("WETH/USDC", HUNG)
        if leader == "ssh":
            yield run.process.kill
        elif leader == "tmux":
            yield lambda: _end_tmux(folder)
        else:
            yield run.hang_up


def _lose_terminal(leader: str, folder: Path, server: SshServer) -> float:
    place = folder / "temporary"
    with _opened(leader, folder, server) as hang_up:
        assert _processes(place)
        hang_up()
        seconds = _until_gone(place)
    assert list(place.iterdir()) == []
    assert not (folder / "home" / "demo.json").exists()
    return seconds


@pytest.mark.parametrize("leader", some_of([(leader,) for leader in LEADERS], 1, seed=9))
def test_a_lost_terminal_ends_the_demo_and_leaves_nothing(
    leader: str, tmp_path: Path, server: SshServer
) -> None:
    if leader in ("make", "tmux") and shutil.which(leader) is None:
        pytest.skip(f"there is no {leader} here")
    _lose_terminal(leader, tmp_path, server)


@pytest.mark.soak
@pytest.mark.parametrize("leader", LEADERS[1:])
def test_it_ends_each_of_ten_times(leader: str, tmp_path: Path, server: SshServer) -> None:
    taken = []
    for count in range(MANY):
        folder = tmp_path / str(count)
        folder.mkdir()
        taken.append(_lose_terminal(leader, folder, server))
    sys.stdout.write(f"{leader}: {MANY} of {MANY} ended, the slowest after {max(taken):.1f} s\n")


STUCK = """
import os
import threading
from chain.base.scratch import scratch_folder
from zuno_tui.screen.app.app import SafeApp
from zuno_tui.screen.app.ending import ending_when_asked

class Stuck(SafeApp[None]):
    def on_ready(self):
        # Again and again: what was drawn before may still be on its way to the terminal.
        while not threading.Event().wait(0.1):
            os.write(1, b" stuck ")

with ending_when_asked() as ending, scratch_folder("demo"):
    app = Stuck()
    app.ending = ending
    app.run()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_screen_that_is_stuck_ends_by_force(number: signal.Signals, tmp_path: Path) -> None:
    with Terminal([sys.executable, "-c", STUCK], environment={"TMPDIR": str(tmp_path)}) as run:
        run.wait_for("stuck", HUNG)
        assert list(tmp_path.iterdir())
        run.process.send_signal(number)
        assert run.process.wait(HUNG) == 128 + number
    assert list(tmp_path.iterdir()) == []
