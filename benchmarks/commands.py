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
    from collections.abc import Iterator, Mapping, Sequence

ROUNDS = 9


def run() -> Iterator[str]:
    zuno = str(Path(sys.executable).with_name("zuno"))
    idle = _median_milliseconds([sys.executable, "-c", "pass"])
    yield f"python -c pass            {idle:8.1f} ms   baseline"
    yield ratio_line("zuno --help", _median_milliseconds([zuno, "--help"]), idle)
    with tempfile.TemporaryDirectory() as home, devnet_process(world="small") as devnet:
        flags = ["--network", "devnet", "--rpc", devnet.url, "--home", home, "--json"]
        cold = _median_milliseconds([zuno, "positions", *flags], rounds=1)
        yield ratio_line("zuno positions, cold", cold, idle)
        yield ratio_line(
            "zuno positions, warm", _median_milliseconds([zuno, "positions", *flags]), idle
        )
        yield ratio_line("zuno balances", _median_milliseconds([zuno, "balances", *flags]), idle)


def ratio_line(name: str, milliseconds: float, baseline: float) -> str:
    return f"{name:<25} {milliseconds:8.1f} ms   {milliseconds / baseline:5.1f} × baseline"


def _median_milliseconds(command: Sequence[str], rounds: int = ROUNDS) -> float:
    return statistics.median(milliseconds(command) for _ in range(rounds))


def milliseconds(command: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return (time.perf_counter() - start) * 1000
