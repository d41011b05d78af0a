"""How long a person waits for a command, against an interpreter that does nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from chain.devnet.launch import devnet_process

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROUNDS = 9


def run() -> Iterator[str]:
    zuno = str(Path(sys.executable).with_name("zuno"))
    idle = _median_milliseconds([sys.executable, "-c", "pass"])
    yield f"python -c pass            {idle:7.0f} ms   baseline"
    yield _line("zuno --help", _median_milliseconds([zuno, "--help"]), idle)
    with tempfile.TemporaryDirectory() as home, devnet_process(world="small") as devnet:
        flags = ["--network", "devnet", "--rpc", devnet.url, "--home", home, "--json"]
        cold = _median_milliseconds([zuno, "positions", *flags], rounds=1)
        yield _line("zuno positions, cold", cold, idle)
        yield _line("zuno positions, warm", _median_milliseconds([zuno, "positions", *flags]), idle)
        yield _line("zuno balances", _median_milliseconds([zuno, "balances", *flags]), idle)


def _line(name: str, milliseconds: float, baseline: float) -> str:
    return f"{name:<25} {milliseconds:7.0f} ms   {milliseconds / baseline:5.1f} × baseline"


def _median_milliseconds(command: Sequence[str], rounds: int = ROUNDS) -> float:
    return statistics.median(_milliseconds(command) for _ in range(rounds))


def _milliseconds(command: Sequence[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return (time.perf_counter() - start) * 1000
