"""What became of trades: each opening held against the orders that closed it, the oldest first."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from chain.exchange.orders.order import OrderProgress, OrderSide, OrderType

_DUST = 1e-9


class PlanOrders(Struct, frozen=True):
    """One plan's orders as the venue has them, in the order they were sent."""

    plan_id: str
    orders: tuple[OrderProgress, ...]

    @property
    def entries(self) -> tuple[OrderProgress, ...]:
        """What opened something, once no more of it can be filled."""
        opening = [order for order in self.orders if not order.order.reduce_only]
        if any(order.is_open for order in opening):
            return ()
        return tuple(order for order in opening if order.filled > 0)

    @property
    def is_exit(self) -> bool:
        """Whether it only closed what others had opened, and has come to an end."""
        only_closes = all(order.order.reduce_only and not order.is_open for order in self.orders)
        return only_closes and any(order.filled > 0 for order in self.orders)


class TradeClosing(Struct, frozen=True):
    plan_id: str
    closed_at: float
    entry: float | None
    """None where somebody else had opened it, or at another time."""
    exit: float
    quantity: float
    exit_type: OrderType
    pnl_usd: float | None
    """After the fees of both ways; funding belongs to the account. None without an entry."""


class _Match(NamedTuple):
    """A quantity of one opening that one order has closed."""

    opened_by: str
    closed_by: str
    quantity: float
    entry: float
    exit: float
    fees: float
    """Of both ways."""
    sign: int
    exit_type: OrderType
    time: float

    @property
    def gained(self) -> float:
        return (self.exit - self.entry) * self.quantity * self.sign - self.fees


class _Lot:
    """What one plan opened and nobody has closed yet."""

    def __init__(self, plan_id: str, entries: Sequence[OrderProgress]) -> None:
        self.plan_id = plan_id
        self.symbol = entries[0].order.symbol
        self.side: OrderSide = entries[0].order.side
        self.quantity = self.left = sum(entry.filled for entry in entries)
        self.price = sum(entry.filled * (entry.average or 0.0) for entry in entries) / self.quantity
        self.fees = sum(entry.fees for entry in entries)
        self.opened_at = max(entry.changed_at for entry in entries)


def closings(
    plans: Sequence[PlanOrders], groups: Mapping[str, Hashable] | None = None
) -> tuple[TradeClosing, ...]:
    """Of every plan whose whole entry was closed, and of every plan that did nothing but close.

    A coin is closed once: by its own plan's orders, else by those of its group, else in turn.
    """
    lots = [_Lot(plan.plan_id, plan.entries) for plan in plans if plan.entries]
    matches = _matches(plans, lots, groups or {})
    ended = [
        _ended(lot.plan_id, [match for match in matches if match.opened_by == lot.plan_id])
        for lot in lots
        if lot.left <= _DUST
    ]
    left = [
        _left(plan, [match for match in matches if match.closed_by == plan.plan_id])
        for plan in plans
        if plan.is_exit
    ]
    return (*ended, *left)


def _matches(
    plans: Sequence[PlanOrders], lots: Sequence[_Lot], groups: Mapping[str, Hashable]
) -> list[_Match]:
    exits = sorted(
        (
            (order, plan.plan_id)
            for plan in plans
            for order in plan.orders
            if order.order.reduce_only and order.filled > 0
        ),
        key=lambda pair: pair[0].changed_at,
    )
    found = []
    for order, plan_id in exits:
        left = order.filled
        for lot in _closed_by(order, plan_id, lots, groups):
            taken = min(left, lot.left)
            if taken > _DUST:
                left, lot.left = left - taken, lot.left - taken
                found.append(_match(lot, order, plan_id, taken))
    return found


def _closed_by(
    order: OrderProgress, plan_id: str, lots: Sequence[_Lot], groups: Mapping[str, Hashable]
) -> list[_Lot]:
    """What it may close, in the order in which it does."""
    fitting = (
        lot
        for lot in lots
        if lot.symbol == order.order.symbol
        and lot.side is order.order.side.opposite
        and lot.opened_at <= order.changed_at
    )
    return sorted(
        fitting,
        key=lambda lot: (
            lot.plan_id != plan_id,
            groups.get(lot.plan_id) != groups.get(plan_id),
            lot.opened_at,
        ),
    )


def _match(lot: _Lot, order: OrderProgress, plan_id: str, taken: float) -> _Match:
    fees = lot.fees * taken / lot.quantity + order.fees * taken / order.filled
    return _Match(
        lot.plan_id,
        plan_id,
        taken,
        lot.price,
        order.average or 0.0,
        fees,
        lot.side.sign,
        order.order.type,
        order.changed_at,
    )


def _ended(plan_id: str, matches: Sequence[_Match]) -> TradeClosing:
    quantity, last = sum(match.quantity for match in matches), matches[-1]
    return TradeClosing(
        plan_id,
        last.time,
        sum(match.entry * match.quantity for match in matches) / quantity,
        sum(match.exit * match.quantity for match in matches) / quantity,
        quantity,
        last.exit_type,
        sum(match.gained for match in matches),
    )


def _left(plan: PlanOrders, matches: Sequence[_Match]) -> TradeClosing:
    filled = [order for order in plan.orders if order.filled > 0]
    quantity = sum(order.filled for order in filled)
    if sum(match.quantity for match in matches) >= quantity - _DUST:
        return _ended(plan.plan_id, matches)
    return TradeClosing(
        plan.plan_id,
        max(order.changed_at for order in filled),
        None,
        sum(order.filled * (order.average or 0.0) for order in filled) / quantity,
        quantity,
        filled[-1].order.type,
        None,
    )
