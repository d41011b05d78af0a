"""An order book kept by the changes that a venue streams: each must follow the one before it."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from msgspec import Struct

from chain.exchange.public.market import BookLevel, OrderBook


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
        self._bids = {one.price: one.quantity for one in snapshot.book.bids}
        self._asks = {one.price: one.quantity for one in snapshot.book.asks}

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
