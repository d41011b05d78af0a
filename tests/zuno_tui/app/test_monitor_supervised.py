"""Killed under a supervisor's loop, the monitor comes back and tells what it missed."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest

from agents.monitor.alerts.alert import AlertEvent
from agents.monitor.alerts.store import AlertStore
from agents.monitor.heartbeat import current_holder
from chain.base.home import Home
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.devnet.world.pools import WETH_USDC
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import Moves
from tests.waiting import wait_until
from tests.zuno_tui.monitor_process import command
from zuno_tui.app.session import SettingsSource
from zuno_tui.app.watchlist import HomeWatchlist
from zuno_tui.settings import Flags

ABSENCES = 3
PUSHES = 6
WALLET = "0x" + "5b" * 20

# Whatever ends it, start it again; the file lets the test decide how long it stays away.
_LOOP = "while :; do while [ ! -e {go} ]; do sleep 0.05; done; {command}; done"


@dataclass
class Supervised:
    """A shell that starts the monitor again and again, and all it printed through all its lives."""

    home: Home
    go: Path
    shell: subprocess.Popen[str]
    lines: list[dict[str, Any]] = field(default_factory=list)

    def until(self, true: Callable[[], bool]) -> None:
        wait_until(true, lambda: self.lines[-3:])

    def polls(self) -> int:
        return sum(line["type"] == "poll" for line in tuple(self.lines))

    def kill(self) -> int:
        holder = current_holder(self.home.monitor_lock)
        assert holder is not None
        os.kill(holder.pid, signal.SIGKILL)
        self.until(lambda: current_holder(self.home.monitor_lock) is None)
        return holder.pid

    def read(self) -> None:
        assert self.shell.stdout is not None
        for line in self.shell.stdout:
            # Killed in the middle of a line, its rest never comes; what follows starts anew.
            self.lines.append(json.loads(line))


@contextmanager
def _supervised(folder: Path, url: str) -> Iterator[Supervised]:
    home, go = Home(folder / "home", folder / "cache"), folder / "go"
    words = " ".join(map(shlex.quote, command(home.root, url, interval=0.2, address=WALLET)))
    with subprocess.Popen(
        ["sh", "-c", _LOOP.format(go=shlex.quote(str(go)), command=words)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as shell:
        supervised = Supervised(home, go, shell)
        reading = threading.Thread(target=supervised.read, daemon=True)
        reading.start()
        try:
            yield supervised
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
            reading.join()


@contextmanager
def _market(url: str) -> Iterator[WalkedPool]:
    """A pool with narrow positions of our wallet; all as it was when the block ends."""
    with httpx2.Client(verify=False) as http:
        moves = Moves(http, url, network_named("devnet"))
        with moves.undone():
            pool = WalkedPool(moves, WETH_USDC.key)
            pool.mint_around(Random(3), 8, WALLET)
            yield pool


def _excursions(events: list[AlertEvent]) -> Counter[tuple[str, str, int | None]]:
    """Each turn of each excursion by its block; how often figures were refreshed is not one."""
    turns = ("opened", "reopened", "resolved")
    return Counter(
        (event.kind.value, str(event.alert.position_id), event.alert.block)
        for event in events
        if event.alert.kind == "out_of_range" and event.kind in turns
    )


def _events(home: Home) -> list[AlertEvent]:
    with closing(AlertStore.open(home, now=time.time())) as book:
        return list(book.events_after(0, 10_000))


@contextmanager
def _never_away(folder: Path, url: str) -> Iterator[tuple[Home, Callable[[], None]]]:
    """The same watch on a home of its own, never killed; and the way to make it look."""
    home = Home(folder / "present", folder / "cache")
    home.prepare()
    chosen = SettingsSource(home, Flags(network="devnet", rpc=url, address=WALLET), {})
    with asyncio.Runner() as runner, closing(AlertStore.open(home, now=time.time())) as book:
        watchlist = HomeWatchlist(chosen, book, tell=lambda note: pytest.fail(str(note)))

        def look() -> None:
            for report in runner.run(watchlist.look()):
                assert report.trouble is None

        yield home, look
        runner.run(watchlist.close())


def test_killed_again_and_again_it_returns_and_tells_what_happened_meanwhile(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    random = Random(4)
    with (
        _market(devnet.url) as pool,
        _never_away(tmp_path, devnet.url) as (present, look),
        _supervised(tmp_path, devnet.url) as supervised,
    ):
        look()
        supervised.go.touch()
        supervised.until(lambda: supervised.polls() >= 1)
        pids = set()
        for _ in range(ABSENCES):
            supervised.go.unlink()
            pids.add(supervised.kill())
            before = supervised.polls()
            for _ in range(PUSHES):
                pool.push(random.randint(-200, 200))
                look()
            supervised.go.touch()
            supervised.until(lambda before=before: supervised.polls() > before)  # type: ignore[misc]
        last = _events(supervised.home)[-1].number
        supervised.until(lambda: any(line.get("event") == last for line in tuple(supervised.lines)))

    events = _events(supervised.home)
    assert len(pids) == ABSENCES
    assert _excursions(events) == _excursions(_events(present))
    assert _excursions(events).total() > ABSENCES
    # Everything was printed: twice at most where it was killed before it had noted that it was.
    printed = Counter(line["event"] for line in supervised.lines if line["type"] == "event")
    assert sorted(printed) == [event.number for event in events]
    assert max(printed.values()) <= 2
