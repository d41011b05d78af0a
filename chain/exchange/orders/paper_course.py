"""The market's course after an order was placed: what it fills, stops, funds and lets expire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType
from chain.exchange.orders.paper_account import (
    Execution,
    PaperFees,
    filled,
    funded,
    without_orphans,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.exchange.orders.paper_account import PaperAccount
    from chain.exchange.public.market import Candle, FundingPayment


class MarketCourse(Struct, frozen=True):
    """What one contract did: closed candles, and what was funded meanwhile."""

    symbol: str
    seconds: int
    """The length of a candle."""
    candles: tuple[Candle, ...]
    payments: tuple[FundingPayment, ...]
    slippage: float
    """The fraction that a taker is charged, from the book as it is now."""


def settled(
    account: PaperAccount, course: MarketCourse, fees: PaperFees | None = None
) -> PaperAccount:
    """The account after these candles; those it has been through already are passed over."""
    fees = fees or PaperFees()
    for candle in course.candles:
        if candle.time < account.settled_at.get(course.symbol, 0):
            continue
        end = candle.time + course.seconds
        account = _passed(account, course, candle, fees)
        for payment in course.payments:
            if candle.time < payment.time <= end:
                account = funded(account, course.symbol, payment, payment.mark or candle.close)
        account = replace(account, settled_at={**account.settled_at, course.symbol: end})
    return account


def _passed(
    account: PaperAccount, course: MarketCourse, candle: Candle, fees: PaperFees
) -> PaperAccount:
    """One candle, the worst first: what opened was stopped where it may have been, then profits."""
    end = candle.time + course.seconds
    for progress in sorted(_waiting(account, course, candle), key=_worst_first):
        order = progress.order
        if not account.orders[order.client_id].is_open:
            continue
        expires = order.expires_seconds
        if expires is not None and candle.time >= progress.placed_at + expires:
            ended = replace(
                progress,
                state=OrderState.EXPIRED,
                reason="nobody traded through it in time",
                changed_at=progress.placed_at + expires,
            )
            account = replace(account, orders={**account.orders, order.client_id: ended})
            account = without_orphans(account, course.symbol, end)
            continue
        if order.reduce_only and account.position(course.symbol).quantity * order.side.sign >= 0:
            continue  # it waits for the order that opens what it protects
        if order.type is OrderType.STOP:
            account = _stopped(account, progress, course, candle, fees)
        elif order.type is OrderType.SLICED:
            account = _sliced(account, progress, course, candle, fees)
        elif _is_traded_through(progress, candle):
            quantity, price = min(progress.left, candle.volume), order.price or candle.close
            account = filled(account, progress, Execution(quantity, price, end, fees.maker))
    return account


def _waiting(
    account: PaperAccount, course: MarketCourse, candle: Candle
) -> Iterator[OrderProgress]:
    """Orders that were there before the candle began: what was traded earlier fills nobody."""
    for progress in account.open_orders(course.symbol):
        if progress.placed_at <= candle.time:
            yield progress


_WORST_FIRST = (OrderType.MAKER, OrderType.STOP, OrderType.TAKE_PROFIT, OrderType.SLICED)


def _worst_first(progress: OrderProgress) -> tuple[int, str]:
    return _WORST_FIRST.index(progress.order.type), progress.order.client_id


def _is_traded_through(progress: OrderProgress, candle: Candle) -> bool:
    """Beyond the price, not only at it: at it there is a queue, and nobody knows one's place."""
    price = progress.order.price
    if price is None:
        return False
    return candle.low < price if progress.order.side is OrderSide.BUY else candle.high > price


def _stopped(
    account: PaperAccount,
    progress: OrderProgress,
    course: MarketCourse,
    candle: Candle,
    fees: PaperFees,
) -> PaperAccount:
    order, stop = progress.order, progress.order.price or 0.0
    buying = order.side is OrderSide.BUY
    if not (candle.high >= stop if buying else candle.low <= stop):
        return account
    # A market that opened beyond the stop was never at it.
    reached = max(stop, candle.open) if buying else min(stop, candle.open)
    price = reached * (1 + order.side.sign * course.slippage)
    end = candle.time + course.seconds
    return filled(account, progress, Execution(progress.left, price, end, fees.taker))


def _sliced(
    account: PaperAccount,
    progress: OrderProgress,
    course: MarketCourse,
    candle: Candle,
    fees: PaperFees,
) -> PaperAccount:
    order, end = progress.order, candle.time + course.seconds
    part = order.quantity / order.slices
    due = min(int((end - progress.placed_at) // max(order.slice_seconds, 1)) + 1, order.slices)
    quantity = min(due * part - progress.filled, progress.left, candle.volume)
    if quantity <= 0:
        return account
    price = candle.close * (1 + order.side.sign * course.slippage)
    return filled(account, progress, Execution(quantity, price, end, fees.taker))
