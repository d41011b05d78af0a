"""Hedges of positions: which orders belong to which position, and what they came to.

A venue holds one sum of each contract. Whose it is, the journal tells: each plan of a hedge names
its position, and what a position leaves behind is taken over by the next one at the mark of then.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from chain.exchange.orders.order import OrderProgress, OrderSide, OrderType
from chain.exchange.public.market import FundingPayment
from chain.protocols.reference import PositionRef, stored_position


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
    def gain(self) -> float:
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
        sum(match.gain for match in matches),
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


_DUST = 1e-9


class HedgeKey(NamedTuple):
    """A position's coin, by the chain it is on: a pool of two coins has a hedge for each."""

    chain_id: int
    ref: PositionRef
    coin: str


class TakenOver(NamedTuple):
    """What was short for a position that is no more."""

    token_id: str
    """Digits: an id may have 256 bits."""
    coins: float


class HedgeStart(Struct, frozen=True, kw_only=True):
    """A position as it was when a plan to hedge it was applied."""

    chain_id: int
    token_id: str
    """Digits: an id may have 256 bits."""
    wallet: str
    coin: str
    symbol: str
    token: str
    """The coin, as the pool knows it."""
    ratio: float
    """Of the coins it holds, what should be short."""
    rate: float = 1.0
    """Of what the contract is of, how much one coin was worth."""
    other_rate: float = 0.0
    """The same of the pool's other token; 0 where that is no coin of this contract."""
    band: float = 0.2
    """How far it may be off, as a share of what it should be, before it is adjusted."""
    amount0: str
    amount1: str
    """Digits: what it held with uncollected fees, in the tokens' smallest units."""
    sqrt_price_x96: str
    mark: float
    """The contract's, in dollars a coin."""
    block: int
    """Where the position was read; what follows belongs to the time of the hedge."""
    time: float
    """By the venue's clock."""
    taken_over: tuple[TakenOver, ...] = ()

    @property
    def key(self) -> HedgeKey:
        return HedgeKey(self.chain_id, stored_position(self.token_id), self.coin)


class HedgeFill(NamedTuple):
    time: float
    coins: float
    """Above 0 bought, below 0 sold."""
    price: float
    fee: float


class HedgeAccount(Struct, frozen=True):
    """What a hedge has paid and got, in dollars, and the coins it is left with."""

    coins: float
    """Below 0 short."""
    cash: float
    """From buying and selling."""
    fees: float
    funding: float | None
    """Received less paid; None where the venue does not tell at which price it was paid."""

    def result(self, mark: float) -> float | None:
        """Everything it came to at this mark."""
        if self.funding is None:
            return None
        return self.cash + self.coins * mark - self.fees + self.funding


class PositionHedge(Struct, frozen=True):
    """Every order that was sent for one position."""

    first: HedgeStart
    last: HedgeStart
    fills: tuple[HedgeFill, ...]
    """In the order of time."""
    waiting: float
    """Coins of orders that may still be filled: above 0 to buy, below 0 to sell."""

    @property
    def short(self) -> float:
        """Coins that are short for it now."""
        return 0.0 - sum(fill.coins for fill in self.fills)

    def account(self, payments: Sequence[FundingPayment]) -> HedgeAccount:
        """An order of several parts counts from when it was last filled."""
        return HedgeAccount(
            -self.short,
            -sum(fill.coins * fill.price for fill in self.fills),
            sum(fill.fee for fill in self.fills),
            _funding(self.fills, payments),
        )


def position_hedges(
    starts: Mapping[str, HedgeStart], plans: Sequence[PlanOrders]
) -> dict[HedgeKey, PositionHedge]:
    """By position, from what was applied (by plan, the oldest first) and what became of it."""
    orders = {plan.plan_id: plan.orders for plan in plans}
    fills: dict[HedgeKey, list[HedgeFill]] = {}
    waiting: dict[HedgeKey, float] = {}
    of_position: dict[HedgeKey, list[HedgeStart]] = {}
    for plan_id, start in starts.items():
        of_position.setdefault(start.key, []).append(start)
        mine = fills.setdefault(start.key, [])
        for token_id, coins in start.taken_over:
            mine.append(HedgeFill(start.time, -coins, start.mark, 0.0))
            gone = HedgeKey(start.chain_id, stored_position(token_id), start.coin)
            left = fills.setdefault(gone, [])
            left.append(HedgeFill(start.time, coins, start.mark, 0.0))
        for order in orders.get(plan_id, ()):
            sign = order.order.side.sign
            if order.filled > 0 and order.average is not None:
                filled = HedgeFill(order.changed_at, sign * order.filled, order.average, order.fees)
                mine.append(filled)
            if order.is_open:
                waiting[start.key] = waiting.get(start.key, 0.0) + sign * order.open_quantity
    return {
        key: PositionHedge(some[0], some[-1], tuple(sorted(fills[key])), waiting.get(key, 0.0))
        for key, some in of_position.items()
    }


def _funding(fills: Sequence[HedgeFill], payments: Sequence[FundingPayment]) -> float | None:
    """Longs pay shorts where the rate is above 0."""
    total = 0.0
    for payment in payments:
        held = sum(fill.coins for fill in fills if fill.time <= payment.time)
        if abs(held) <= _DUST:
            continue
        if payment.mark is None:
            return None
        total -= held * payment.mark * payment.rate
    return total
