"""What became of trades: each entry held against the orders that closed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.exchange.order import OrderProgress, OrderType

_DUST = 1e-9


class PlanOrders(Struct, frozen=True):
    """One plan's orders as the venue has them, in the order they were sent."""

    plan_id: str
    orders: tuple[OrderProgress, ...]

    @property
    def entry(self) -> OrderProgress | None:
        """What opened something, once no more of it can be filled."""
        for one in self.orders:
            if not one.order.reduce_only and one.filled > 0 and not one.is_open:
                return one
        return None


class TradeClosing(Struct, frozen=True):
    plan_id: str
    closed_at: float
    entry: float
    exit: float
    quantity: float
    exit_type: OrderType
    pnl_usd: float
    """After the fees of both ways; funding belongs to the account."""


def closings(plans: Sequence[PlanOrders]) -> tuple[TradeClosing, ...]:
    """Of every plan whose whole entry was closed, by whichever orders came first."""
    found = []
    for plan in plans:
        entry = plan.entry
        if entry is not None and (closing := _closing(plan.plan_id, entry, plans)) is not None:
            found.append(closing)
    return tuple(found)


def _closing(
    plan_id: str, entry: OrderProgress, plans: Sequence[PlanOrders]
) -> TradeClosing | None:
    exits = sorted(
        (
            one
            for plan in plans
            for one in plan.orders
            if one.order.reduce_only
            and one.filled > 0
            and one.order.symbol == entry.order.symbol
            and one.order.side is entry.order.side.opposite
            and one.changed_at >= entry.changed_at
        ),
        key=lambda one: one.changed_at,
    )
    left, got, fees = entry.filled, 0.0, entry.fees
    for one in exits:
        taken = min(left, one.filled)
        left -= taken
        got += taken * (one.average or 0.0)
        fees += one.fees * taken / one.filled
        if left <= _DUST:
            price, opened = got / entry.filled, entry.average or 0.0
            gained = (price - opened) * entry.filled * entry.order.side.sign
            return TradeClosing(
                plan_id,
                one.changed_at,
                opened,
                price,
                entry.filled,
                one.order.type,
                gained - fees,
            )
    return None
