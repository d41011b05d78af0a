"""The desk's sources beside its venue, opened for one question."""

from __future__ import annotations

import os
import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from agents.trade.observe.news import NarrativeReader, NewsReader
from agents.trade.observe.outside import (
    FearGreedReader,
    LiquidationsReader,
    MacroReader,
    OptionsReader,
)
from agents.trade.terms import SectionName
from chain.exchange.orders.ccxt_client import VenuePackageError
from chain.exchange.public.binance import BASE_URL
from chain.exchange.public.book_stream import BookStream
from chain.exchange.public.deribit import DeribitPublic
from chain.exchange.public.fear_greed import FearGreedIndex
from chain.exchange.public.fred import Fred
from chain.exchange.public.okx import OkxPublic
from zuno_tui.app.open_venue import exchange_address

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agents.model.interface import Model
    from agents.trade.observe.sections import SectionReader
    from chain.exchange.orders.other_venues import OtherVenues
    from chain.exchange.public.binance import BinancePublic
    from zuno_tui.app.session import Session


@asynccontextmanager
async def outside_readers(
    session: Session, narrative: Model | None = None, *, emergency: bool = False
) -> AsyncIterator[dict[SectionName, SectionReader]]:
    """The embedded chain's world has none of its own, and asks only whom the person has set."""
    table = session.settings.trade
    async with AsyncExitStack() as closing:
        readers: dict[SectionName, SectionReader] = {}
        if table.news:
            news = NewsReader(table.news, time.time, emergency=emergency)
            closing.push_async_callback(news.close)
            readers[SectionName.NEWS] = news
        if narrative is not None:
            readers[SectionName.NARRATIVE] = NarrativeReader(narrative, time.time)
        if session.network.clock != "head":
            options, fear, okx = DeribitPublic(), FearGreedIndex(), OkxPublic()
            for one in (options, fear, okx):
                closing.push_async_callback(one.close)
            readers[SectionName.OPTIONS] = OptionsReader(options, time.time)
            readers[SectionName.FEAR_GREED] = FearGreedReader(fear, time.time)
            readers[SectionName.LIQUIDATIONS] = LiquidationsReader(okx, time.time)
            key = fred_key(session)
            if key is not None:
                macro = Fred(key)
                closing.push_async_callback(macro.close)
                readers[SectionName.MACRO] = MacroReader(macro, time.time)
        yield readers


@asynccontextmanager
async def other_venues(session: Session) -> AsyncIterator[OtherVenues | None]:
    """None in the embedded chain's world, and where ccxt is not installed."""
    if session.network.clock == "head" or session.settings.trade.url is not None:
        yield None
        return
    from chain.exchange.orders.other_venues import OtherVenues

    try:
        venues = OtherVenues()
    except VenuePackageError:
        yield None
        return
    try:
        yield venues
    finally:
        await venues.close()


def book_stream(session: Session, market: BinancePublic) -> BookStream | None:
    """Of Binance itself; servers of its shapes, the embedded chain's among them, stream nothing."""
    if exchange_address(session).base_url != BASE_URL:
        return None
    return BookStream(market.name, market.snapshot)


def fred_key(session: Session) -> str | None:
    place = session.settings.trade.fred_key
    return None if place is None else os.environ.get(place.removeprefix("env:")) or None
