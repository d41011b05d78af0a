"""Orders in Binance's shapes: how they are asked for, and how they are read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType, VenueOrder

if TYPE_CHECKING:
    from chain.exchange.public.fields import VenueAnswer

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
