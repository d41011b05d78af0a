"""What trades are made with: a market to read, a venue that takes orders, and the journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.trade.facts import AccountFacts, DeskSettings, HeldContract, WaitingOrder
from agents.trade.terms import VenueKind

if TYPE_CHECKING:
    from chain.exchange.orders.journal import TradeJournal
    from chain.exchange.orders.paper_venue import PaperFees
    from chain.exchange.orders.venue import Venue
    from chain.exchange.public.binance import BinancePublic


class Trading(Struct, frozen=True):
    """Open for as long as a command runs; what a crash left between is known by then."""

    market: BinancePublic
    venue: Venue
    journal: TradeJournal
    fees: PaperFees
    settings: DeskSettings
    clock: Callable[[], float]
    """The person's, by which plans and approvals grow old."""
    lock: Path
    """Held while orders are sent, so that nobody takes them for cut off."""

    async def account(self) -> AccountFacts:
        """Everything the person has on the venue, with marks of now."""
        seen = await self.venue.account()
        opening = [one for one in seen.open_orders if not one.order.reduce_only]
        symbols = {one.symbol for one in seen.positions} | {one.order.symbol for one in opening}
        marks = {
            symbol: seen.marks.get(symbol) or (await self.market.funding(symbol)).mark
            for symbol in sorted(symbols)
        }
        return AccountFacts(
            venue=seen.venue,
            time=int(seen.time),
            equity=seen.equity,
            positions=tuple(
                HeldContract(
                    venue=seen.venue,
                    symbol=one.symbol,
                    quantity=one.quantity,
                    entry=one.entry,
                    mark=marks[one.symbol],
                )
                for one in seen.positions
            ),
            waiting=tuple(
                WaitingOrder(
                    venue=seen.venue,
                    symbol=one.order.symbol,
                    notional_usd=one.left * (one.order.price or marks[one.order.symbol]),
                )
                for one in opening
            ),
            venue_kind=VenueKind.BINANCE if seen.krw_per_usd is None else VenueKind.UPBIT,
            krw_per_usd=seen.krw_per_usd,
            maker_fee=self.fees.maker,
            taker_fee=self.fees.taker,
        )
