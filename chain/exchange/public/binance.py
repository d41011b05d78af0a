"""Binance's USD-margined futures, as far as they are public: candles, book, funding, open interest.

The embedded chain's exchange and any server of the same shapes are read with the same client.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from chain.base.http import ClosedAtEnd, HttpLimits, web_socket
from chain.base.strict_json import InvalidJsonError, loads
from chain.exchange.public import market
from chain.exchange.public.book import BookChange, BookSnapshot, StreamedBook, StreamGapError
from chain.exchange.public.market import BookLevel, OrderBook, VenueAnswer
from chain.prices.market_http import MARKET_LIMITS, MarketError, MarketHttp

SOURCE = "Binance"
BASE_URL = "https://fapi.binance.com"

CandleInterval = Literal["1m", "15m", "1h", "4h", "1d"]
INTERVAL_SECONDS: dict[CandleInterval, int] = {
    "1m": 60,
    "15m": 900,
    "1h": 3_600,
    "4h": 14_400,
    "1d": 86_400,
}
_KLINE_FIELDS = 12
_FUNDING_HOURS = 8.0
MOST_CANDLES = 1_000
MOST_LEVELS = 1_000


class ExchangeAddress(Struct, frozen=True):
    """Where a venue is reached, and what it is called."""

    base_url: str = BASE_URL
    name: str = SOURCE
    limits: HttpLimits = MARKET_LIMITS


class BinancePublic(ClosedAtEnd):
    """Each question raises `MarketError`, with a phrase that can stand after "unknown:"."""

    def __init__(
        self, address: ExchangeAddress | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        address = address or ExchangeAddress()
        self.name = address.name
        self._http = MarketHttp(address.base_url, {}, name=address.name, limits=address.limits)
        self._clock = clock
        self._read = market.VenueAnswer(address.name)
        self._hours: dict[str, float] | None = None

    async def close(self) -> None:
        await self._http.close()

    async def time(self) -> float:
        """The venue's own clock."""
        answer = self._read.mapping(await self._get("/fapi/v1/time"), "time")
        return self._read.seconds(answer.get("serverTime"), "time")

    async def rules(self, symbol: str) -> market.ContractRules:
        answer = self._read.mapping(await self._get("/fapi/v1/exchangeInfo"), "list of contracts")
        for entry in self._read.rows(answer.get("symbols"), "list of contracts"):
            if isinstance(entry, dict) and entry.get("symbol") == symbol:
                return self._contract(symbol, entry)
        raise market.NoContractError(f"{self.name} trades no {symbol}")

    async def candles(
        self, symbol: str, interval: CandleInterval, *, count: int, since: int | None = None
    ) -> tuple[market.Candle, ...]:
        """The newest so many, or the first so many since a time; the last may still be traded."""
        start = {} if since is None else {"startTime": str(since * 1000)}
        rows = self._read.rows(
            await self._get(
                "/fapi/v1/klines",
                symbol=symbol,
                interval=interval,
                limit=str(min(count, MOST_CANDLES)),
                **start,
            ),
            "candles",
        )
        candles = tuple(self._candle(row) for row in rows)
        if any(before.time >= after.time for before, after in pairwise(candles)):
            raise self._read.wrong("order of candles")
        return candles

    async def book(self, symbol: str, *, levels: int = 100) -> market.OrderBook:
        return (await self.snapshot(symbol, levels=levels)).book

    async def snapshot(self, symbol: str, *, levels: int = MOST_LEVELS) -> BookSnapshot:
        """The book with the number of the change that it stands at."""
        answer = self._read.mapping(
            await self._get("/fapi/v1/depth", symbol=symbol, limit=str(levels)), "book"
        )
        bids, asks = self._levels(answer.get("bids")), self._levels(answer.get("asks"))
        ordered = all(level.price > next_.price for level, next_ in pairwise(bids)) and all(
            level.price < next_.price for level, next_ in pairwise(asks)
        )
        if not ordered or (bids and asks and bids[0].price >= asks[0].price):
            raise self._read.wrong("book")
        book = market.OrderBook(self._read.seconds(answer.get("T"), "book's time"), bids, asks)
        return BookSnapshot(int(self._read.positive(answer.get("lastUpdateId"), "book")), book)

    async def funding(self, symbol: str) -> market.FundingState:
        answer = self._read.mapping(await self._get("/fapi/v1/premiumIndex", symbol=symbol), "mark")
        return market.FundingState(
            time=self._read.seconds(answer.get("time"), "mark's time"),
            mark=self._read.positive(answer.get("markPrice"), "mark"),
            index=self._read.positive(answer.get("indexPrice"), "index"),
            rate=self._read.number(answer.get("lastFundingRate"), "funding rate"),
            interval_hours=(await self._intervals()).get(symbol, _FUNDING_HOURS),
        )

    async def _intervals(self) -> dict[str, float]:
        """Of contracts that are not funded at the usual times, asked for once."""
        if self._hours is None:
            what = "funding interval"
            rows = self._read.rows(await self._get("/fapi/v1/fundingInfo"), what)
            entries = [self._read.mapping(row, what) for row in rows]
            self._hours = {
                str(entry.get("symbol")): self._read.positive(
                    entry.get("fundingIntervalHours"), what
                )
                for entry in entries
            }
        return self._hours

    async def payments(self, symbol: str, *, since: int) -> tuple[market.FundingPayment, ...]:
        """What was paid since a time, the oldest first."""
        rows = self._read.rows(
            await self._get(
                "/fapi/v1/fundingRate", symbol=symbol, startTime=str(since * 1000), limit="1000"
            ),
            "funding history",
        )
        return tuple(sorted(map(self._payment, rows)))

    async def open_interest(
        self, symbol: str, *, hours: int
    ) -> tuple[market.OpenInterestPoint, ...]:
        """By the hour, the oldest first."""
        rows = self._read.rows(
            await self._get(
                "/futures/data/openInterestHist", symbol=symbol, period="1h", limit=str(hours)
            ),
            "open interest",
        )
        return tuple(sorted(map(self._interest, rows)))

    async def _get(self, path: str, **parameters: str) -> object:
        return await self._http.get(path, parameters, now=self._clock())

    def _contract(self, symbol: str, entry: dict[str, object]) -> market.ContractRules:
        filters = {
            row.get("filterType"): row
            for row in self._read.rows(entry.get("filters"), "contract")
            if isinstance(row, dict)
        }

        def step(name: str, field: str) -> float:
            return self._read.positive(filters.get(name, {}).get(field), f"contract {symbol}")

        def limit(name: str, field: str, default: float) -> float:
            """0 is Binance's way to say that there is none."""
            value = filters.get(name, {}).get(field, "0")
            return self._read.amount(value, f"contract {symbol}") or default

        return market.ContractRules(
            symbol,
            price_step=step("PRICE_FILTER", "tickSize"),
            quantity_step=step("LOT_SIZE", "stepSize"),
            least_notional=step("MIN_NOTIONAL", "notional"),
            market_step=limit("MARKET_LOT_SIZE", "stepSize", step("LOT_SIZE", "stepSize")),
            least_quantity=limit("LOT_SIZE", "minQty", 0.0),
            most_quantity=limit("LOT_SIZE", "maxQty", inf),
            market_most=limit("MARKET_LOT_SIZE", "maxQty", inf),
            least_price=limit("PRICE_FILTER", "minPrice", 0.0),
            most_price=limit("PRICE_FILTER", "maxPrice", inf),
        )

    def _candle(self, row: object) -> market.Candle:
        fields = self._read.rows(row, "candle")
        if len(fields) < _KLINE_FIELDS:
            raise self._read.wrong("candle")
        low, high = (self._read.positive(fields[place], "candle") for place in (3, 2))
        candle = market.Candle(
            time=int(self._read.seconds(fields[0], "candle's time")),
            open=self._read.positive(fields[1], "candle"),
            high=high,
            low=low,
            close=self._read.positive(fields[4], "candle"),
            volume=self._read.amount(fields[5], "candle"),
            taker_buy=self._read.amount(fields[9], "candle"),
        )
        inside = low <= min(candle.open, candle.close) and max(candle.open, candle.close) <= high
        if not inside or candle.taker_buy > candle.volume:
            raise self._read.wrong("candle")
        return candle

    def _levels(self, value: object) -> tuple[market.BookLevel, ...]:
        levels = []
        for row in self._read.rows(value, "book"):
            match row:
                case [price, quantity]:
                    levels.append(
                        market.BookLevel(
                            self._read.positive(price, "book"), self._read.amount(quantity, "book")
                        )
                    )
                case _:
                    raise self._read.wrong("book")
        return tuple(levels)

    def _payment(self, row: object) -> market.FundingPayment:
        entry = self._read.mapping(row, "funding history")
        mark = entry.get("markPrice")
        return market.FundingPayment(
            int(self._read.seconds(entry.get("fundingTime"), "funding history")),
            self._read.number(entry.get("fundingRate"), "funding history"),
            None if mark in (None, "") else self._read.positive(mark, "funding history"),
        )

    def _interest(self, row: object) -> market.OpenInterestPoint:
        entry = self._read.mapping(row, "open interest")
        return market.OpenInterestPoint(
            int(self._read.seconds(entry.get("timestamp"), "open interest")),
            self._read.amount(entry.get("sumOpenInterest"), "open interest"),
        )


# While it is built anew nobody is told a book: what cannot be known to be right is unknown.
if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection


STREAM_URL = "wss://fstream.binance.com"
_LARGEST_MESSAGE = 4_000_000
_NOT_YET = "its stream has sent no book yet"


class StreamLimits(Struct, frozen=True):
    connect_seconds: float = 3.0
    silent_seconds: float = 5.0
    """A book changes many times a second: one that does not is cut off."""
    rest_seconds: float = 0.5
    """Before the stream is opened, or the snapshot asked for, again."""


class LiveBook:
    """One contract's book as the stream has it now; None where that is not known."""

    def __init__(self, name: str, limits: StreamLimits) -> None:
        self._name = name
        self._limits = limits
        self._streamed: StreamedBook | None = None
        self._why = _NOT_YET
        self._heard_at = 0.0
        self._known = asyncio.Event()
        self.rebuilt = 0
        """How often it was built from a snapshot."""

    def book(self, levels: int) -> OrderBook:
        """Raises MarketError while it is not known to be right."""
        silent = _now() - self._heard_at
        if self._streamed is None or silent > self._limits.silent_seconds:
            why = self._why if self._streamed is None else "its stream has fallen silent"
            raise MarketError(f"{self._name}'s book is unknown: {why}")
        try:
            return self._streamed.book(levels)
        except StreamGapError as error:
            raise MarketError(f"{self._name}'s book is unknown: {error}") from None

    async def wait_for_book(self) -> None:
        """Until there is a book."""
        await self._known.wait()

    def rebuild(self, streamed: StreamedBook) -> None:
        self._streamed = streamed
        self.rebuilt += 1
        self.mark_heard()
        self._known.set()

    def mark_heard(self) -> None:
        self._heard_at = _now()

    def mark_lost(self, why: str) -> None:
        self._streamed, self._why = None, why
        self._known.clear()


class BookStream:
    def __init__(
        self,
        name: str,
        snapshot: Callable[[str], Awaitable[BookSnapshot]],
        *,
        url: str = STREAM_URL,
        limits: StreamLimits | None = None,
    ) -> None:
        """`snapshot` asks the venue for a whole book of a contract."""
        self._name = name
        self._snapshot = snapshot
        self._url = url.rstrip("/")
        self._limits = limits or StreamLimits()
        self._read = VenueAnswer(name)

    @asynccontextmanager
    async def follow_book(self, symbol: str) -> AsyncIterator[LiveBook]:
        live = LiveBook(self._name, self._limits)
        task = asyncio.create_task(self._follow(symbol, live), name=f"book of {symbol}")
        try:
            yield live
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _follow(self, symbol: str, live: LiveBook) -> None:
        """Until cancelled; whatever breaks is let go of and begun again."""
        from websockets.exceptions import WebSocketException

        while True:
            why = "its stream has ended"
            try:
                async with web_socket(
                    f"{self._url}/stream?streams={symbol.lower()}@depth@100ms",
                    connect_seconds=self._limits.connect_seconds,
                    most_bytes=_LARGEST_MESSAGE,
                ) as socket:
                    await self._keep(symbol, socket, live)
            except TimeoutError:
                why = "its stream has fallen silent"
            except (MarketError, StreamGapError) as error:
                why = str(error)
            except InvalidJsonError:
                why = "its stream cannot be read"
            except (OSError, WebSocketException):
                pass
            live.mark_lost(why)
            await asyncio.sleep(self._limits.rest_seconds)

    async def _keep(self, symbol: str, socket: ClientConnection, live: LiveBook) -> None:
        """As long as the stream lasts; a gap is mended by another snapshot of the same stream."""
        while True:
            # The snapshot comes after a change, so that changes reach back to it.
            waiting = [await self._change(socket)]
            streamed = StreamedBook(await self._snapshot(symbol))
            told = False
            try:
                while True:
                    streamed.apply(waiting.pop() if waiting else await self._change(socket))
                    live.mark_heard()
                    if streamed.is_joined and not told:
                        live.rebuild(streamed)
                        told = True
            except StreamGapError as gap:
                live.mark_lost(str(gap))
                await asyncio.sleep(self._limits.rest_seconds)

    async def _change(self, socket: ClientConnection) -> BookChange:
        async with asyncio.timeout(self._limits.silent_seconds):
            message = await socket.recv(decode=False)
        entry = self._read.mapping(loads(message), "change")
        told = self._read.mapping(entry.get("data", entry), "change")
        first, last, before = (self._number(told.get(name)) for name in ("U", "u", "pu"))
        return BookChange(
            first,
            last,
            before,
            self._read.seconds(told.get("T") or told.get("E"), "change"),
            self._levels(told.get("b")),
            self._levels(told.get("a")),
        )

    def _number(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._read.wrong("change's number")
        return value

    def _levels(self, value: object) -> tuple[BookLevel, ...]:
        found = []
        for row in self._read.rows(value, "change"):
            match row:
                case [price, quantity]:
                    found.append(
                        BookLevel(
                            self._read.positive(price, "change"),
                            self._read.amount(quantity, "change"),
                        )
                    )
                case _:
                    raise self._read.wrong("change")
        return tuple(found)


def _now() -> float:
    return asyncio.get_running_loop().time()
