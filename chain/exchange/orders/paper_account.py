"""An account of made-up money on a real market: fills that an honest venue would have given.

Takers walk the book as it was read and pay its slippage; makers fill only when the market trades
through their price after they were placed, and never more than was traded; fees are charged on
every fill, funding at every funding time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from chain.exchange.orders.order import (
    OrderProgress,
    OrderSide,
    OrderState,
    OrderType,
    PerpetualPosition,
    VenueOrder,
)
from chain.exchange.orders.resting import resting
from chain.exchange.public.book_walk import walk_book

if TYPE_CHECKING:
    from chain.exchange.public.market import ContractRules, FundingPayment, OrderBook

_DUST = 1e-9


class PaperFees(Struct, frozen=True):
    """Fractions of notional; Binance's of an ordinary account."""

    maker: float = 0.0002
    taker: float = 0.0005
    most_leverage: float = 20.0
    """Beyond it the venue itself refuses: its margin is insufficient."""


class PaperAccount(Struct, frozen=True, kw_only=True):
    cash: float
    """Dollars, with everything that was realised, paid and charged."""
    settled_at: dict[str, int] = field(default_factory=dict)
    """Until when a contract's course has been taken into account."""
    positions: dict[str, PerpetualPosition] = field(default_factory=dict)
    orders: dict[str, OrderProgress] = field(default_factory=dict)
    funding: float = 0.0
    """Dollars received less paid, part of the cash."""
    fees: float = 0.0
    """Dollars charged, part of the cash."""

    def position(self, symbol: str) -> PerpetualPosition:
        return self.positions.get(symbol, PerpetualPosition(symbol, 0.0, 0.0))

    def open_orders(self, symbol: str | None = None) -> tuple[OrderProgress, ...]:
        return tuple(
            one
            for one in self.orders.values()
            if one.is_open and symbol in (None, one.order.symbol)
        )

    def equity(self, marks: Mapping[str, float]) -> float:
        """With what is held valued at these marks; one that is missing raises KeyError."""
        return self.cash + sum(
            one.quantity * (marks[one.symbol] - one.entry) for one in self.positions.values()
        )


class MarketMoment(Struct, frozen=True):
    """A market as an order finds it when it reaches the venue."""

    book: OrderBook
    rules: ContractRules
    time: float
    fees: PaperFees = PaperFees()


class Execution(Struct, frozen=True):
    quantity: float
    price: float
    time: float
    fee_rate: float


def placed(account: PaperAccount, order: VenueOrder, moment: MarketMoment) -> PaperAccount:
    """The account after an order has reached the venue; the same name twice changes nothing."""
    if order.client_id in account.orders:
        return account
    now, order = moment.time, resting(order, moment.book)
    progress = OrderProgress(order=order, state=OrderState.OPEN, placed_at=now, changed_at=now)
    reason = _refusal(account, order, moment)
    if reason:
        return _with_progress(account, replace(progress, state=OrderState.REFUSED, reason=reason))
    if order.symbol not in account.positions and not account.open_orders(order.symbol):
        settled_at = {**account.settled_at, order.symbol: int(now)}
        account = replace(account, settled_at=settled_at)
    account = _with_progress(account, progress)
    if order.type is OrderType.SLICED:
        return _taken(account, progress, moment, order.quantity / order.slices)
    if order.type in (OrderType.MARKET, OrderType.LIMIT_TAKER):
        account = _taken(account, progress, moment, order.quantity)
        why = "the rest is beyond its price" if order.price else "the book does not hold as much"
        return cancelled(account, order.client_id, now, why)
    return account


def cancelled(account: PaperAccount, client_id: str, now: float, reason: str) -> PaperAccount:
    progress = account.orders.get(client_id)
    if progress is None or not progress.is_open:
        return account
    ended = replace(progress, state=OrderState.CANCELLED, reason=reason, changed_at=now)
    return _with_progress(account, ended)


def funded(
    account: PaperAccount, symbol: str, payment: FundingPayment, mark: float
) -> PaperAccount:
    """Longs pay shorts where the rate is above 0."""
    amount = -account.position(symbol).quantity * mark * payment.rate
    return replace(account, cash=account.cash + amount, funding=account.funding + amount)


def filled(account: PaperAccount, progress: OrderProgress, done: Execution) -> PaperAccount:
    """So much of an order done at this price; what only reduces never goes past nothing."""
    order, quantity = progress.order, done.quantity
    held = account.position(order.symbol)
    if order.reduce_only:
        quantity = min(quantity, max(-held.quantity * order.side.sign, 0.0))
    if quantity <= _DUST:
        return cancelled(account, order.client_id, done.time, "nothing is left to reduce")
    after, realised = _held_after(held, quantity * order.side.sign, done.price)
    fee = quantity * done.price * done.fee_rate
    total = progress.filled + quantity
    account = replace(
        account,
        cash=account.cash + realised - fee,
        fees=account.fees + fee,
        positions=_positions(account, after),
    )
    grown = replace(
        progress,
        state=OrderState.FILLED if order.quantity - total <= _DUST else OrderState.OPEN,
        filled=total,
        average=((progress.average or 0.0) * progress.filled + done.price * quantity) / total,
        fees=progress.fees + fee,
        changed_at=done.time,
    )
    return without_orphans(_with_progress(account, grown), order.symbol, done.time)


def _taken(
    account: PaperAccount, progress: OrderProgress, moment: MarketMoment, quantity: float
) -> PaperAccount:
    """What the book gives for it at once."""
    order = progress.order
    buy = order.side is OrderSide.BUY
    done = walk_book(moment.book, buy=buy, quantity=quantity, limit=order.price)
    if done.average is None:
        return account
    fee_rate = moment.fees.taker
    return filled(account, progress, Execution(done.filled, done.average, moment.time, fee_rate))


def _refusal(account: PaperAccount, order: VenueOrder, moment: MarketMoment) -> str:
    book, rules = moment.book, moment.rules
    if not book.bids or not book.asks:
        return "the book is empty"
    best = book.asks[0].price if order.side is OrderSide.BUY else book.bids[0].price
    if order.reduce_only:
        return ""
    notional = order.quantity * (order.price or best)
    if notional < rules.least_notional:
        return f"its notional is under {rules.least_notional:g}"
    held = sum(abs(one.quantity) * one.entry for one in account.positions.values())
    if held + notional > moment.fees.most_leverage * max(account.cash, 0.0):
        return "margin is insufficient"
    return ""


def _held_after(
    held: PerpetualPosition, change: float, price: float
) -> tuple[PerpetualPosition, float]:
    """The position after a fill, and what the part of it that closed has brought."""
    before, after = held.quantity, held.quantity + change
    if before * change >= 0:
        entry = (held.entry * abs(before) + price * abs(change)) / abs(after)
        return PerpetualPosition(held.symbol, after, entry), 0.0
    closed = min(abs(change), abs(before))
    realised = closed * (price - held.entry) * (1 if before > 0 else -1)
    if abs(after) <= _DUST:
        return PerpetualPosition(held.symbol, 0.0, 0.0), realised
    turned = before * after < 0
    return PerpetualPosition(held.symbol, after, price if turned else held.entry), realised


def _positions(account: PaperAccount, held: PerpetualPosition) -> dict[str, PerpetualPosition]:
    others = {name: one for name, one in account.positions.items() if name != held.symbol}
    return others if held.quantity == 0 else {**others, held.symbol: held}


def without_orphans(account: PaperAccount, symbol: str, now: float) -> PaperAccount:
    """Once nothing is held, what only reduced it has nothing left to do."""
    if symbol in account.positions:
        return account
    waiting = any(not one.order.reduce_only for one in account.open_orders(symbol))
    for one in () if waiting else account.open_orders(symbol):
        account = cancelled(account, one.order.client_id, now, "the position is closed")
    return account


def _with_progress(account: PaperAccount, progress: OrderProgress) -> PaperAccount:
    return replace(account, orders={**account.orders, progress.order.client_id: progress})
