"""Killed at any moment, delivery goes on where it was: all told, in order, hardly any twice."""

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agents.monitor.alerts.state import MonitorState
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.delivery import ChannelWorker
from agents.monitor.deliver.webhook import Webhook, WebhookSettings
from chain.base.home import Home
from tests.agents.monitor.delivery_kit import home_in
from tests.waiting import wait_until

ENDLESS = 100_000


@contextmanager
def _receiver(taken: list[int]) -> Iterator[str]:
    """A webhook's other end, which notes the numbers of the events it took."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            body = self.rfile.read(length)
            # A sender killed in the middle of its words has told nothing, and hears nothing.
            if len(body) == length:
                taken.append(json.loads(body)["event"])
                with suppress(ConnectionError):
                    self.send_response(204)
                    self.end_headers()

        def log_message(self, *_said: object) -> None:
            """Tests have nothing to say here."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _driver(home: Home, url: str, most: int) -> subprocess.Popen[bytes]:
    module = "tests.agents.monitor.delivery_driver"
    return subprocess.Popen([sys.executable, "-m", module, str(home.root), url, str(most)])


@pytest.mark.parametrize(
    ("part", "kills"),
    [(0, 6), *(pytest.param(part, 50, marks=pytest.mark.soak) for part in range(1, 5))],
)
def test_killed_while_it_sends_it_loses_nothing(tmp_path: Path, part: int, kills: int) -> None:
    home, draw = home_in(tmp_path), random.Random(part)
    taken: list[int] = []
    with _receiver(taken) as url:
        # A channel is told what comes after it was first seen; seen it is from here on.
        book = AlertStore.open(home, now=0)
        ChannelWorker(Webhook(WebhookSettings(url)), book, MonitorState(home.database), time.time)
        for _ in range(kills):
            before = len(taken)
            driver = _driver(home, url, ENDLESS)
            wait_until(lambda: len(taken) > before or driver.poll() is not None)  # noqa: B023
            assert driver.poll() is None
            time.sleep(draw.random() * 0.1)
            driver.kill()
            driver.wait()
        assert _driver(home, url, 0).wait(60) == 0

    numbers = [event.number for event in book.events_after(0, ENDLESS)]
    counted = Counter(taken)
    assert list(counted) == numbers
    assert len(numbers) >= kills
    twice = len(taken) - len(numbers)
    print(f"\n{kills} kills, {len(numbers)} events, {twice} told twice")  # noqa: T201 - the table
    assert twice <= kills
