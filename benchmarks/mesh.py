"""A debate by the rules in one process, over NATS, over AXL's API; many desks by simulation."""

from __future__ import annotations

import asyncio
import heapq
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from agents.mesh.peers import Engine
from chain.base.home import Home
from tests.agents.conftest import positions_by_state
from tests.agents.mesh.processes import hold, nats_program, running_mesh, session_on
from tests.embedded_chain import embedded_chain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.devnet.launch import DevnetReady
    from zuno_tui.app.session import Session

ROUNDS = 8
DESKS, AGENTS, ROLES = 1_000, 40, 4
HOURS = 1.0
SERVICE_SECONDS = (0.4, 0.2, 0.3, 0.1)
"""Of a debate by the rules, for each role: reading the chain, proposing, judging, deciding."""


def run() -> Iterator[str]:
    with embedded_chain() as devnet, tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "alone", Path(folder) / "cache")
        home.prepare()
        token_id = min(positions_by_state(devnet.url).values())
        alone = _seconds(session_on(home, devnet), token_id, "local")
        yield _line("in one process", alone, alone)
        yield from _elsewhere(Path(folder), devnet, token_id, alone)
    yield from _queues()


def _elsewhere(
    folder: Path, devnet: DevnetReady, token_id: int, alone: list[float]
) -> Iterator[str]:
    for engine in (Engine.NATS, Engine.AXL):
        if engine is Engine.NATS and nats_program() is None:
            yield "over NATS: not measured, no nats-server (make nats-server)"
            continue
        place = folder / engine
        place.mkdir()
        with running_mesh(place, engine, devnet) as mesh:
            taken = _seconds(session_on(mesh.home, devnet), token_id, "mesh")
        words = "over NATS" if engine is Engine.NATS else "over AXL's API (doubles of its node)"
        yield _line(words, taken, alone)


def _seconds(session: Session, token_id: int, transport: str) -> list[float]:
    taken = []
    for number in range(ROUNDS + 1):
        began = time.perf_counter()
        held = asyncio.run(hold(session, token_id, transport, f"bench-{transport}-{number}"))
        if held.debated.ended.plan is None:
            raise RuntimeError(f"The debate failed: {held.failure}.")
        taken.append(time.perf_counter() - began)
    return taken[1:]


def _line(words: str, taken: list[float], alone: list[float]) -> str:
    median = statistics.median(taken)
    return (
        f"{words}: {median:.2f} s a debate, {median / statistics.median(alone):.1f} × in one "
        f"process, slowest of {len(taken)} {max(taken):.2f} s"
    )


def _queues() -> Iterator[str]:
    """By simulation: desks ask at random times, each role has its own queue and a tenth of all."""
    for debates_an_hour in (12, 60, 80, 88):
        waits, served = simulated(debates_an_hour)
        yield (
            f"simulated, {DESKS:,} desks asking {AGENTS} agents {debates_an_hour} times an hour: "
            f"{served:,.0f} debates an hour, waiting median {statistics.median(waits):.2f} s, "
            f"95 % {sorted(waits)[int(len(waits) * 0.95)]:.2f} s"
        )


def simulated(debates_an_hour: float, seed: int = 7) -> tuple[list[float], float]:
    """Seconds each debate waited in queues, and how many were served an hour."""
    chance = random.Random(seed)
    seconds = HOURS * 3_600
    rate = DESKS * debates_an_hour / 3_600
    events: list[tuple[float, int, int]] = []
    moment, count = 0.0, 0
    while (moment := moment + chance.expovariate(rate)) < seconds:
        heapq.heappush(events, (moment, count, 0))
        count += 1
    free = [[0.0] * (AGENTS // ROLES) for _ in range(ROLES)]
    waited = [0.0] * count
    last = 0.0
    while events:
        moment, debate, role = heapq.heappop(events)
        begins = max(moment, free[role][0])
        waited[debate] += begins - moment
        ends = begins + chance.expovariate(1 / SERVICE_SECONDS[role])
        heapq.heapreplace(free[role], ends)
        if role + 1 < ROLES:
            heapq.heappush(events, (ends, debate, role + 1))
        last = max(last, ends)
    return waited, count / (last / 3_600)
