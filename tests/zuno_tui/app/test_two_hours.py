"""Two hours of monitor, orders, metrics and a served desk, twelve by the chain's clock."""

import asyncio
import http.client
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import pytest

from chain.base.home import Home
from chain.standing_orders.book import StandingOrders
from tests.agents.mesh.processes import free_ports
from tests.embedded_chain import embedded_chain
from tests.printed import printed
from tests.waiting import HUNG_SECONDS
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.test_order_walks import sign_here
from tests.zuno_tui.gate.test_standing_orders import STATE, level
from tests.zuno_tui.monitor_process import MonitorProcess, command

pytest.importorskip("textual_serve", reason="the extra serve is not installed")

MINUTES = int(os.environ.get("SOAK_MINUTES", "120"))
SPEED = 6
SETTLED = MINUTES // 6
"""Minutes in which what is read for the first time is still being kept."""
KIB = 1024


class Hook(BaseHTTPRequestHandler):
    """Takes every message, and says how often it came."""

    came: ClassVar[Counter[int]] = Counter()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if body["event"] is not None:
            self.came[body["event"]] += 1
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def hook() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook"
    finally:
        server.shutdown()


@contextmanager
def served_desk(desk: Desk) -> Iterator[tuple[int, list[int]]]:
    """A desk in a window that somebody looks through: its process, and how many bytes came."""
    [port] = free_ports(1)
    words = ("serve", *desk.flags, "--home", str(desk.command.home), "--port", str(port))
    with subprocess.Popen(
        [sys.executable, "-m", "zuno_tui", *words, "--address", desk.devnet.wallet],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            came: list[int] = []
            looking = partial(asyncio.run, _look(found.group(), came))
            threading.Thread(target=looking, daemon=True).start()
            yield server.pid, came
        finally:
            server.terminate()


async def _look(address: str, came: list[int]) -> None:
    from aiohttp import ClientSession, CookieJar

    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as browser:
        async with browser.get(address) as page:
            place = page.url
        origin = {"origin": f"http://{urlsplit(address).netloc}"}
        async with browser.ws_connect(place / "ws", headers=origin) as talking:
            async for message in talking:
                came.append(len(message.data or b""))


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    return [int(each) for each in found]


def resident_kib(pid: int) -> int:
    told = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(told.partition("VmRSS:")[2].split()[0])


def handles(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def disk_kib(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // KIB


@pytest.mark.soak
@pytest.mark.real_time
def test_two_hours_leave_nothing_behind_and_lose_no_alert(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with embedded_chain() as ready, hook() as url:
        desk = Desk(ready, CommandLine(tmp_path / "home"), capsys)
        home = desk.command.home
        home.mkdir(mode=0o700)
        (home / "settings.toml").write_text(f'[webhook]\nurl = "{url}"\n', "utf-8")
        desk.delegate()
        closed, collected = str(desk.token_id(STATE)), str(desk.token_id("native"))
        sign_here(desk, "close", closed, "below", level(desk, 0.97))
        sign_here(desk, "collect", collected, "every", "1h", "over", "$0.01", "times", "10")
        [port] = free_ports(1)
        arguments = command(home, ready.url, interval=12.0, address=ready.wallet)
        looks: list[tuple[int, ...]] = []
        with (
            MonitorProcess.running([*arguments, "--metrics", str(port)]) as monitor,
            served_desk(desk) as (window, came),
        ):
            desk.ask("zuno_setSpeed", SPEED)
            for _ in range(MINUTES):
                time.sleep(60)
                monitor.until(lambda: bool(monitor.of("poll")))
                watched, shown = monitor.process.pid, children(window)[0]
                looks.append(
                    (
                        resident_kib(watched),
                        handles(watched),
                        resident_kib(shown),
                        handles(shown),
                        disk_kib(home),
                        sum(came),
                    )
                )
                metrics = http.client.HTTPConnection(f"127.0.0.1:{port}", timeout=HUNG_SECONDS)
                metrics.request("GET", "/metrics")
                assert b"zuno_up 1" in metrics.getresponse().read()
            desk.ask("zuno_pause")
            located = Home.locate(os.environ, home)
            book = StandingOrders(located.orders)
            done = [(kept.order.number, kept.progress.done) for kept in book.all()]
            with closing(sqlite3.connect(located.database)) as written:
                told = {row[0] for row in written.execute("SELECT number FROM alert_events")}
            monitor.until(lambda: told <= Hook.came.keys())
    first, last = looks[SETTLED], looks[-1]
    names = ("monitor KiB", "handles", "window KiB", "handles", "home KiB", "window's bytes")
    printed(
        f"{MINUTES} minutes at ×{SPEED}: "
        + "; ".join(
            f"{name} {before:,} → {after:,}"
            for name, before, after in zip(names, first, last, strict=True)
        )
        + f"; orders done {done}; {len(told)} events of alerts, {sum(Hook.came.values())} messages"
    )

    assert told
    assert all(Hook.came[event] == 1 for event in told), Hook.came
    assert last[1] <= first[1] + 8
    assert last[3] <= first[3] + 8
    assert last[0] <= first[0] + 20 * KIB
    assert last[2] <= first[2] + 20 * KIB
    assert last[5] > first[5]
