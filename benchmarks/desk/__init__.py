"""The desk at a real terminal: its first paint, keys and loop while much goes on, its silence."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from benchmarks.desk import bare, range_keys, three_speakers
from benchmarks.round_trips import minted
from chain.contracts.networks import network_named
from chain.devnet.defaults import control_door
from chain.devnet.launch import devnet_process
from tests.agents.lp.honest_model import honest
from tests.fakes.model_endpoint import says
from tests.fakes.model_in_a_thread import model_in_a_thread
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
_RESUME = {"jsonrpc": "2.0", "id": 1, "method": "zuno_resume", "params": []}
_NOWHERE = "http://127.0.0.1:1"
_UNIQUE = "zq"
"""What nothing else on the screen begins with."""
_MOST_TYPED = 24
_EDGE_DOWN, _EDGE_UP = "h", "l"
_FIGURES_END = "swaps"
_TURN = 40
"""Keys after which an edge is where it was."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def run() -> Iterator[str]:
    yield from _first_paint()
    yield _loop_lag()
    yield _range_moved()
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


def _loop_lag() -> str:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "late"
        argv = [sys.executable, "-m", "benchmarks.desk.three_speakers", str(report)]
        with Terminal(argv, *_SIZE) as desk:
            desk.wait_for(three_speakers.MARKER)
            desk.end(three_speakers.SECONDS * 4)
        late = sorted(float(line) for line in report.read_text("utf-8").splitlines())
    p95 = late[int(len(late) * 0.95)]
    speaking = f"{len(three_speakers.ROLES)} agents at {three_speakers.TOKENS_A_SECOND} tokens/s"
    return (
        f"event loop's lag, {speaking}: p50 {statistics.median(late):.1f} ms, p95 {p95:.1f} ms, "
        f"max {late[-1]:.0f} ms   asked: p95 under 50 ms ({len(late):,} looks)"
    )


def _range_moved() -> str:
    """From a key that moves an edge until the terminal is sent the last of its figures."""
    argv = [sys.executable, "-m", "benchmarks.desk.range_keys"]
    waits = []
    with Terminal(argv, *_SIZE) as desk:
        desk.wait_for(range_keys.MARKER)
        desk.settle(quiet=0.5, seconds=10.0)
        for count in range(KEYS):
            before, start = len(desk.raw), time.perf_counter()
            desk.send(_EDGE_DOWN if count % _TURN < _TURN / 2 else _EDGE_UP)
            waits.append((desk.hear(_FIGURES_END, before) - start) * 1000)
            desk.settle(quiet=0.04, seconds=1.0)
    waits.sort()
    p95 = waits[int(len(waits) * 0.95)]
    return (
        f"key to paint, an edge of the range form moved: p50 {statistics.median(waits):.0f} ms, "
        f"p95 {p95:.0f} ms   asked: 50 ms ({len(waits)} keys)"
    )


def _under_load(devnet: DevnetReady) -> Iterator[str]:
    """Keys typed at the prompt while a model speaks and hundreds of positions are read."""
    from chain.devnet.world.accounts import MEDIUM_PROVIDER

    token_id, *_ = minted(devnet.url, network_named("devnet"), POSITIONS)
    with (
        tempfile.TemporaryDirectory() as home,
        model_in_a_thread(says(honest, size=4, pause=1 / TOKENS_A_SECOND)) as model,
    ):
        argv = _zuno(home, devnet.url, "--address", MEDIUM_PROVIDER.address)
        with Terminal(argv, *_SIZE, model) as desk:
            desk.wait_for(r"(\d+) of \1 found", seconds=120)
            httpx2.post(control_door(devnet.url), json=_RESUME)
            waits = sorted(_waits(desk, token_id))
    spoken = f"{TOKENS_A_SECOND} tokens/s, {POSITIONS} positions refreshing"
    p95 = waits[int(len(waits) * 0.95)]
    yield f"key to paint, {spoken}: p50 {statistics.median(waits):.0f} ms"
    yield f"key to paint, {spoken}: p95 {p95:.0f} ms   asked: 50 ms ({len(waits)} keys)"


def _waits(desk: Terminal, token_id: int) -> Iterator[float]:
    """For each letter typed while somebody speaks, how long until the terminal is sent it."""
    typed = ""
    for count in range(KEYS):
        if "speaking" not in desk.text:
            desk.send(f"\x15\x1b:recommend {token_id}\r")
            desk.wait_for("speaking", seconds=60)
            desk.send(f":{_UNIQUE}")
            desk.wait_for(f"› {_UNIQUE}")
            typed = _UNIQUE
        typed += _LETTERS[count % len(_LETTERS)]
        before, start = len(desk.raw), time.perf_counter()
        desk.send(typed[-1])
        yield (desk.hear(typed, before) - start) * 1000
        if len(typed) == _MOST_TYPED:
            desk.send(f"\x15{_UNIQUE}")
            desk.wait_for(rf"(?m)› {_UNIQUE}$")
            typed = _UNIQUE
        time.sleep(0.04)


def _zuno(home: str, url: str, *flags: str) -> list[str]:
    shared = ["--network", "devnet", "--rpc", url, "--home", home]
    return [sys.executable, "-m", "zuno_tui", *shared, *flags]
