"""A run of the trade desk beyond its reads, against the reads it needs first."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from agents.bus.record import MemorySink, RecordWriter
from agents.bus.worker import Ambient
from agents.trade.facts import AccountFacts, DeskQuestion, DeskSettings
from agents.trade.flow import TRADE_FLOW, hold_desk
from agents.trade.observe.observer import MarketObserver
from agents.trade.terms import Objective, TradeMode
from chain.base.clean_text import Redactor
from chain.devnet.defaults import control_url
from chain.devnet.launch import devnet_process
from chain.exchange.public.binance import BinancePublic, ExchangeAddress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.trade.services import DeskObservation

ROUNDS = 30
ASKED_P95 = 150.0
REQUEST = "req_benchmark"
QUESTION = DeskQuestion(
    asked_at=0,
    symbol="ETHUSDT",
    coin="ETH",
    mode=TradeMode.SWING,
    objective=Objective.TRADE,
    account=AccountFacts(
        venue="paper",
        time=0,
        equity=10_000.0,
        positions=(),
        waiting=(),
        maker_fee=0.0002,
        taker_fee=0.0005,
    ),
    settings=DeskSettings(order_usd=2_000.0, account_leverage=2.0),
)


class RememberedMarket(Struct, frozen=True):
    """Eyes that saw before the clock was started."""

    observation: DeskObservation

    async def look(self, _question: DeskQuestion) -> DeskObservation:
        return self.observation


def run() -> Iterator[str]:
    with devnet_process() as devnet:
        seen, reading = asyncio.run(_observed(devnet.url))
    runs = asyncio.run(_argued(seen))
    times = [run.clock for run in runs]
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=100)[94]
    processor = statistics.median(run.processor for run in runs)
    yield f"reads of a run, warm            {reading:7.1f} ms   baseline"
    yield f"the run itself, processor       {processor:7.1f} ms   asked: {ASKED_P95:g} ms"
    yield f"the run itself, p50             {p50:7.1f} ms   {reading / p50:4.1f} × as fast"
    yield f"the run itself, p95             {p95:7.1f} ms   asked: {ASKED_P95:g} ms ({ROUNDS} runs)"


async def _observed(url: str) -> tuple[DeskObservation, float]:
    async with BinancePublic(ExchangeAddress(control_url(url))) as market:
        eyes = MarketObserver(market, sample_seconds=0)
        await eyes.look(QUESTION)
        start = time.perf_counter()
        seen = await eyes.look(QUESTION)
        return seen, (time.perf_counter() - start) * 1000


class RunTime(NamedTuple):
    """In milliseconds."""

    clock: float
    processor: float


async def _argued(seen: DeskObservation) -> list[RunTime]:
    times = []
    for number in range(ROUNDS + 1):
        start, worked = time.perf_counter(), time.process_time()
        ended = await hold_desk(
            QUESTION,
            RememberedMarket(seen),
            RecordWriter(MemorySink(), REQUEST, {}, Redactor(), flow=TRADE_FLOW.name),
            ambient=Ambient(time.time, lambda: REQUEST),
            request_id=REQUEST,
        )
        if ended.plan is None or ended.plan.by_failure:
            raise AssertionError(ended.failure or "the market could not be read")
        if number:  # the first warms up
            clock, processor = time.perf_counter() - start, time.process_time() - worked
            times.append(RunTime(clock * 1000, processor * 1000))
    return times
