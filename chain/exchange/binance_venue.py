"""Binance's USD-margined futures as a venue: orders with names of their own, sent once.

Whatever the venue leaves unsaid is asked for by the order's name; what it refuses ends in one
sentence. Stops and profits rest on the venue and only reduce.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from chain.base.clean_text import clean_text
from chain.exchange.binance_orders import (
    CONDITIONAL,
    FUTURES,
    order_request,
    progress_of,
    seen_order,
)
from chain.exchange.ccxt_client import RECEIVE_MILLISECONDS, ccxt_errors, open_client
from chain.exchange.order import OrderProgress, OrderState, OrderType, PerpetualPosition
from chain.exchange.public.fields import VenueAnswer
from chain.exchange.resting import resting, would_take
from chain.exchange.slicing import market_parts
from chain.exchange.venue import OrderUnansweredError, VenueAccount
from chain.prices.market_http import MarketError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from chain.exchange.ccxt_client import VenueKeys
    from chain.exchange.order import VenueOrder
    from chain.exchange.public.binance import BinancePublic

_LOOKS = 3
"""How often an order is asked for that was sent and not answered."""
_BETWEEN_LOOKS = 0.5
_WORDS = 160
_REASONS = {
    "DDoSProtection": "the venue was asked too often and lets nobody in for a while",
    "InvalidNonce": "this machine's clock is off",
    "InsufficientFunds": "margin is insufficient",
    "AuthenticationError": "the keys are refused",
}


class BinanceVenue:
    """One account; every question raises `MarketError` where the venue cannot be understood."""

    late_seconds = 2 * RECEIVE_MILLISECONDS / 1000
    """An order that it has not got by then was refused on arrival."""

    def __init__(
        self,
        name: str,
        market: BinancePublic,
        keys: VenueKeys,
        *,
        base_url: str | None = None,
        between_looks: float = _BETWEEN_LOOKS,
    ) -> None:
        self.name = name
        self._market = market
        self._between_looks = between_looks
        self._read = VenueAnswer(market.name)
        self._errors = ccxt_errors()
        self._client = open_client("binanceusdm", keys, base_url=base_url, options=FUTURES)

    async def close(self) -> None:
        await self._client.close()

    async def now(self) -> float:
        return await self._market.time()

    async def account(self) -> VenueAccount:
        held = self._read.mapping(
            await self._asked(self._client.fapiPrivateV3GetAccount), "account"
        )
        risks = await self._asked(self._client.fapiPrivateV3GetPositionRisk)
        waiting = await self._asked(self._client.fapiPrivateGetOpenOrders)
        conditional = await self._asked(self._client.fapiPrivateGetOpenAlgoOrders)
        orders = [
            *self._read.rows(waiting, "open orders"),
            *self._read.rows(conditional, "open orders"),
        ]
        return VenueAccount(
            self.name,
            await self.now(),
            self._read.number(held.get("totalMarginBalance"), "account"),
            tuple(
                one
                for one in map(self._position, self._read.rows(risks, "positions"))
                if one.quantity
            ),
            tuple(seen_order(self._read, self._read.mapping(one, "order")) for one in orders),
            -await self._income("COMMISSION"),
            await self._income("FUNDING_FEE"),
        )

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        if order.type is not OrderType.SLICED:
            return (order,)
        mark = (await self._market.funding(order.symbol)).mark
        return market_parts(order, await self._market.rules(order.symbol), mark)

    async def submit(self, order: VenueOrder) -> OrderProgress:
        """Sent once; the same name twice is one order. Raises where nobody can tell."""
        if order.type is OrderType.MAKER:
            book = await self._market.book(order.symbol)
            order = resting(order, book)
            if would_take(order, book):
                return await self._refused(order, "nothing rests on its side of the book")
        await self._asked(self._client.load_markets)
        try:
            await self._placed(order)
        except self._errors.BaseError as error:
            if self._is_unsaid(error):
                return await self._after_silence(order, error)
            # A name that is known already is this order; whoever is shut out does not ask again.
            shut_out = isinstance(error, self._errors.DDoSProtection)
            known = None if shut_out else await self._look(order)
            return known or await self._refused(order, self._sentence(error))
        found = await self._look(order)
        return found or await self._after_silence(order, None)

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        ask = (
            self._client.fapiPrivateGetAlgoOrder
            if order.type in CONDITIONAL
            else self._client.fapiPrivateGetOrder
        )
        try:
            seen = await self._asked(ask, self._named(order))
        except _NotThereError:
            return None
        entry = self._read.mapping(seen, "order")
        if order.type in CONDITIONAL and entry.get("actualOrderId"):
            triggered = {"symbol": order.symbol, "orderId": entry["actualOrderId"]}
            entry = self._read.mapping(
                await self._asked(self._client.fapiPrivateGetOrder, triggered), "order"
            )
        fees = await self._fees(order, entry)
        return progress_of(self._read, order, entry, fees)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        drop = (
            self._client.fapiPrivateDeleteAlgoOrder
            if order.type in CONDITIONAL
            else self._client.fapiPrivateDeleteOrder
        )
        with suppress(_NotThereError):
            await self._asked(drop, self._named(order))
        # It is cancelled now, or was filled or never there before: looking tells which.
        return await self.find(order)

    async def _placed(self, order: VenueOrder) -> None:
        kind, price, parameters = order_request(order, await self._market.time())
        arguments = (order.symbol, kind, order.side.value, order.quantity, price, parameters)
        try:
            await self._client.create_order(*arguments)
        except self._errors.InvalidNonce:
            # Refused on arrival because of the clock: set by the venue's, it may come again.
            await self._client.load_time_difference()
            await self._client.create_order(*arguments)

    async def _after_silence(self, order: VenueOrder, error: Exception | None) -> OrderProgress:
        """The venue may have it or not: it is asked for by its name, and never sent again."""
        for _ in range(_LOOKS):
            await asyncio.sleep(self._between_looks)
            known = await self._look(order)
            if known is not None:
                return known
        why = "" if error is None else f" ({self._sentence(error)})"
        raise OrderUnansweredError(
            f"{self._market.name} did not say whether it has order {order.client_id}{why}. "
            "It is not sent again; see what became of it: zuno trade status"
        )

    async def _look(self, order: VenueOrder) -> OrderProgress | None:
        try:
            return await self.find(order)
        except MarketError:
            return None

    async def _refused(self, order: VenueOrder, reason: str) -> OrderProgress:
        now = await self.now()
        return OrderProgress(
            order=order,
            state=OrderState.REFUSED,
            placed_at=now,
            changed_at=now,
            reason=reason,
        )

    async def _fees(self, order: VenueOrder, entry: dict[str, object]) -> float:
        """Dollars, from the trades themselves; orders do not tell."""
        if not self._read.amount(entry.get("executedQty", "0"), "order"):
            return 0.0
        asked = {"symbol": order.symbol, "orderId": entry.get("orderId")}
        trades = await self._asked(self._client.fapiPrivateGetUserTrades, asked)
        return sum(
            self._read.number(self._read.mapping(one, "trade").get("commission"), "trade")
            for one in self._read.rows(trades, "trades")
        )

    async def _income(self, kind: str) -> float:
        """Of the days that the venue tells by itself."""
        asked = {"incomeType": kind, "limit": 1000}
        rows = self._read.rows(
            await self._asked(self._client.fapiPrivateGetIncome, asked), "income"
        )
        return sum(
            self._read.number(self._read.mapping(one, "income").get("income"), "income")
            for one in rows
        )

    def _position(self, row: object) -> PerpetualPosition:
        entry = self._read.mapping(row, "position")
        return PerpetualPosition(
            str(entry.get("symbol")),
            self._read.number(entry.get("positionAmt"), "position"),
            self._read.amount(entry.get("entryPrice"), "position"),
        )

    def _named(self, order: VenueOrder) -> dict[str, str]:
        if order.type in CONDITIONAL:
            return {"clientAlgoId": order.client_id}
        return {"symbol": order.symbol, "origClientOrderId": order.client_id}

    async def _asked(
        self, ask: Callable[..., Awaitable[Any]], parameters: dict[str, Any] | None = None
    ) -> Any:  # noqa: ANN401 - checked field by field by whoever reads it
        """What may be asked twice: it is, where the clock was wrong."""
        given = () if parameters is None else (parameters,)
        try:
            try:
                return await ask(*given)
            except self._errors.InvalidNonce:
                await self._client.load_time_difference()
                return await ask(*given)
        except self._errors.OrderNotFound:
            raise _NotThereError from None
        except self._errors.BaseError as error:
            raise MarketError(f"{self._market.name} answers {self._sentence(error)}") from None

    def _is_unsaid(self, error: Exception) -> bool:
        """Whether the order may have been taken all the same."""
        errors = self._errors
        told = (errors.DDoSProtection, errors.RateLimitExceeded, errors.InvalidNonce)
        unsaid = (errors.OperationFailed, errors.BadResponse)
        return isinstance(error, unsaid) and not isinstance(error, told)

    def _sentence(self, error: Exception) -> str:
        """Why, and what the venue said: clean, short and without anything of a request."""
        said = clean_text(str(error).removeprefix(f"{self._client.id} "), limit=_WORDS)
        said = said.partition("signature=")[0]
        for kind, words in _REASONS.items():
            if isinstance(error, getattr(self._errors, kind)):
                return f"{words} ({said})"
        return said


class _NotThereError(Exception):
    """The venue knows no order of this name."""
