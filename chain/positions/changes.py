"""What was put into a position and taken out of it, told by the PoolManager's logs.

v4 has no Collect event: every change of liquidity pays all fees out, and its log carries neither
amounts nor fees. Amounts follow from the price at that moment, fees from the fee growth the
position was last paid up to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.math.fee_growth import FeeGrowth, fees_owed
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.quantity import Known, Quantity, combine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.history.events import ModifyLiquidityEvent, Place
    from chain.positions.identity import PositionIdentity

NOTHING = Amounts(0, 0)

LOGS = "PoolManager logs"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What has to be known beside the log to tell what a change was worth."""

    timestamp: int
    sqrt_price: Quantity[int]
    growth_paid: Quantity[FeeGrowth]
    """The fee growth inside the range up to which the position is paid after the change."""
    gas: Quantity[int]
    """This position's part of what the transaction cost, in the smallest unit of the coin."""


@dataclass(frozen=True, slots=True)
class LiquidityChange:
    place: Place
    timestamp: int
    liquidity_delta: int
    """Zero where fees alone were collected."""
    amounts: Quantity[Amounts]
    """Put in where liquidity was added, taken out where it was removed; fees apart."""
    fees: Quantity[Amounts]
    """Paid out by this change."""
    gas: Quantity[int]


def accounted(
    identity: PositionIdentity, events: Sequence[tuple[ModifyLiquidityEvent, Circumstances]]
) -> tuple[LiquidityChange, ...]:
    """What each change moved, from the first of the position on."""
    changes: list[LiquidityChange] = []
    liquidity = 0
    paid: Quantity[FeeGrowth] = Known(FeeGrowth(0, 0), LOGS)
    for event, seen in events:
        changes.append(
            LiquidityChange(
                place=event.place,
                timestamp=seen.timestamp,
                liquidity_delta=event.liquidity_delta,
                amounts=_amounts(identity, event.liquidity_delta, seen.sqrt_price),
                fees=_fees(seen.growth_paid, paid, liquidity),
                gas=seen.gas,
            )
        )
        liquidity += event.liquidity_delta
        paid = seen.growth_paid
    return tuple(changes)


def total(parts: Sequence[Quantity[Amounts]]) -> Quantity[Amounts]:
    """The sum, unknown when any part is."""
    return combine(_sum, *parts) if parts else Known(NOTHING, LOGS)


def _sum(*parts: Amounts) -> Amounts:
    return Amounts(sum(one.amount0 for one in parts), sum(one.amount1 for one in parts))


def _amounts(
    identity: PositionIdentity, delta: int, sqrt_price: Quantity[int]
) -> Quantity[Amounts]:
    if delta == 0:
        return Known(NOTHING, LOGS)
    lower = sqrt_price_at_tick(identity.tick_lower)
    upper = sqrt_price_at_tick(identity.tick_upper)
    return sqrt_price.map(
        lambda price: amounts_for_liquidity(price, lower, upper, abs(delta), round_up=delta > 0)
    )


def _fees(
    now: Quantity[FeeGrowth], before: Quantity[FeeGrowth], liquidity: int
) -> Quantity[Amounts]:
    if liquidity == 0:
        return Known(NOTHING, LOGS)
    return combine(lambda new, old: Amounts(*fees_owed(new, old, liquidity)), now, before)
