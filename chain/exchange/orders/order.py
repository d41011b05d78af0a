"""Orders of a venue: what is asked for, how far it has come, resting and in slices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import StrEnum
from math import floor, inf

from msgspec import Struct
from msgspec.structs import replace

from chain.exchange.public.market import ContractRules, OrderBook

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
    finishes: bool = False
    """Takes at once what the order before it has not filled in its time, and no more than that."""

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
    def open_quantity(self) -> float:
        return max(self.order.quantity - self.filled, 0.0)

    @property
    def is_open(self) -> bool:
        return self.state is OrderState.OPEN


_ROUNDED = 1e-6
_FAR = 2.0
"""Times an order's price: what is said to be filled beyond that is no fill of it."""
_DEAR = 0.05
"""Of what was filled, more than any venue charges."""


def answer_fault(order: VenueOrder, answer: OrderProgress) -> str:
    """Why this cannot be what became of the order; empty where it can."""
    return next(_answer_faults(order, answer), "")


def _answer_faults(order: VenueOrder, answer: OrderProgress) -> Iterator[str]:
    told, filled, average, fees = answer.order, answer.filled, answer.average, answer.fees
    if (told.client_id, told.symbol, told.side) != (order.client_id, order.symbol, order.side):
        yield f"is of another order, {told.client_id}"
    if not 0 <= filled <= order.quantity * (1 + _ROUNDED):
        yield f"says {filled:g} of {order.quantity:g} is filled"
    if filled == 0 and answer.state is OrderState.FILLED:
        yield "says it is filled, with nothing"
    if filled > 0 and not 0 < (average or 0.0) < inf:
        yield "says it is filled, at no price"
    price = None if order.type in (OrderType.STOP, OrderType.TAKE_PROFIT) else order.price
    if filled > 0 and average and price and not 1 / _FAR < average / price < _FAR:
        yield f"says it was filled at {average:,.2f}, and its price is {price:,.2f}"
    if filled > 0 and average and not abs(fees) <= filled * average * _DEAR:
        yield f"says ${fees:,.2f} of fees were paid"


class PerpetualPosition(Struct, frozen=True):
    """What is held of one contract: above 0 is long, below 0 short."""

    symbol: str
    quantity: float
    entry: float
    liquidation: float | None = None
    """The price at which the venue closes it, where it says so."""


def rest_at_best(order: VenueOrder, book: OrderBook) -> VenueOrder:
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


def fit_order(order: VenueOrder, rules: ContractRules) -> VenueOrder:
    """In whole steps of the venue, never more and never at a worse price than was asked for."""
    takes = order.type in (OrderType.MARKET, OrderType.STOP)
    step = rules.market_step or rules.quantity_step if takes else rules.quantity_step
    quantity = _whole_steps(order.quantity, step, ROUND_FLOOR)
    price = order.price
    if price is not None:
        down = (order.side is OrderSide.BUY) is not (order.type is OrderType.STOP)
        price = _whole_steps(price, rules.price_step, ROUND_FLOOR if down else ROUND_CEILING)
    return replace(order, quantity=quantity or order.quantity, price=price or order.price)


def unfit(order: VenueOrder, rules: ContractRules, mark: float) -> str:
    """Why the venue would not take it; empty where it would."""
    takes = order.type in (OrderType.MARKET, OrderType.STOP)
    most = min(rules.most_quantity, rules.market_most) if takes else rules.most_quantity
    if order.quantity < rules.least_quantity:
        return f"{order.quantity:g} is less than the venue takes: {rules.least_quantity:g}"
    if order.quantity > most:
        return f"{order.quantity:g} is more than the venue takes at once: {most:g}"
    if order.price is not None and not rules.least_price <= order.price <= rules.most_price:
        return f"{order.price:g} is outside the prices that the venue takes"
    worth = Decimal(str(order.quantity)) * Decimal(str(order.price or mark))
    if not order.reduce_only and worth < Decimal(str(rules.least_notional)):
        return f"it is worth less than the venue takes: ${rules.least_notional:g}"
    return ""


def _whole_steps(value: float, step: float, rounding: str) -> float:
    """In decimals, as venues count: 0.3 is three steps of 0.1."""
    unit = Decimal(str(step))
    # What travelled as a binary number may be a hair beside the step that was meant.
    exact = round(Decimal(str(value)) / unit, _STEP_DIGITS)
    return float(exact.to_integral_value(rounding) * unit)


_STEP_DIGITS = 6
_ROUNDING = 1e-9


def market_parts(order: VenueOrder, rules: ContractRules, mark: float) -> tuple[VenueOrder, ...]:
    """Parts that the venue takes by their size, together exactly the order; the last is largest.

    Each has a name of its own: one that was sent is found by it, and never sent again.
    """
    whole = round(order.quantity / rules.quantity_step + _ROUNDING)
    least = max(1, -floor(-rules.least_notional / (mark * rules.quantity_step)))
    count = max(1, min(order.slices, whole // least))
    each = whole // count
    units = [each] * (count - 1) + [whole - each * (count - 1)]
    return tuple(
        replace(
            order,
            client_id=f"{order.client_id}.{place}",
            type=OrderType.MARKET,
            quantity=round(unit * rules.quantity_step, 10),
            slices=1,
            slice_seconds=order.slice_seconds if place else 0,
        )
        for place, unit in enumerate(units)
    )
