"""Orders of a venue: what is asked for, and how far it has come."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

CLIENT_ID = re.compile(r"[.A-Z:/a-z0-9_-]{1,36}")
"""What venues take as an order's own name; the same name twice is the same order."""


class OrderSide(StrEnum):
    BUY = "buy"
    SELL = "sell"

    @property
    def sign(self) -> int:
        return 1 if self is OrderSide.BUY else -1

    @property
    def opposite(self) -> OrderSide:
        return OrderSide.SELL if self is OrderSide.BUY else OrderSide.BUY


class OrderType(StrEnum):
    MAKER = "maker"
    """Rests at its price until it is traded through or expires; refused where it would take."""
    LIMIT_TAKER = "limit_taker"
    """Takes what rests up to its price; what is left is cancelled."""
    MARKET = "market"
    """Takes whatever rests, at any price."""
    SLICED = "sliced"
    """Takes equal parts, one after each interval."""
    STOP = "stop"
    """Takes at any price once its price is reached from the losing side."""
    TAKE_PROFIT = "take_profit"
    """Rests at its price on the winning side."""


class OrderState(StrEnum):
    OPEN = "open"
    FILLED = "filled"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REFUSED = "refused"


class VenueOrder(Struct, frozen=True, kw_only=True):
    client_id: str
    symbol: str
    side: OrderSide
    type: OrderType
    quantity: float
    price: float | None = None
    reduce_only: bool = False
    expires_seconds: int | None = None
    slices: int = 1
    slice_seconds: int = 0
    """Between two parts; of a part that is sent by itself, how long after the one before."""

    def __post_init__(self) -> None:
        if not CLIENT_ID.fullmatch(self.client_id):
            raise ValueError(f"{self.client_id!r} cannot name an order")
        if not self.quantity > 0 or (self.price is not None and not self.price > 0):
            raise ValueError("an order has a quantity above 0, and so has its price")
        if (self.price is None) != (self.type in (OrderType.MARKET, OrderType.SLICED)):
            raise ValueError(f"a {self.type} order has {'a' if self.price is None else 'no'} price")


class OrderProgress(Struct, frozen=True, kw_only=True):
    order: VenueOrder
    state: OrderState
    placed_at: float
    filled: float = 0.0
    average: float | None = None
    fees: float = 0.0
    """Dollars."""
    changed_at: float = 0.0
    reason: str = ""
    """Why it ended otherwise than filled."""

    @property
    def left(self) -> float:
        return max(self.order.quantity - self.filled, 0.0)

    @property
    def is_open(self) -> bool:
        return self.state is OrderState.OPEN


class PerpetualPosition(Struct, frozen=True):
    """What is held of one contract: above 0 is long, below 0 short."""

    symbol: str
    quantity: float
    entry: float
