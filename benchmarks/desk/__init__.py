"""The desk at a real terminal: its first paint, its keys while much goes on, its silence."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.desk import bare
from benchmarks.round_trips import minted
from chain.devnet.launch import devnet_process
from chain.networks import network_named
from tests.agents.honest_model import honest
from tests.fakes.model_endpoint import model_endpoint, says
from tests.zuno_tui.screen_terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.devnet.launch import DevnetReady

ROUNDS = 7
POSITIONS = 500
KEYS = 120
TOKENS_A_SECOND = 100
IDLE_SECONDS = 60.0
_SIZE = (120, 36)
_NOWHERE = "http://127.0.0.1:1"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def run() -> Iterator[str]:
    yield from _first_paint()
    with devnet_process(world="small") as devnet:
        yield _idle(devnet)
        yield from _under_load(devnet)


def _first_paint() -> Iterator[str]:
    """Turn by turn, so that whatever else the machine does burdens both."""
    plain, ours = [], []
    with tempfile.TemporaryDirectory() as home:
        for _ in range(ROUNDS):
            plain.append(_painted([sys.executable, "-m", "benchmarks.desk.bare"], bare.MARKER))
            ours.append(_painted(_zuno(home, _NOWHERE), "Positions"))
    baseline, desk = statistics.median(plain), statistics.median(ours)
    yield f"bare Textual app, four panes, first paint  {baseline:6.0f} ms   baseline"
    yield f"zuno, first paint                          {desk:6.0f} ms   " + (
        f"{desk / baseline:.2f} × baseline, asked: at most 1.5 ×"
    )


def _painted(argv: list[str], marker: str) -> float:
    start = time.perf_counter()
    with Terminal(argv, *_SIZE) as terminal:
        terminal.wait_for(marker)
        return (time.perf_counter() - start) * 1000


def _idle(devnet: DevnetReady) -> str:
    with tempfile.TemporaryDirectory() as home, Terminal(_zuno(home, devnet.url), *_SIZE) as desk:
        desk.wait_for(r"\d+ of \d+ found")
        desk.settle(quiet=8.0, seconds=40.0)
        before = len(desk.raw)
        deadline = time.monotonic() + IDLE_SECONDS
        while time.monotonic() < deadline:
            desk.settle(quiet=1.0, seconds=1.0)
        sent = len(desk.raw) - before
    return f"idle for a minute, market paused       {sent:8,} bytes   asked: under 2,048"


def _under_load(devnet: DevnetReady) -> Iterator[str]:
    """Keys typed at the prompt while a model speaks and hundreds of positions are read."""
    from chain.devnet.world.accounts import MEDIUM_PROVIDER

    minted(devnet.url, network_named("devnet"), POSITIONS)
    with tempfile.TemporaryDirectory() as home, _talking() as model:
        argv = _zuno(home, devnet.url, "--address", MEDIUM_PROVIDER.address)
        with Terminal(
            argv, *_SIZE, {"OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": model}
        ) as desk:
            desk.wait_for(r"(\d+) of \1 found", seconds=120)
            desk.send("r")
            desk.wait_for("speaking", seconds=60)
            desk.send("i")
            waits = sorted(_waits(desk))
    spoken = f"{TOKENS_A_SECOND} tokens/s, {POSITIONS} positions refreshing"
    p95 = waits[int(len(waits) * 0.95)]
    yield f"key to paint, {spoken}: p50 {statistics.median(waits):.0f} ms"
    yield f"key to paint, {spoken}: p95 {p95:.0f} ms   asked: 50 ms ({len(waits)} keys)"


def _waits(desk: Terminal) -> Iterator[float]:
    """For each letter typed, how long until it stands in the prompt."""
    typed = ""
    for count in range(KEYS):
        letter = _LETTERS[count % len(_LETTERS)]
        typed = (typed + letter)[-24:]
        start = time.perf_counter()
        desk.send(letter)
        desk.wait_for(f"› .*{typed}")
        yield (time.perf_counter() - start) * 1000
        if len(typed) == 24:
            desk.send("\x15" if count % 2 else "\x01\x0b")
            typed = ""
            desk.settle(quiet=0.05, seconds=1.0)
        time.sleep(0.04)


@contextmanager
def _talking() -> Iterator[str]:
    """An endpoint that says what an honest model would, at the pace of a fast one."""
    ready, stop = threading.Event(), asyncio.Event()
    told: list[str] = []
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with model_endpoint(says(honest, size=4, pause=1 / TOKENS_A_SECOND)) as endpoint:
            told.append(endpoint.url)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield told[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def _zuno(home: str, url: str, *flags: str) -> list[str]:
    shared = ["--network", "devnet", "--rpc", url, "--home", home]
    return [sys.executable, "-m", "zuno_tui", *shared, *flags]
