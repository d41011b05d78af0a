"""A poll over ten thousand positions on a replayed RPC, beside polling with one call a field."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING, NamedTuple

from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import Watch, poll_once
from agents.monitor.rules.thresholds import WatchSettings
from benchmarks.many_positions import many_positions
from chain.base.home import Home
from chain.base.store import Store
from chain.contracts.abi import encode_call
from chain.contracts.networks import network_named
from chain.positions.overview import Sources
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.requests import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.many_positions import Node

POSITIONS = 10_000
WALLETS = 100
"""Over which the same positions are spread, the second time."""
POLLS = 5
SAMPLE = 50
"""One call a field is measured on so many positions and scaled: all would take minutes."""
FIELDS = (
    "ownerOf(uint256)",
    "getApproved(uint256)",
    "getPoolAndPositionInfo(uint256)",
    "positionInfo(uint256)",
)
_SLOTS_A_POSITION = 11


class Cost(NamedTuple):
    requests: float
    cpu_seconds: float
    megabytes: int = 0


class Figures(NamedTuple):
    positions: int
    alerts: int
    polls: list[Cost]
    by_field: Cost


def run() -> Iterator[str]:
    alone, spread = _in_a_process(1), _in_a_process(WALLETS)
    field = alone.by_field
    yield (
        f"one call a field       {field.requests:9,.0f} requests {field.cpu_seconds:8.2f} s CPU"
        f"   baseline (measured on {SAMPLE}, scaled)"
    )
    for name, polls in (
        ("first poll", alone.polls[:1]),
        (f"next {POLLS - 1}, worst", alone.polls[1:]),
        (f"{WALLETS} wallets, first", spread.polls[:1]),
        (f"next {POLLS - 1}, worst", spread.polls[1:]),
    ):
        requests, cpu_seconds, megabytes = map(max, zip(*polls, strict=True))
        yield (
            f"{name:<22} {requests:9} requests {cpu_seconds:8.2f} s CPU {megabytes:5} MB"
            f"   {field.requests / requests:,.0f} × fewer,"
            f" {field.cpu_seconds / cpu_seconds:,.0f} × less"
        )
    yield "asked of a poll               10 requests     2.00 s CPU   200 MB"
    yield f"{alone.positions:,} positions watched, {alone.alerts:,} alerts standing"
    yield f"{spread.positions:,} in {WALLETS} wallets, {spread.alerts:,} alerts standing"


def _in_a_process(wallets: int) -> Figures:
    # A process of its own: memory and processor time are then the polls' alone.
    command = [sys.executable, "-m", "benchmarks.monitor", str(POSITIONS), str(wallets)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    positions, alerts, polls, by_field = json.loads(told)
    return Figures(positions, alerts, [Cost(*one) for one in polls], Cost(*by_field))


async def _measured(node: Node, home: Home) -> Figures:
    network = network_named("devnet")
    book = AlertStore.open(home, now=time.time())
    store, _ = Store.open(home.database, now=time.time())
    polls: list[Cost] = []
    async with RpcClient(network, [node.url]) as client:
        watch = Watch(Sources(client, network, store, None, time.time), node.wallets)
        for _ in range(POLLS):
            start = time.process_time()
            reports = await poll_once(watch, WatchSettings(), book, time.time())
            for report in reports:
                if report.trouble is not None:
                    raise AssertionError(report.trouble)
            cpu = time.process_time() - start
            rss = getrusage(RUSAGE_SELF).ru_maxrss // 1024
            polls.append(Cost(reports[0].requests, cpu, rss))
            await client.ask(Request("bench_move", (), lambda _: None))
        by_field = await _by_field(client)
    positions = sum(one.positions for one in reports)
    return Figures(positions, sum(one.active for one in book.current()), polls, by_field)


async def _by_field(client: RpcClient) -> Cost:
    """What a simple monitor does: a request for each thing it wants to know."""
    contracts = client.network.contracts
    before, start = client.round_trips, time.process_time()
    for number in range(1, SAMPLE + 1):
        for signature in FIELDS:
            data = encode_call(signature, number)
            await client.ask(requests.call(contracts.position_manager, data))
        for slot in range(_SLOTS_A_POSITION):
            data = encode_call("extsload(bytes32[])", [slot.to_bytes(32, "big")])
            await client.ask(requests.call(contracts.pool_manager, data))
    scale = POSITIONS / SAMPLE
    return Cost((client.round_trips - before) * scale, (time.process_time() - start) * scale)


def _main(count: int, wallets: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        many_positions(count, wallets=wallets) as node,
    ):
        home = Home(Path(folder), Path(folder))
        print(json.dumps(asyncio.run(_measured(node, home))))


if __name__ == "__main__":
    _main(*map(int, sys.argv[1:]))
