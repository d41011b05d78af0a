"""Polls over 10,000 positions of v3 and v4 in 20 wallets, beside the same at an earlier commit."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

EARLIER = "940c6c1b"
POSITIONS, WALLETS, POLLS = 10_000, 20, 5
MANY, SLOW_SECONDS = 100_000, 120
"""A node written in Python takes its time over so many."""


async def _measured(url: str, wallets: list[str], home_folder: Path) -> list[list[float]]:
    # Whichever commit stands in the path: only what both have is named here.
    from agents.monitor.alerts.store import AlertStore
    from agents.monitor.poll import Watch, poll_once
    from agents.monitor.rules.thresholds import WatchSettings
    from chain.base.home import Home
    from chain.base.store import Store
    from chain.contracts.networks import network_named
    from chain.positions.overview import Sources
    from chain.rpc.client import RpcClient
    from chain.rpc.requests import Request, RequestLimits

    limits = RequestLimits().answering_within(SLOW_SECONDS)
    network, home = network_named("devnet"), Home(home_folder, home_folder)
    book = AlertStore.open(home, now=time.time())
    store, _ = Store.open(home.database, now=time.time())
    polls = []
    async with RpcClient(network, [url], limits=limits) as client:
        watch = Watch(Sources(client, network, store, None, time.time), wallets)
        for _ in range(POLLS):
            start = time.process_time()
            reports = await poll_once(watch, WatchSettings(), book, time.time())
            cpu = time.process_time() - start
            for report in reports:
                if report.trouble is not None:
                    raise AssertionError(report.trouble)
            megabytes = getrusage(RUSAGE_SELF).ru_maxrss // 1024
            positions = sum(report.positions for report in reports)
            alerts = sum(alert.active for alert in book.current())
            polls.append([reports[0].requests, cpu, megabytes, positions, alerts])
            await client.ask(Request("bench_move", (), lambda _: None))
    return polls


def _polls(source: Path, count: int, *settings: str) -> list[list[float]]:
    """Of a process of its own that runs the code in `source`, on a node begun anew."""
    from benchmarks.many_positions import many_positions

    with (
        many_positions(count - count // 2, wallets=WALLETS, of_v3=count // 2) as node,
        tempfile.TemporaryDirectory() as folder,
    ):
        command = [sys.executable, __file__, node.url, folder, *node.wallets]
        environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONSAFEPATH": "1"}
        environment |= dict(setting.split("=") for setting in settings)
        told = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=environment
        )
    polls: list[list[float]] = json.loads(told.stdout)
    return polls


def run() -> Iterator[str]:
    from zuno_tui.app.monitor_service import ALLOCATOR

    here = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["git", "archive", EARLIER, "agents", "chain"],
            check=False,
            cwd=here,
            stdout=subprocess.PIPE,
        )
        if packed.returncode:
            yield f"{EARLIER} is not in this clone: nothing to compare with"
            return
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        # Each as its own unit starts it.
        before, now = _polls(Path(folder), POSITIONS), _polls(here, POSITIONS, ALLOCATOR)
    for name, part in (("first poll", slice(1)), (f"next {POLLS - 1}, worst", slice(1, None))):
        old, new = (list(map(max, zip(*polls[part], strict=True))) for polls in (before, now))
        yield f"{name:<16} {EARLIER} {_line(old)}"
        yield f"{'':<16} now      {_line(new)}"
        yield f"{'':<16} of it    {new[1] / old[1]:.0%} of the CPU, {new[2] / old[2]:.0%} of the MB"
    yield "asked            10 requests, 60% of the CPU and of the MB"
    first, *later = _polls(here, MANY, ALLOCATOR)
    yield f"{'first poll':<16} now      {_line(first)}"
    worst = _line(list(map(max, zip(*later, strict=True))))
    yield f"{f'next {POLLS - 1}, worst':<16} now      {worst}"


def _line(poll: list[float]) -> str:
    requests, cpu, megabytes, positions, alerts = poll
    return (
        f"{requests:5.0f} requests {cpu:7.2f} s CPU {megabytes:5.0f} MB,"
        f" {positions:,.0f} positions, {alerts:,.0f} alerts"
    )


if __name__ == "__main__":
    address, home, *owners = sys.argv[1:]
    print(json.dumps(asyncio.run(_measured(address, owners, Path(home)))))
