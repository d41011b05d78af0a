"""An order in slices for a venue that knows none: parts of its own, one after each interval."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.exchange.orders.order import OrderType, VenueOrder

if TYPE_CHECKING:
    from chain.exchange.public.market import ContractRules

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
