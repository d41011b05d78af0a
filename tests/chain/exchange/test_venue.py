"""Orders reach a venue once: written down first, found again after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chain.exchange.orders.engine import send_orders, tend_orders
from chain.exchange.orders.journal import (
    AlreadySentError,
    JournalState,
    TradeJournal,
)
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType
from chain.exchange.orders.venues.paper.venue import PaperAccount, cancelled, placed
from tests.chain.exchange.markets import ETH, START, account, moment, order, unsettled
from tests.chain.exchange.plain_venue import PlainVenue

if TYPE_CHECKING:
    from pathlib import Path

    from chain.exchange.orders.order import VenueOrder

PLAN = "plan_0123456789abcdef"
ORDERS = [
    order(OrderSide.BUY, OrderType.MARKET, 1.0, name="entry"),
    order(OrderSide.SELL, OrderType.STOP, 1.0, 2950.0, name="stop", reduce_only=True),
]


class Killed(BaseException):
    """The process is gone at this moment."""


class MortalVenue(PlainVenue):
    """A paper account that lasts while whoever talks to it may be killed at any step."""

    def __init__(self) -> None:
        self.held: PaperAccount = account()
        self.steps_left: int | None = None

    def _step(self) -> None:
        if self.steps_left is not None:
            if self.steps_left == 0:
                raise Killed
            self.steps_left -= 1

    async def now(self) -> float:
        self._step()
        return float(START)

    def paper(self) -> PaperAccount:
        return self.held

    async def submit(self, order: VenueOrder) -> OrderProgress:
        self._step()
        self.held = placed(self.held, order, moment())
        self._step()
        return self.held.orders[order.client_id]

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        return self.held.orders.get(order.client_id)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        self.held = cancelled(self.held, order.client_id, float(START), "by its owner")
        return self.held.orders.get(order.client_id)


@pytest.mark.parametrize("steps", range(9))
async def test_killed_at_any_step_an_order_is_there_once_or_known_to_be_missing(
    tmp_path: Path, steps: int
) -> None:
    venue = MortalVenue()
    venue.steps_left = steps
    with TradeJournal.open(tmp_path / "trades.db") as journal, pytest.raises(Killed):
        await send_orders(journal, venue, PLAN, ORDERS)
    venue.steps_left = None

    with TradeJournal.open(tmp_path / "trades.db") as journal:
        await tend_orders(journal, venue)
        entries = journal.entries(PLAN)
        assert not unsettled(journal)
        for entry in entries:
            there = entry.order.client_id in venue.held.orders
            assert (entry.state is JournalState.ACKNOWLEDGED) is there
        begun = bool(entries)
        assert journal.has_begun(PLAN) is begun
        if begun:
            with pytest.raises(AlreadySentError):
                await send_orders(journal, venue, PLAN, ORDERS)
    assert set(venue.held.orders) <= {"entry", "stop"}
    opened = venue.held.position(ETH).quantity > 0
    assert opened is ("stop" in venue.held.orders), "what is opened has its stop"


async def test_an_undisturbed_plan_is_sent_whole_and_never_again(tmp_path: Path) -> None:
    venue = MortalVenue()
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        sent = await send_orders(journal, venue, PLAN, ORDERS)
        states = [entry.state for entry in journal.entries()]

        assert [one.state for one in sent] == [OrderState.FILLED, OrderState.OPEN]
        assert states == [JournalState.ACKNOWLEDGED] * 2
        with pytest.raises(AlreadySentError):
            await send_orders(journal, venue, PLAN, ORDERS)
