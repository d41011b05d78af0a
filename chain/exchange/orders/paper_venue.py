"""The paper venue: made-up money on the real market, kept in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from chain.base.sqlite import open_database, transaction
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType, VenueOrder
from chain.exchange.orders.paper_account import (
    Execution,
    MarketMoment,
    PaperAccount,
    PaperFees,
    cancelled,
    filled,
    funded,
    placed,
    without_orphans,
)
from chain.exchange.orders.venue import VenueAccount
from chain.exchange.public.binance import (
    INTERVAL_SECONDS,
    MOST_CANDLES,
    BinancePublic,
    CandleInterval,
)
from chain.exchange.public.book_walk import BASIS_POINTS, slippage_bips
from chain.exchange.public.market import Candle, FundingPayment, closed_candles

if TYPE_CHECKING:
    import sqlite3


class MarketCourse(Struct, frozen=True):
    """What one contract did: closed candles, and what was funded meanwhile."""

    symbol: str
    seconds: int
    """The length of a candle."""
    candles: tuple[Candle, ...]
    payments: tuple[FundingPayment, ...]
    slippage: float
    """The fraction that a taker is charged, from the book as it is now."""


def settled(
    account: PaperAccount, course: MarketCourse, fees: PaperFees | None = None
) -> PaperAccount:
    """The account after these candles; those it has been through already are passed over."""
    fees = fees or PaperFees()
    for candle in course.candles:
        if candle.time < account.settled_at.get(course.symbol, 0):
            continue
        end = candle.time + course.seconds
        account = _passed(account, course, candle, fees)
        for payment in course.payments:
            if candle.time < payment.time <= end:
                account = funded(account, course.symbol, payment, payment.mark or candle.close)
        account = replace(account, settled_at={**account.settled_at, course.symbol: end})
    return account


def _passed(
    account: PaperAccount, course: MarketCourse, candle: Candle, fees: PaperFees
) -> PaperAccount:
    """One candle, the worst first: what opened was stopped where it may have been, then profits."""
    end = candle.time + course.seconds
    for progress in sorted(_waiting(account, course, candle), key=_worst_first):
        order = progress.order
        if not account.orders[order.client_id].is_open:
            continue
        expires = order.expires_seconds
        if expires is not None and candle.time >= progress.placed_at + expires:
            ended = replace(
                progress,
                state=OrderState.EXPIRED,
                reason="nobody traded through it in time",
                changed_at=progress.placed_at + expires,
            )
            account = replace(account, orders={**account.orders, order.client_id: ended})
            account = without_orphans(account, course.symbol, end)
            continue
        if order.reduce_only and account.position(course.symbol).quantity * order.side.sign >= 0:
            continue  # it waits for the order that opens what it protects
        if order.type is OrderType.STOP:
            account = _stopped(account, progress, course, candle, fees)
        elif order.type is OrderType.SLICED:
            account = _sliced(account, progress, course, candle, fees)
        elif _is_traded_through(progress, candle):
            quantity, price = min(progress.left, candle.volume), order.price or candle.close
            account = filled(account, progress, Execution(quantity, price, end, fees.maker))
    return account


def _waiting(
    account: PaperAccount, course: MarketCourse, candle: Candle
) -> Iterator[OrderProgress]:
    """Orders that were there before the candle began: what was traded earlier fills nobody."""
    for progress in account.open_orders(course.symbol):
        if progress.placed_at <= candle.time:
            yield progress


_WORST_FIRST = (OrderType.MAKER, OrderType.STOP, OrderType.TAKE_PROFIT, OrderType.SLICED)


def _worst_first(progress: OrderProgress) -> tuple[int, str]:
    return _WORST_FIRST.index(progress.order.type), progress.order.client_id


def _is_traded_through(progress: OrderProgress, candle: Candle) -> bool:
    """Beyond the price, not only at it: at it there is a queue, and nobody knows one's place."""
    price = progress.order.price
    if price is None:
        return False
    return candle.low < price if progress.order.side is OrderSide.BUY else candle.high > price


def _stopped(
    account: PaperAccount,
    progress: OrderProgress,
    course: MarketCourse,
    candle: Candle,
    fees: PaperFees,
) -> PaperAccount:
    order, stop = progress.order, progress.order.price or 0.0
    buying = order.side is OrderSide.BUY
    if not (candle.high >= stop if buying else candle.low <= stop):
        return account
    # A market that opened beyond the stop was never at it.
    reached = max(stop, candle.open) if buying else min(stop, candle.open)
    price = reached * (1 + order.side.sign * course.slippage)
    end = candle.time + course.seconds
    return filled(account, progress, Execution(progress.left, price, end, fees.taker))


def _sliced(
    account: PaperAccount,
    progress: OrderProgress,
    course: MarketCourse,
    candle: Candle,
    fees: PaperFees,
) -> PaperAccount:
    order, end = progress.order, candle.time + course.seconds
    part = order.quantity / order.slices
    due = min(int((end - progress.placed_at) // max(order.slice_seconds, 1)) + 1, order.slices)
    quantity = min(due * part - progress.filled, progress.left, candle.volume)
    if quantity <= 0:
        return account
    price = candle.close * (1 + order.side.sign * course.slippage)
    return filled(account, progress, Execution(quantity, price, end, fees.taker))


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
