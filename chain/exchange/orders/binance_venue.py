"""Binance's USD-margined futures as a venue: orders with names of their own, sent once.

Stops and profits rest on the venue and only reduce.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chain.exchange.orders.ccxt_client import (
    BETWEEN_LOOKS,
    RECEIVE_MILLISECONDS,
    CcxtAsking,
    NotThereError,
    VenueKeys,
    open_client,
    refused,
)
from chain.exchange.orders.order import (
    OrderProgress,
    OrderSide,
    OrderState,
    OrderType,
    PerpetualPosition,
    VenueOrder,
    market_parts,
    resting,
    would_take,
)
from chain.exchange.orders.venue import VenueAccount
from chain.exchange.public.market import VenueAnswer

if TYPE_CHECKING:
    from chain.exchange.public.binance import BinancePublic

FUTURES = {"defaultType": "swap", "fetchMarkets": {"types": ["linear"]}}
CONDITIONAL = frozenset({OrderType.STOP, OrderType.TAKE_PROFIT})
"""They wait apart from the book until their price is reached."""
_LEAST_GOOD_SECONDS = 610
"""A little over what the venue takes as the shortest life of an order."""

_STATES = {
    "NEW": OrderState.OPEN,
    "PARTIALLY_FILLED": OrderState.OPEN,
    "TRIGGERING": OrderState.OPEN,
    "TRIGGERED": OrderState.OPEN,
    "FILLED": OrderState.FILLED,
    "FINISHED": OrderState.FILLED,
    "CANCELED": OrderState.CANCELLED,
    "EXPIRED": OrderState.EXPIRED,
    "EXPIRED_IN_MATCH": OrderState.EXPIRED,
    "REJECTED": OrderState.REFUSED,
}
_TYPES = {
    "LIMIT": OrderType.MAKER,
    "MARKET": OrderType.MARKET,
    "STOP": OrderType.STOP,
    "STOP_MARKET": OrderType.STOP,
    "TAKE_PROFIT": OrderType.TAKE_PROFIT,
    "TAKE_PROFIT_MARKET": OrderType.TAKE_PROFIT,
}


def order_request(order: VenueOrder, now: float) -> tuple[str, float | None, dict[str, Any]]:
    """Type, price and parameters, as ccxt takes them."""
    named: dict[str, Any] = {"clientOrderId": order.client_id}
    if order.reduce_only or order.type in CONDITIONAL:
        named["reduceOnly"] = True
    match order.type:
        case OrderType.MAKER:
            # It ends on the venue by itself, whether anybody looks or not.
            seconds = max(order.expires_seconds or 0, _LEAST_GOOD_SECONDS)
            until = int((now + seconds) * 1000)
            return "limit", order.price, {**named, "timeInForce": "GTD", "goodTillDate": until}
        case OrderType.LIMIT_TAKER:
            return "limit", order.price, {**named, "timeInForce": "IOC"}
        case OrderType.STOP:
            return "market", None, {**named, "stopLossPrice": order.price}
        case OrderType.TAKE_PROFIT:
            return "limit", order.price, {**named, "takeProfitPrice": order.price}
        case _:
            return "market", None, named


def progress_of(
    read: VenueAnswer, order: VenueOrder, entry: dict[str, object], fees: float
) -> OrderProgress:
    """How far it has come, by what the venue tells of it."""
    filled = read.amount(entry.get("executedQty", "0"), "order")
    average = read.amount(entry.get("avgPrice", "0"), "order")
    state = _state(read, entry)
    if state is OrderState.EXPIRED and order.type is OrderType.LIMIT_TAKER:
        state = OrderState.CANCELLED
    rests_at = read.amount(entry.get("price") or "0", "order")
    if order.type is OrderType.MAKER and rests_at:
        order = replace(order, price=rests_at)
    return OrderProgress(
        order=order,
        state=state,
        placed_at=_seconds(read, entry, "time", "createTime", "updateTime"),
        filled=filled,
        average=average if filled and average else None,
        fees=fees,
        changed_at=_seconds(read, entry, "updateTime", "time", "createTime"),
        reason="" if state in (OrderState.OPEN, OrderState.FILLED) else f"the venue: {state.value}",
    )


def seen_order(read: VenueAnswer, entry: dict[str, object]) -> OrderProgress:
    """An order that rests, whoever has sent it."""
    kind = _TYPES.get(str(entry.get("type") or entry.get("orderType")), OrderType.STOP)
    price = read.amount(entry.get("price") or "0", "order")
    trigger = read.amount(entry.get("triggerPrice") or entry.get("stopPrice") or "0", "order")
    order = VenueOrder(
        client_id=str(entry.get("clientOrderId") or entry.get("clientAlgoId")),
        symbol=str(entry.get("symbol")),
        side=OrderSide(str(entry.get("side")).lower()),
        type=kind,
        quantity=read.positive(entry.get("origQty") or entry.get("quantity"), "order"),
        price=None if kind is OrderType.MARKET else (price or trigger),
        reduce_only=entry.get("reduceOnly") in (True, "true"),
    )
    return progress_of(read, order, entry, 0.0)


def _state(read: VenueAnswer, entry: dict[str, object]) -> OrderState:
    told = entry.get("status") or entry.get("algoStatus")
    state = _STATES.get(str(told))
    if state is None:
        raise read.wrong("order's state")
    return state


def _seconds(read: VenueAnswer, entry: dict[str, object], *names: str) -> float:
    for name in names:
        value = entry.get(name)
        if value:
            return read.number(value, "order's time") / 1000
    raise read.wrong("order's time")


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
        between_looks: float = BETWEEN_LOOKS,
    ) -> None:
        self.name = name
        self._market = market
        self._read = VenueAnswer(market.name)
        self._client = open_client("binanceusdm", keys, base_url=base_url, options=FUTURES)
        self._ask = CcxtAsking(market.name, self._client, between_looks)

    async def close(self) -> None:
        await self._client.close()

    async def now(self) -> float:
        return await self._market.time()

    async def account(self) -> VenueAccount:
        held = self._read.mapping(
            await self._ask.read(self._client.fapiPrivateV3GetAccount), "account"
        )
        risks = await self._ask.read(self._client.fapiPrivateV3GetPositionRisk)
        waiting = await self._ask.read(self._client.fapiPrivateGetOpenOrders)
        conditional = await self._ask.read(self._client.fapiPrivateGetOpenAlgoOrders)
        orders = [
            *self._read.rows(waiting, "open orders"),
            *self._read.rows(conditional, "open orders"),
        ]
        return VenueAccount(
            self.name,
            await self.now(),
            self._read.number(held.get("totalMarginBalance"), "account"),
            tuple(
                position
                for position in map(self._position, self._read.rows(risks, "positions"))
                if position.quantity
            ),
            tuple(seen_order(self._read, self._read.mapping(order, "order")) for order in orders),
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
                return refused(order, "nothing rests on its side of the book", await self.now())
        await self._ask.read(self._client.load_markets)
        return await self._ask.sent(order, lambda: self._placed(order), self.find, self.now)

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        ask = (
            self._client.fapiPrivateGetAlgoOrder
            if order.type in CONDITIONAL
            else self._client.fapiPrivateGetOrder
        )
        try:
            seen = await self._ask.read(ask, self._named(order))
        except NotThereError:
            return None
        entry = self._read.mapping(seen, "order")
        if order.type in CONDITIONAL and entry.get("actualOrderId"):
            triggered = {"symbol": order.symbol, "orderId": entry["actualOrderId"]}
            entry = self._read.mapping(
                await self._ask.read(self._client.fapiPrivateGetOrder, triggered), "order"
            )
        fees = await self._fees(order, entry)
        return progress_of(self._read, order, entry, fees)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        drop = (
            self._client.fapiPrivateDeleteAlgoOrder
            if order.type in CONDITIONAL
            else self._client.fapiPrivateDeleteOrder
        )
        with suppress(NotThereError):
            await self._ask.read(drop, self._named(order))
        # It is cancelled now, or was filled or never there before: looking tells which.
        return await self.find(order)

    async def _placed(self, order: VenueOrder) -> object:
        kind, price, parameters = order_request(order, await self._market.time())
        return await self._client.create_order(
            order.symbol, kind, order.side.value, order.quantity, price, parameters
        )

    async def _fees(self, order: VenueOrder, entry: dict[str, object]) -> float:
        """Dollars, from the trades themselves; orders do not tell."""
        if not self._read.amount(entry.get("executedQty", "0"), "order"):
            return 0.0
        asked = {"symbol": order.symbol, "orderId": entry.get("orderId")}
        trades = await self._ask.read(self._client.fapiPrivateGetUserTrades, asked)
        return sum(
            self._read.number(self._read.mapping(row, "trade").get("commission"), "trade")
            for row in self._read.rows(trades, "trades")
        )

    async def _income(self, kind: str) -> float:
        """Of the days that the venue tells by itself."""
        asked = {"incomeType": kind, "limit": 1000}
        rows = self._read.rows(
            await self._ask.read(self._client.fapiPrivateGetIncome, asked), "income"
        )
        return sum(
            self._read.number(self._read.mapping(row, "income").get("income"), "income")
            for row in rows
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
