"""Desk and monitor for hours on one home, at a market of ×60 and a failing chain: nothing grows."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.channel import event_id, is_news
from chain.base.home import Home
from tests.embedded_chain import embedded_chain
from tests.fakes.flaky_proxy import FlakyProxy
from tests.zuno_tui.monitor_process import MonitorProcess, command
from tests.zuno_tui.screen_terminal import Terminal

SPEED = 60.0
FAILING_SHARE = 0.1
INTERVAL = 5.0
SAMPLE_SECONDS = 15.0
OUTAGE_EVERY, OUTAGE_SECONDS = 600.0, 45.0
PATIENCE = 60.0
MB = 2**20
MOST_GROWTH_MB, MOST_HANDLES, MOST_CPU_RATIO, MOST_HOME_MB = 12.0, 6, 1.5, 12.0


class Sample(NamedTuple):
    """Of one process at one moment."""

    memory: float
    handles: int
    cpu: float

    @classmethod
    def of(cls, pid: int) -> Sample:
        place = Path(f"/proc/{pid}")
        pages = int((place / "statm").read_text().split()[1])
        ticks = (place / "stat").read_text().rpartition(")")[2].split()[11:13]
        return cls(
            pages * os.sysconf("SC_PAGESIZE") / MB,
            sum(1 for _ in (place / "fd").iterdir()),
            sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"),
        )


class Course(NamedTuple):
    """What a process took from when it was warm to the end."""

    first: Sample
    warm: Sample
    middle: Sample
    last: Sample

    @classmethod
    def over(cls, samples: list[Sample]) -> Course:
        count = len(samples)
        return cls(samples[0], samples[count // 4], samples[count * 5 // 8], samples[-1])

    @property
    def growth(self) -> float:
        return self.last.memory - self.warm.memory

    @property
    def cpu_ratio(self) -> float:
        """What its last stretch took of the processor beside the one before, of like length."""
        return (self.last.cpu - self.middle.cpu) / max(self.middle.cpu - self.warm.cpu, 0.1)

    @property
    def words(self) -> str:
        return (
            f"{self.first.memory:.0f} → {self.warm.memory:.0f} → {self.last.memory:.0f} MB, handles"
            f" {self.warm.handles} → {self.last.handles}, CPU {self.last.cpu:.0f} s"
            f" (last stretch {self.cpu_ratio:.2f} × the one before)"
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`KEPT_HOME` names one that outlives the run: then slices may be run one by one."""
    named = os.environ.get("KEPT_HOME")
    return tmp_path_factory.mktemp("kept") if named is None else Path(named)


@contextmanager
def _receiver(folder: Path) -> Iterator[str]:
    """A webhook that notes what it is told, at the same address in every slice."""
    noted, address = folder / "delivered", folder / "port"

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with noted.open("a") as lines:
                lines.write(f"{told['id']}\n")
            with suppress(ConnectionError):
                self.send_response(204)
                self.end_headers()

        def log_message(self, *_said: object) -> None:
            """Tests have nothing to say here."""

    port = int(address.read_text()) if address.exists() else 0
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    address.write_text(str(server.server_port))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _delivered(folder: Path) -> Counter[str]:
    noted = folder / "delivered"
    return Counter(noted.read_text().split() if noted.exists() else ())


def _news(home: Home) -> set[str]:
    with closing(AlertStore.open(home, now=time.time())) as book:
        return {event_id(event) for event in book.events_after(0, 1_000_000) if is_news(event)}


def _home_mb(home: Home) -> float:
    """Without the write-ahead log, which stays at its size and is no data."""
    files = (path for path in home.root.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files if not path.name.endswith("-wal")) / MB


@pytest.mark.soak
@pytest.mark.parametrize(("part", "minutes"), [(part, 40.0) for part in (1, 2, 3)])
def test_nothing_grows_and_every_event_is_delivered_once(
    folder: Path, part: int, minutes: float
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    home = Home(folder / "home", folder / "cache")
    home.prepare()
    courses: tuple[list[Sample], list[Sample]] = ([], [])
    sizes: list[float] = []
    with (
        _receiver(folder) as hook,
        embedded_chain(seed=7, speed=SPEED) as chain,
        FlakyProxy(chain.url, FAILING_SHARE, part) as proxy,
    ):
        home.settings.write_text(f'[webhook]\nurl = "{hook}"\n')
        flags = ("--network", "devnet", "--rpc", proxy.url, "--home", str(home.root))
        argv = [sys.executable, "-m", "zuno_tui", "--deterministic", *flags]
        watching = command(home.root, proxy.url, interval=INTERVAL)
        with MonitorProcess.running(watching) as monitor, Terminal(argv, 160, 48) as terminal:
            monitor.until(lambda: bool(monitor.of("poll")))
            terminal.wait_for("monitor: running", PATIENCE)
            began = time.monotonic()
            while (passed := time.monotonic() - began) < minutes * 60:
                proxy.down = passed % OUTAGE_EVERY > OUTAGE_EVERY - OUTAGE_SECONDS
                if passed >= len(sizes) * min(SAMPLE_SECONDS, minutes):
                    processes = (terminal.process.pid, monitor.process.pid)
                    for samples, pid in zip(courses, processes, strict=True):
                        samples.append(Sample.of(pid))
                    sizes.append(_home_mb(home))
                # What is drawn must be taken, or the desk waits for its terminal.
                terminal.settle(0.5, 1.0)
                terminal.raw.clear()
            proxy.down = False
            assert monitor.process.poll() is None, monitor.told()
            monitor.until(lambda: _news(home) <= _delivered(folder).keys())
            polls = monitor.of("poll")
            terminal.send("\x11")
            assert terminal.end() == 0
            assert monitor.end() == 0

    delivered, news = _delivered(folder), _news(home)
    desk, watch = map(Course.over, courses)
    blind = sum(poll["trouble"] is not None for poll in polls)
    print(  # noqa: T201 - the soak's table
        f"\nslice {part}, {minutes:g} min: desk {desk.words}; monitor {watch.words}; home"
        f" {sizes[0]:.2f} → {sizes[-1]:.2f} MB; {len(polls)} polls, {blind} blind;"
        f" {len(news)} events so far, {delivered.total()} delivered,"
        f" {sum(n > 1 for n in delivered.values())} twice; requests {dict(proxy.answered)}"
    )
    assert news <= delivered.keys()
    assert set(delivered.values()) <= {1}
    assert len(polls) > blind
    assert sizes[-1] - sizes[0] < MOST_HOME_MB
    for course in (desk, watch):
        assert course.last.handles - course.warm.handles <= MOST_HANDLES
        if minutes >= 1:
            assert course.growth < MOST_GROWTH_MB
            assert course.cpu_ratio < MOST_CPU_RATIO
