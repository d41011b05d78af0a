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
from typing import TYPE_CHECKING

from agents.monitor.book import AlertBook
from agents.monitor.thresholds import WatchSettings
from agents.monitor.worker import Watch, poll_once
from benchmarks.many_positions import WALLET, many_positions
from chain.abi import encode_call
from chain.home import Home
from chain.networks import network_named
from chain.overview import Sources
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.requests import Request
from chain.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

POSITIONS = 10_000
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


def run() -> Iterator[str]:
    # A process of its own: memory and processor time are then the polls' alone.
    command = [sys.executable, "-m", "benchmarks.monitor", str(POSITIONS)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures = json.loads(told)
    field, (first, *later) = figures["field"], figures["polls"]
    yield (
        f"one call a field       {field['requests']:9,.0f} requests {field['cpu']:8.2f} s CPU"
        f"   baseline (measured on {SAMPLE}, scaled)"
    )
    for name, polls in (("first poll", [first]), (f"next {len(later)}, worst", later)):
        worst = {key: max(one[key] for one in polls) for key in ("requests", "cpu", "rss")}
        fewer, less = (field[key] / worst[key] for key in ("requests", "cpu"))
        yield (
            f"{name:<22} {worst['requests']:9} requests {worst['cpu']:8.2f} s CPU"
            f" {worst['rss']:5} MB   {fewer:,.0f} × fewer, {less:,.0f} × less"
        )
    yield "asked of a poll               10 requests     2.00 s CPU   200 MB"
    yield f"{figures['positions']:,} positions watched, {figures['alerts']:,} alerts standing"


async def _measured(url: str, home: Home) -> dict[str, object]:
    network = network_named("devnet")
    book = AlertBook.open(home, now=time.time())
    store, _ = Store.open(home.database, now=time.time())
    polls: list[dict[str, float]] = []
    async with RpcClient(network, [url]) as client:
        watch = Watch(Sources(client, network, store, None, time.time), WALLET)
        for _ in range(POLLS):
            start = time.process_time()
            report = await poll_once(watch, WatchSettings(), book, time.time())
            if report.trouble is not None:
                raise AssertionError(report.trouble)
            cpu = time.process_time() - start
            rss = getrusage(RUSAGE_SELF).ru_maxrss // 1024
            polls.append({"requests": report.requests, "cpu": cpu, "rss": rss})
            await client.ask(Request("bench_move", (), lambda _: None))
        field = await _by_field(client)
    return {
        "positions": report.positions,
        "polls": polls,
        "field": field,
        "alerts": sum(one.active for one in book.current()),
    }


async def _by_field(client: RpcClient) -> dict[str, float]:
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
    return {
        "requests": (client.round_trips - before) * scale,
        "cpu": (time.process_time() - start) * scale,
    }


def _main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder, many_positions(count) as node:
        home = Home(Path(folder), Path(folder))
        print(json.dumps(asyncio.run(_measured(node.url, home))))


if __name__ == "__main__":
    _main(int(sys.argv[1]))
