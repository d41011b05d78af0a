"""An order book: what an order would do to it, and one kept by the changes that a venue streams."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from msgspec import Struct

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


class StreamGapError(Exception):
    """A change is missing: what is known of the book may be wrong, and is let go."""


class BookSnapshot(Struct, frozen=True):
    """The whole book after a change, by that change's number."""

    last: int
    book: OrderBook


class BookChange(NamedTuple):
    """New quantities at some prices; 0 takes a price away."""

    first: int
    last: int
    before: int
    """The last number of the change before it."""
    time: float
    bids: tuple[BookLevel, ...]
    asks: tuple[BookLevel, ...]


class StreamedBook:
    """Right after every change that it took, by the venue's own numbering."""

    def __init__(self, snapshot: BookSnapshot) -> None:
        self._snapshot = snapshot.last
        self._last: int | None = None
        self._time = snapshot.book.time
        self._bids = {bid.price: bid.quantity for bid in snapshot.book.bids}
        self._asks = {ask.price: ask.quantity for ask in snapshot.book.asks}

    @property
    def is_joined(self) -> bool:
        """Whether the stream has reached the snapshot."""
        return self._last is not None

    def apply(self, change: BookChange) -> None:
        """Raises StreamGapError where a change is missing before this one."""
        if self._last is None:
            if change.last < self._snapshot:
                return
            if change.first > self._snapshot and change.before != self._snapshot:
                raise StreamGapError("the stream begins after the snapshot")
        elif change.last <= self._last:
            # Sent twice.
            return
        elif change.before != self._last:
            raise StreamGapError(f"{change.before - self._last} changes are missing")
        self._last, self._time = change.last, change.time
        for known, levels in ((self._bids, change.bids), (self._asks, change.asks)):
            for price, quantity in levels:
                if quantity:
                    known[price] = quantity
                else:
                    known.pop(price, None)

    def book(self, levels: int) -> OrderBook:
        """Raises StreamGapError where it cannot be right."""
        bids = tuple(BookLevel(*row) for row in sorted(self._bids.items(), reverse=True))
        asks = tuple(BookLevel(*row) for row in sorted(self._asks.items()))
        if bids and asks and bids[0].price >= asks[0].price:
            raise StreamGapError("its sides overlap")
        return OrderBook(self._time, tuple(islice(bids, levels)), tuple(islice(asks, levels)))
