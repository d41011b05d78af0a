"""How a decision becomes orders: each style does what its name says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from agents.trade.levels import to_step
from agents.trade.plan import PlannedOrder
from agents.trade.terms import ExecutionStyle

if TYPE_CHECKING:
    from agents.trade.facts import MarketSnapshot

_MAKER_SECONDS = 900
_SLICES = 6
_SLICE_SECONDS = 300
_SNIPER_BIPS = 10.0
"""How far beyond the mark a breakout is followed."""
_BASIS_POINTS = 10_000


class OrderSize(Struct, frozen=True):
    """Coins to trade: above 0 to buy, below 0 to sell."""

    coins: float
    reduce_only: bool = False

    @property
    def side(self) -> Literal["buy", "sell"]:
        return "buy" if self.coins > 0 else "sell"

    @property
    def opposite(self) -> Literal["buy", "sell"]:
        return "sell" if self.coins > 0 else "buy"


def styled_orders(
    style: ExecutionStyle,
    size: OrderSize,
    market: MarketSnapshot,
    *,
    stop: float | None = None,
    take_profit: float | None = None,
) -> tuple[PlannedOrder, ...]:
    """The order that trades, and where given the two that protect what it opens."""
    if size.coins == 0:
        return ()
    orders = [_first(style, size, market)]
    for purpose, kind, price in (
        ("stop", "stop", stop),
        ("take_profit", "take_profit", take_profit),
    ):
        if price is not None:
            orders.append(
                PlannedOrder.model_validate(
                    {
                        "purpose": purpose,
                        "side": size.opposite,
                        "type": kind,
                        "quantity": abs(size.coins),
                        "price": to_step(price, market.price_step),
                        "reduce_only": True,
                    }
                )
            )
    return tuple(orders)


def _first(style: ExecutionStyle, size: OrderSize, market: MarketSnapshot) -> PlannedOrder:
    quantity, sign = abs(size.coins), 1 if size.coins > 0 else -1
    purpose: Literal["entry", "reduce", "close"] = "reduce" if size.reduce_only else "entry"
    match style:
        case ExecutionStyle.PASSIVE_MAKER:
            return PlannedOrder(
                purpose=purpose,
                side=size.side,
                type="maker",
                quantity=quantity,
                price=_resting_price(market, sign),
                reduce_only=size.reduce_only,
                expires_seconds=_MAKER_SECONDS,
            )
        case ExecutionStyle.SMART_DCA:
            return PlannedOrder(
                purpose=purpose,
                side=size.side,
                type="sliced",
                quantity=quantity,
                price=None,
                reduce_only=size.reduce_only,
                slices=_SLICES,
                slice_seconds=_SLICE_SECONDS,
            )
        case ExecutionStyle.MOMENTUM_SNIPER:
            limit = market.mark * (1 + sign * _SNIPER_BIPS / _BASIS_POINTS)
            return PlannedOrder(
                purpose=purpose,
                side=size.side,
                type="limit_taker",
                quantity=quantity,
                price=to_step(limit, market.price_step),
                reduce_only=size.reduce_only,
            )
        case ExecutionStyle.CASINO_EXIT:
            return PlannedOrder(
                purpose="close",
                side=size.side,
                type="market",
                quantity=quantity,
                price=None,
                reduce_only=True,
            )


def _resting_price(market: MarketSnapshot, sign: int) -> float:
    """The best price on one's own side: it rests there, and takes nothing."""
    book = market.book
    rows = () if book is None else book.bids if sign > 0 else book.asks
    if rows:
        return rows[0][0]
    return to_step(market.mark * (1 - sign * 0.0001), market.price_step)
