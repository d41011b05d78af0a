"""A venue's stream of an account's orders, used as a bell: what it tells is never believed.

Whoever hears it looks at the venue. So an event that is forged, doubled or late causes a look and
nothing else, and one that is lost is made good by the next look, which the clock brings anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from chain.base.errors import error_kind
from chain.exchange.orders.ccxt_client import ccxt_errors, open_client
from chain.exchange.orders.venue import TellsOfOrders, VenueKeys
from chain.prices.market_http import MarketError

if TYPE_CHECKING:
    from chain.exchange.orders.engine import Sleep
    from chain.exchange.orders.venue import Venue

_FIRST_REST, _LONGEST_REST = 1.0, 60.0
"""Before a stream that broke is opened again; twice as long each time, until it tells something."""


class CcxtOrderStream:
    """Opened when it is first waited for, and anew after it broke."""

    def __init__(
        self,
        exchange: str,
        keys: VenueKeys | None = None,
        *,
        base_url: str | None = None,
        socket_url: str | None = None,
        options: Mapping[str, object] | None = None,
        asked: Mapping[str, object] | None = None,
    ) -> None:
        self._exchange = exchange
        self._keys = keys
        self._urls = {"base_url": base_url, "socket_url": socket_url}
        self._options = options
        self._asked = dict(asked or {})
        self._client: Any = None
        self._timers: list[asyncio.TimerHandle] = []

    async def event(self) -> None:
        """Until the venue tells of an order; MarketError where the stream broke."""
        try:
            if self._client is None:
                self._client = self._opened()
            await self._client.watch_orders(params=self._asked)
        except Exception as error:
            # Whatever came in, and whatever ccxt made of it: the look does not depend on it.
            await self.close()
            raise MarketError(f"the stream of orders broke ({error_kind(error)})") from None

    async def close(self) -> None:
        client, self._client = self._client, None
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        if client is not None:
            # First what carries the stream: a venue that is gone answers no farewell.
            if client.session is not None:
                await client.session.close()
            await client.close()

    def _opened(self) -> Any:  # noqa: ANN401 - ccxt's classes have no types
        client = open_client(
            self._exchange, self._keys, **self._urls, options=self._options, streams=True
        )
        broken = ccxt_errors().NetworkError
        read, spawn = client.handle_message, client.spawn

        def handle(socket: Any, message: object) -> None:  # noqa: ANN401
            try:
                read(socket, message)
            except Exception as error:
                # Raised in the loop's own callback it would be printed, and the stream be deaf.
                socket.reject(broken(error_kind(error)))

        def delay(milliseconds: float, work: object, *given: object) -> None:
            # ccxt renews its key for the stream later on, also after that was closed.
            loop = asyncio.get_running_loop()
            self._timers.append(loop.call_later(milliseconds / 1000, spawn, work, *given))

        client.handle_message, client.delay = handle, delay
        return client


@asynccontextmanager
async def order_bell(venue: Venue, sleep: Sleep = asyncio.sleep) -> AsyncIterator[asyncio.Event]:
    """Set whenever there is a reason to look; never where the venue has no stream.

    However many events come while somebody looks, they cause one more look.
    """
    rung = asyncio.Event()
    if not (venue.abilities.streams and isinstance(venue, TellsOfOrders)):
        yield rung
        return
    listening = asyncio.create_task(_listen(venue, rung, sleep), name="stream of orders")
    try:
        yield rung
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _listen(venue: TellsOfOrders, rung: asyncio.Event, sleep: Sleep) -> None:
    rest = _FIRST_REST
    while True:
        try:
            await venue.order_stream.event()
            rest = _FIRST_REST
        except MarketError:
            await sleep(rest)
            rest = min(2 * rest, _LONGEST_REST)
        # Also after it broke: nobody knows what it did not tell.
        rung.set()
