"""Spot orders in Upbit's shapes: won instead of dollars, bids and asks, names of one's own."""

from __future__ import annotations

from datetime import datetime
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType, VenueOrder

if TYPE_CHECKING:
    from chain.exchange.public.fields import VenueAnswer

DOLLAR = "KRW-USDT"
"""The venue's own price of a dollar coin, in won."""
_AT_ANY_PRICE = 0.005
"""How far above the best offer a purchase at any price goes: nothing there buys coins by count."""
_DUST = 1e-9
_STATES = {
    "wait": OrderState.OPEN,
    "watch": OrderState.OPEN,
    "done": OrderState.FILLED,
    "cancel": OrderState.CANCELLED,
}


def spot_market(symbol: str) -> str:
    """A dollar contract's coin against won."""
    return f"KRW-{symbol.removesuffix('USDT')}"


def refusal(order: VenueOrder) -> str:
    """Why spot cannot take it; empty where it can."""
    if order.side is OrderSide.SELL and not order.reduce_only:
        return "Upbit is spot: only what is held can be sold"
    if order.side is OrderSide.BUY and order.reduce_only:
        return "Upbit is spot: nothing is short there"
    if order.type is OrderType.STOP:
        return "Upbit keeps no stops"
    if order.type is OrderType.MAKER:
        return "no resting order of Upbit ends by itself"
    return ""


def order_request(
    order: VenueOrder, quantity: float, won: float, step: float, best: float
) -> dict[str, Any]:
    """As Upbit takes it: `won` for a dollar, prices in whole steps, never worse than asked for."""
    asked: dict[str, Any] = {
        "market": spot_market(order.symbol),
        "side": "bid" if order.side is OrderSide.BUY else "ask",
        "volume": f"{quantity:.8f}",
        "identifier": order.client_id,
    }
    if order.price is None and order.side is OrderSide.SELL:
        return {**asked, "ord_type": "market"}
    limit = best * (1 + _AT_ANY_PRICE) if order.price is None else order.price * won
    rounded = (floor if order.side is OrderSide.BUY else ceil)(limit / step) * step
    asked |= {"ord_type": "limit", "price": f"{rounded:.8f}".rstrip("0").rstrip(".")}
    return asked if order.type is OrderType.TAKE_PROFIT else {**asked, "time_in_force": "ioc"}


def progress_of(
    read: VenueAnswer, order: VenueOrder, entry: dict[str, object], won: float
) -> OrderProgress:
    """How far it has come, in dollars at the won of now."""
    filled = read.amount(entry.get("executed_volume") or "0", "order")
    trades = [read.mapping(one, "trade") for one in read.rows(entry.get("trades") or [], "trades")]
    volume = sum(read.amount(one.get("volume"), "trade") for one in trades)
    funds = sum(read.amount(one.get("funds"), "trade") for one in trades)
    state = _state(read, entry)
    if state is OrderState.CANCELLED and order.quantity - filled <= _DUST:
        state = OrderState.FILLED
    times = [_seconds(read, one.get("created_at")) for one in (entry, *trades)]
    return OrderProgress(
        order=order,
        state=state,
        placed_at=times[0],
        filled=filled,
        average=funds / volume / won if volume else None,
        fees=read.amount(entry.get("paid_fee") or "0", "order") / won,
        changed_at=max(times),
        reason="the venue: cancelled" if state is OrderState.CANCELLED else "",
    )


def seen_order(read: VenueAnswer, entry: dict[str, object], won: float) -> OrderProgress:
    """An order that rests, whoever has sent it; what sells only reduces."""
    price = read.amount(entry.get("price") or "0", "order") / won
    sells = entry.get("side") == "ask"
    order = VenueOrder(
        client_id=str(entry.get("identifier") or entry.get("uuid")),
        symbol=f"{str(entry.get('market')).removeprefix('KRW-')}USDT",
        side=OrderSide.SELL if sells else OrderSide.BUY,
        type=OrderType.MAKER if price else OrderType.MARKET,
        quantity=read.positive(entry.get("volume"), "order"),
        price=price or None,
        reduce_only=sells,
    )
    return progress_of(read, order, entry, won)


def _state(read: VenueAnswer, entry: dict[str, object]) -> OrderState:
    state = _STATES.get(str(entry.get("state")))
    if state is None:
        raise read.wrong("order's state")
    return state


def _seconds(read: VenueAnswer, value: object) -> float:
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        raise read.wrong("order's time") from None
