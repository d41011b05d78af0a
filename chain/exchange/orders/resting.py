"""Where an order that only rests is placed, when the market has moved since it was approved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.exchange.orders.order import OrderSide, OrderType, VenueOrder

if TYPE_CHECKING:
    from chain.exchange.public.market import OrderBook


def resting(order: VenueOrder, book: OrderBook) -> VenueOrder:
    """A maker whose price the market has passed rests at its own side's best price: a better one.

    Unchanged where nothing rests on its own side: then nobody can tell what would rest.
    """
    if order.type is not OrderType.MAKER or order.price is None or not would_take(order, book):
        return order
    own = book.bids if order.side is OrderSide.BUY else book.asks
    return replace(order, price=own[0].price) if own else order


def would_take(order: VenueOrder, book: OrderBook) -> bool:
    others = book.asks if order.side is OrderSide.BUY else book.bids
    if not others or order.price is None:
        return False
    return (order.price - others[0].price) * order.side.sign >= 0
