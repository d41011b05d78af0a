"""The venue that a session trades on, opened for as long as a command runs."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.exchange.journal import TradeJournal
from chain.exchange.paper_venue import PaperTerms, PaperVenue
from chain.exchange.public.binance import BASE_URL, SOURCE, BinancePublic, ExchangeAddress
from chain.prices.market_http import MarketError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from chain.exchange.paper_account import PaperFees
    from chain.exchange.venue import Venue
    from zuno_tui.session.session import Session

EMBEDDED = "the demo's exchange"


class VenueUnreadError(Exception):
    """The venue did not answer, or not in a way that can be used."""


class OpenVenue(Struct, frozen=True):
    """A market to read, what takes orders on it, and what was sent there."""

    market: BinancePublic
    venue: Venue
    journal: TradeJournal
    fees: PaperFees


def exchange_address(session: Session) -> ExchangeAddress:
    """The one that was set; on the embedded chain its own, else Binance."""
    if session.settings.trade.url is not None:
        return ExchangeAddress(session.settings.trade.url.strip(), "the exchange that is set")
    if session.network.clock == "head":
        return ExchangeAddress(session.endpoints[0], EMBEDDED)
    return ExchangeAddress(BASE_URL, SOURCE)


@asynccontextmanager
async def open_venue(session: Session) -> AsyncIterator[OpenVenue]:
    """To look alone: what a crash left between stays as it is."""
    session.home.prepare()
    terms = PaperTerms(start_usd=session.settings.trade.paper_usd or PaperTerms().start_usd)
    async with BinancePublic(exchange_address(session)) as market:
        venue = PaperVenue(session.home.paper, market, terms)
        try:
            with TradeJournal.open(session.home.trades) as journal:
                yield OpenVenue(market, venue, journal, terms.fees)
        except MarketError as error:
            raise VenueUnreadError(
                f"The market cannot be read: {error}. Try again, or name another server of "
                f"Binance's shapes: url under [trade] in {session.home.settings}"
            ) from None
        finally:
            await venue.close()
