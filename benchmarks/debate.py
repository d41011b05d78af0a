"""A debate by the rules beyond its chain reads, against the reads it needs first."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.bus.record import MemorySink, RecordWriter
from agents.bus.worker import Ambient
from agents.lp.debate import LP_FLOW, hold_debate
from agents.lp.observe import ChainObserver
from agents.lp.payloads import FlowStart
from agents.numbers.rules import RiskProfile
from chain.base.clean_text import Redactor
from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.devnet.launch import devnet_process
from chain.positions.overview import Sources, read_overview
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef
from chain.rpc.client import RpcClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.lp.facts import CreateContext, CreateGoal, MarketContext, PastFacts
    from chain.devnet.launch import DevnetReady

ROUNDS = 10
ASKED_P95 = 20.0
REQUEST = "req_benchmark"


class Remembered(Struct, frozen=True):
    """Eyes that saw before the clock was started."""

    context: MarketContext

    async def observe_position(
        self, ref: PositionRef, profile: RiskProfile, *_: object
    ) -> MarketContext:
        if (ref, profile) != (self.context.position.token_id, self.context.profile):
            raise LookupError("Another position was seen.")
        return self.context

    async def survey(self, goal: CreateGoal, owner: str, profile: RiskProfile) -> CreateContext:
        raise LookupError(f"No pools were seen for {owner}, {goal}, {profile}.")

    async def position_past(self, ref: PositionRef) -> PastFacts:
        raise LookupError(f"Nobody looked at the past of {ref}.")


def run() -> Iterator[str]:
    with devnet_process() as devnet:
        contexts, reads = asyncio.run(_observed(devnet))
    debates, processor = asyncio.run(_debated(contexts))
    cases = f"{len(contexts)} demo positions × {len(RiskProfile)} profiles × {ROUNDS}"
    reading = statistics.median(reads)
    yield f"chain reads of a debate, median    {reading:7.1f} ms   baseline"
    p50, p95 = _percentile(debates, 50), _percentile(debates, 95)
    busy = _percentile(processor, 95)
    yield f"the debate itself, p50             {p50:7.1f} ms   {reading / p50:4.1f} × as fast"
    yield f"the debate itself, p95             {p95:7.1f} ms   asked: {ASKED_P95:g} ms ({cases})"
    yield f"the debate itself, processor, p95  {busy:7.1f} ms"


async def _observed(devnet: DevnetReady) -> tuple[list[MarketContext], list[float]]:
    """The facts of every demo position, and how long each took to read again."""
    network = network_named("devnet")
    contexts, reads = [], []
    async with RpcClient(network, (devnet.url,)) as client:
        sources = Sources(client, network, Store.in_memory(), None, time.time)
        overview = await read_overview(sources, devnet.wallet, WorthUnit.USD)
        eyes = ChainObserver(sources)
        for position in overview.wallet.positions:
            await eyes.observe_position(position.ref, RiskProfile.BALANCED)
            start = time.perf_counter()
            contexts.append(await eyes.observe_position(position.ref, RiskProfile.BALANCED))
            reads.append((time.perf_counter() - start) * 1000)
    return contexts, reads


async def _debated(contexts: list[MarketContext]) -> tuple[list[float], list[float]]:
    """Milliseconds of the clock and of the processor."""
    times, processor = [], []
    for number in range(ROUNDS + 1):
        for seen in contexts:
            for profile in RiskProfile:
                # Nothing that was written or worked out of an earlier debate's facts is met again.
                context = seen.model_copy(update={"profile": profile}, deep=True)
                start, worked = time.perf_counter(), time.process_time()
                await _one(context)
                if number:  # the first round warms up
                    times.append((time.perf_counter() - start) * 1000)
                    processor.append((time.process_time() - worked) * 1000)
    return times, processor


async def _one(context: MarketContext) -> None:
    start = FlowStart(token_id=context.position.token_id, profile=context.profile, max_rounds=2)
    ended = await hold_debate(
        start,
        Remembered(context),
        None,
        RecordWriter(MemorySink(), REQUEST, {}, Redactor(), flow=LP_FLOW.name),
        ambient=Ambient(time.time, lambda: REQUEST),
        request_id=REQUEST,
    )
    if ended.plan is None:
        raise AssertionError(ended.failure)


def _percentile(values: list[float], share: int) -> float:
    return statistics.quantiles(values, n=100)[share - 1]
