"""What an order would do to a book: the average price, the cost, and what found no counterpart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from chain.exchange.public.market import BookLevel, OrderBook

BASIS_POINTS = 10_000


class BookWalk(Struct, frozen=True):
    """An order taken from the best level on until it is filled, or the book or its limit ends."""

    filled: float
    average: float | None
    """None where nothing was filled."""
    last: float | None
    """The worst price that was taken."""
    unfilled: float

    @property
    def insufficient_depth(self) -> bool:
        return self.unfilled > 0


def walk_levels(levels: Sequence[BookLevel], quantity: float) -> BookWalk:
    left, spent, filled, last = quantity, 0.0, 0.0, None
    for level in levels:
        if left <= 0:
            break
        taken = min(left, level.quantity)
        spent += taken * level.price
        filled += taken
        left -= taken
        last = level.price
    return BookWalk(filled, spent / filled if filled else None, last, max(left, 0.0))


def walk_book(
    book: OrderBook, *, buy: bool, quantity: float, limit: float | None = None
) -> BookWalk:
    """Take so many coins from the other side, at no price that is worse than the limit."""
    levels = book.asks if buy else book.bids
    if limit is not None:
        levels = tuple(level for level in levels if not _is_worse(level.price, limit, buying=buy))
    return walk_levels(levels, quantity)


def slippage_bips(book: OrderBook, *, buy: bool, dollars: float) -> float | None:
    """How far the average is from the middle; None where the book does not hold that much."""
    middle = mid_price(book)
    if middle is None:
        return None
    done = walk_book(book, buy=buy, quantity=dollars / middle)
    if done.average is None or done.insufficient_depth:
        return None
    return abs(done.average / middle - 1) * BASIS_POINTS


def imbalance(book: OrderBook, levels: int) -> float | None:
    """From −1, only sellers rest, to 1, only buyers; None for an empty book."""
    bids = sum(level.quantity for level in book.bids[:levels])
    asks = sum(level.quantity for level in book.asks[:levels])
    return None if bids + asks <= 0 else (bids - asks) / (bids + asks)


def mid_price(book: OrderBook) -> float | None:
    if not book.bids or not book.asks:
        return None
    return (book.bids[0].price + book.asks[0].price) / 2


def spread_bips(book: OrderBook) -> float | None:
    middle = mid_price(book)
    if middle is None:
        return None
    return (book.asks[0].price - book.bids[0].price) / middle * BASIS_POINTS


def _is_worse(price: float, limit: float, *, buying: bool) -> bool:
    return price > limit if buying else price < limit
