"""The embedded chain: its week made up, and written again from the cache; a quote; an apply.

The baseline is an interpreter that does nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.commands import milliseconds, ratio_line
from chain.base.home import cache_folder
from chain.contracts.abi import encode_call
from chain.devnet.json_rpc import NodeClient
from chain.devnet.launch import devnet_process
from chain.devnet.world.pools import WETH_USDC
from chain.pools.depth import QUOTE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.devnet.launch import DevnetReady

POSITIONS = ("28", "3:3")
"""Of v4, which v3's is compared with."""
QUOTES = 30
APPLIES = 3


def run() -> Iterator[str]:
    zuno = str(Path(sys.executable).with_name("zuno"))
    idle = milliseconds([sys.executable, "-c", "pass"])
    line = partial(ratio_line, baseline=idle)
    yield f"python -c pass            {idle:8.1f} ms   baseline"
    with tempfile.TemporaryDirectory() as folder:
        kept = cache_folder(os.environ)
        worldless = shutil.ignore_patterns("worlds")
        shutil.copytree(kept, Path(folder) / kept.name, ignore=worldless, symlinks=True)
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        build = [zuno, "devnet", "--build-only"]
        yield line("the week made up", milliseconds(build, environment))
        yield line("the week written again", milliseconds(build, environment))
    yield line("zuno demo --text", milliseconds([zuno, "demo", "--text"]))
    with tempfile.TemporaryDirectory() as home, devnet_process(v3=True) as devnet:
        yield line("a quote", _quote(devnet))
        for position in POSITIONS:
            collected = [_collect_and_apply(zuno, devnet, home, position) for _ in range(APPLIES)]
            asked, applied = (statistics.median(each) for each in zip(*collected, strict=True))
            yield line(f"zuno collect {position}", asked)
            yield line(f"zuno apply, {position}", applied)


def _quote(devnet: DevnetReady) -> float:
    call = encode_call(QUOTE, (WETH_USDC.key.values, True, 10**18, b""))
    asked = {"to": devnet.contracts.quoter, "data": "0x" + call.hex()}
    taken = []
    with NodeClient(devnet.url) as node:
        for _ in range(QUOTES):
            start = time.perf_counter()
            node.ask("eth_call", asked, "latest")
            taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def _collect_and_apply(
    zuno: str, devnet: DevnetReady, home: str, position: str
) -> tuple[float, float]:
    flags = ["--network", "devnet", "--rpc", devnet.url, "--address", devnet.wallet]
    flags += ["--home", home, "--json"]
    start = time.perf_counter()
    collect = [zuno, "collect", position, *flags]
    answer = subprocess.run(collect, check=True, capture_output=True, text=True)
    asked = (time.perf_counter() - start) * 1000
    approved = json.loads(answer.stdout)["hash"]
    return asked, milliseconds([zuno, "apply", "--confirm", approved, "--anyway", *flags])
