"""The desk run in one process on a loopback exchange, and again from its record."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct

from agents.bus.record import MemorySink, RecordWriter, running_versions
from agents.bus.run import ArgumentEnd, Listener
from agents.bus.worker import Ambient
from agents.model.interface import Model
from agents.trade.facts import DeskQuestion
from agents.trade.flow import TRADE_FLOW, hold_desk
from agents.trade.observe.observer import MarketObserver
from agents.trade.plan import TradePlan
from agents.trade.services import ChartArtist, DeskEyes, DeskObservation
from chain.base.clean_text import Redactor
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from tests.fakes.exchange import ExchangeDouble

REQUEST = "req_trade"


class Argued(Struct, frozen=True):
    ended: ArgumentEnd[TradePlan]
    lines: list[bytes]


class Seen:
    """Sees one observation, as often as it is asked."""

    def __init__(self, observation: DeskObservation) -> None:
        self._observation = observation

    async def look(self, _question: DeskQuestion) -> DeskObservation:
        return self._observation


@asynccontextmanager
async def observer(double: ExchangeDouble) -> AsyncIterator[MarketObserver]:
    async with double.running() as url, BinancePublic(ExchangeAddress(url, "loopback")) as market:
        yield MarketObserver(market, sample_seconds=0)


async def argue(
    question: DeskQuestion,
    eyes: DeskEyes,
    *,
    model: Model | None = None,
    names: Mapping[str, str] | None = None,
    artist: ChartArtist | None = None,
    listener: Listener | None = None,
) -> Argued:
    sink = MemorySink()
    versions = running_versions(TRADE_FLOW.package)
    record = RecordWriter(sink, REQUEST, versions, Redactor(), flow=TRADE_FLOW.name)

    def crash(_role: object, error: Exception) -> None:
        raise error

    ended = await hold_desk(
        question,
        eyes,
        record,
        ambient=Ambient(lambda: 1.0, lambda: REQUEST),
        request_id=REQUEST,
        model=model,
        names=names,
        artist=artist,
        listener=listener,
        on_crash=crash,
    )
    record.close()
    return Argued(ended, sink.lines)
