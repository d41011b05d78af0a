"""The paper venue: made-up money on the real market, kept in a file of its own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from chain.base.sqlite import open_database, transaction
from chain.exchange.orders.paper_account import (
    MarketMoment,
    PaperAccount,
    PaperFees,
    cancelled,
    placed,
)
from chain.exchange.orders.paper_course import MarketCourse, settled
from chain.exchange.orders.venue import VenueAccount
from chain.exchange.public.binance import INTERVAL_SECONDS, MOST_CANDLES
from chain.exchange.public.book_walk import BASIS_POINTS, slippage_bips
from chain.exchange.public.market import closed_candles

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

    from chain.exchange.orders.order import OrderProgress, VenueOrder
    from chain.exchange.public.binance import BinancePublic, CandleInterval

NAME = "paper"
_TABLE = "CREATE TABLE IF NOT EXISTS account (venue TEXT PRIMARY KEY, body BLOB NOT NULL)"
_TYPICAL_DOLLARS = 10_000.0
"""What the slippage of stops and slices is measured with; a book without it charges the worst."""
_WORST_SLIPPAGE = 0.005


class PaperTerms(Struct, frozen=True):
    start_usd: float = 10_000.0
    fees: PaperFees = PaperFees()


class PaperVenue:
    """Takes orders on a market it only reads; each change is on disk when it returns."""

    late_seconds = 0.0

    def __init__(self, path: Path, market: BinancePublic, terms: PaperTerms) -> None:
        self.name = f"{NAME}:{market.name}"
        self._market = market
        self._terms = terms
        self._connection: sqlite3.Connection = open_database(path)
        self._connection.execute(_TABLE)

    async def close(self) -> None:
        self._connection.close()

    async def now(self) -> float:
        return await self._market.time()

    async def account(self) -> VenueAccount:
        """After everything that the market has done to it since it was last looked at."""
        account = await self._settle()
        marks = {symbol: (await self._market.funding(symbol)).mark for symbol in account.positions}
        return VenueAccount(
            self.name,
            await self.now(),
            account.equity(marks),
            tuple(account.positions.values()),
            account.open_orders(),
            account.fees,
            account.funding,
        )

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        """It keeps the time of slices itself."""
        return (order,)

    async def submit(self, order: VenueOrder) -> OrderProgress:
        rules, book = await self._market.rules(order.symbol), await self._market.book(order.symbol)
        now = await self.now()
        moment = MarketMoment(book, rules, now, self._terms.fees)
        account = self._change(lambda before: placed(before, order, moment))
        return account.orders[order.client_id]

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        return (await self._settle()).orders.get(order.client_id)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        client_id, now = order.client_id, await self.now()
        account = self._change(lambda before: cancelled(before, client_id, now, "by its owner"))
        return account.orders.get(client_id)

    async def _settle(self) -> PaperAccount:
        now = await self.now()
        account = self._change(lambda before: before)
        busy = {one.order.symbol for one in account.open_orders()} | set(account.positions)
        for symbol in sorted(busy):
            course = await self._course(symbol, account.settled_at[symbol], now)
            account = self._change(partial(settled, course=course, fees=self._terms.fees))
        return account

    async def _course(self, symbol: str, since: int, now: float) -> MarketCourse:
        interval: CandleInterval = "1m" if now - since < 60 * MOST_CANDLES else "1h"
        seconds = INTERVAL_SECONDS[interval]
        start = since // seconds * seconds
        candles = await self._market.candles(symbol, interval, count=MOST_CANDLES, since=start)
        book = await self._market.book(symbol)
        sides = [slippage_bips(book, buy=buy, dollars=_TYPICAL_DOLLARS) for buy in (True, False)]
        worst = [_WORST_SLIPPAGE if one is None else one / BASIS_POINTS for one in sides]
        return MarketCourse(
            symbol,
            seconds,
            closed_candles(candles, seconds, now),
            await self._market.payments(symbol, since=start),
            max(worst),
        )

    def _change(self, made: Callable[[PaperAccount], PaperAccount]) -> PaperAccount:
        with transaction(self._connection):
            row = self._connection.execute(
                "SELECT body FROM account WHERE venue = ?", (self.name,)
            ).fetchone()
            before = (
                PaperAccount(cash=self._terms.start_usd)
                if row is None
                else msgspec.json.decode(row[0], type=PaperAccount)
            )
            after = made(before)
            self._connection.execute(
                "INSERT OR REPLACE INTO account VALUES (?, ?)",
                (self.name, msgspec.json.encode(after)),
            )
        return after
