"""Hedges of positions: which orders belong to which position, and what they came to.

A venue holds one sum of each contract. Whose it is, the journal tells: each plan of a hedge names
its position, and what a position leaves behind is taken over by the next one at the mark of then.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from chain.exchange.orders.closing import PlanOrders
from chain.exchange.public.market import FundingPayment

_DUST = 1e-9


class HedgeKey(NamedTuple):
    """A position's coin, by the chain it is on: a pool of two coins has a hedge for each."""

    chain_id: int
    token_id: int
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
        return HedgeKey(self.chain_id, int(self.token_id), self.coin)


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
            left = fills.setdefault(HedgeKey(start.chain_id, int(token_id), start.coin), [])
            left.append(HedgeFill(start.time, coins, start.mark, 0.0))
        for order in orders.get(plan_id, ()):
            sign = order.order.side.sign
            if order.filled > 0 and order.average is not None:
                filled = HedgeFill(order.changed_at, sign * order.filled, order.average, order.fees)
                mine.append(filled)
            if order.is_open:
                waiting[start.key] = waiting.get(start.key, 0.0) + sign * order.left
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
