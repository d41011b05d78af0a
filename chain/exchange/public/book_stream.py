"""Binance's stream of a book: a gap, an end or silence is noticed, and the book is built anew.

While it is built anew nobody is told a book: what cannot be known to be right is unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.http import web_socket
from chain.base.strict_json import InvalidJsonError, loads
from chain.exchange.public.book import BookChange, BookSnapshot, StreamedBook, StreamGapError
from chain.exchange.public.market import BookLevel, OrderBook, VenueAnswer
from chain.prices.market_http import MarketError

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection


STREAM_URL = "wss://fstream.binance.com"
_LARGEST_MESSAGE = 4_000_000
_NOT_YET = "its stream has told no book yet"


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

    async def known(self) -> None:
        """Until there is a book."""
        await self._known.wait()

    def built(self, streamed: StreamedBook) -> None:
        self._streamed = streamed
        self.rebuilt += 1
        self.heard()
        self._known.set()

    def heard(self) -> None:
        self._heard_at = _now()

    def lost(self, why: str) -> None:
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
    async def following(self, symbol: str) -> AsyncIterator[LiveBook]:
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
                async with self._connection(symbol) as socket:
                    await self._keep(symbol, socket, live)
            except TimeoutError:
                why = "its stream has fallen silent"
            except (MarketError, StreamGapError) as error:
                why = str(error)
            except InvalidJsonError:
                why = "its stream cannot be read"
            except (OSError, WebSocketException):
                pass
            live.lost(why)
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
                    live.heard()
                    if streamed.is_joined and not told:
                        live.built(streamed)
                        told = True
            except StreamGapError as gap:
                live.lost(str(gap))
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

    def _connection(self, symbol: str) -> AbstractAsyncContextManager[ClientConnection]:
        return web_socket(
            f"{self._url}/stream?streams={symbol.lower()}@depth@100ms",
            connect_seconds=self._limits.connect_seconds,
            most_bytes=_LARGEST_MESSAGE,
        )


def _now() -> float:
    return asyncio.get_running_loop().time()
