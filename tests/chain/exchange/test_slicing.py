"""Orders in slices on a venue that knows none: each part is named, written down, sent once."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from chain.exchange.orders.engine import send_orders, tend_orders
from chain.exchange.orders.journal import JournalState, TradeJournal
from chain.exchange.orders.order import (
    OrderProgress,
    OrderSide,
    OrderState,
    OrderType,
    VenueOrder,
    market_parts,
)
from chain.exchange.public.market import ContractRules
from tests.chain.exchange.markets import ETH, START, order, unsettled
from tests.chain.exchange.test_venue import Killed, MortalVenue

if TYPE_CHECKING:
    from pathlib import Path

PLAN = "plan_0123456789abcdef"
RULES = ContractRules(ETH, 0.01, 0.001, 20.0)
SLICED = VenueOrder(
    client_id="entry",
    symbol=ETH,
    side=OrderSide.BUY,
    type=OrderType.SLICED,
    quantity=1.0,
    slices=3,
    slice_seconds=300,
)
STOP = order(OrderSide.SELL, OrderType.STOP, 1.0, 2950.0, name="stop", reduce_only=True)
NAMES = ["entry.0", "stop", "entry.1", "stop.1", "entry.2", "stop.2"]


class SlicingVenue(MortalVenue):
    """Takes parts; may refuse one of them."""

    refuses = ""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[str] = []

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        return market_parts(order, RULES, 3000.0) if order.type is OrderType.SLICED else (order,)

    async def submit(self, order: VenueOrder) -> OrderProgress:
        self._step()
        self.taken.append(order.client_id)
        if order.client_id == self.refuses:
            return OrderProgress(order=order, state=OrderState.REFUSED, placed_at=START)
        return await super().submit(order)

    async def sleep(self, seconds: float) -> None:
        assert seconds in (SLICED.slice_seconds, 0.5, 1.0)
        self._step()


def test_parts_are_the_whole_in_steps_that_the_venue_takes() -> None:
    draws = Random(5)
    for _ in range(300):
        whole = draws.randrange(7, 5_000) / 1_000
        parts = market_parts(replace(SLICED, quantity=whole, slices=6), RULES, 3000.0)
        assert sum(part.quantity for part in parts) == pytest.approx(whole, abs=1e-9)
        assert all(round(part.quantity * 1_000, 6).is_integer() for part in parts)
        assert all(part.quantity * 3000.0 >= RULES.least_notional for part in parts)
        assert len({part.client_id for part in parts}) == len(parts) <= 6
        assert [part.slice_seconds for part in parts] == [0] + [300] * (len(parts) - 1)


async def test_parts_are_sent_in_turn_and_what_protects_follows_the_first(tmp_path: Path) -> None:
    venue, told = SlicingVenue(), []
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        sent = await send_orders(
            journal,
            venue,
            PLAN,
            [SLICED, STOP],
            sleep=venue.sleep,
            on_sent=lambda one: told.append(one.order.client_id),
        )
        states = {one.order.client_id: one.state for one in journal.entries()}

    assert venue.taken == told == NAMES
    assert sorted(NAMES) == sorted(one.order.client_id for one in sent)
    assert set(states.values()) == {JournalState.ACKNOWLEDGED}
    stops = [one.order.quantity for one in sent if one.order.type is OrderType.STOP]
    assert stops == [0.333, 0.333, 0.334]
    assert venue.held.position(ETH).quantity == pytest.approx(1.0)


async def test_after_a_part_that_is_refused_no_other_is_sent(tmp_path: Path) -> None:
    venue = SlicingVenue()
    venue.refuses = "entry.1"
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        await send_orders(journal, venue, PLAN, [SLICED, STOP], sleep=venue.sleep)
        states = [one.state for one in journal.entries()]

    assert venue.taken == NAMES[:3]
    assert states.count(JournalState.ACKNOWLEDGED) == 3
    assert states.count(JournalState.ABANDONED) == 2, "a part and its stop"


@pytest.mark.parametrize("steps", range(40))
async def test_killed_at_any_step_each_part_is_there_once_or_known_to_be_missing(
    tmp_path: Path, steps: int
) -> None:
    venue = SlicingVenue()
    venue.steps_left = steps
    with TradeJournal.open(tmp_path / "trades.db") as journal, suppress(Killed):
        await send_orders(journal, venue, PLAN, [SLICED, STOP], sleep=venue.sleep)
    venue.steps_left = None
    taken = list(venue.taken)

    with TradeJournal.open(tmp_path / "trades.db") as journal:
        await tend_orders(journal, venue, sleep=venue.sleep)
        assert not unsettled(journal)
        for entry in journal.entries():
            there = entry.order.client_id in venue.held.orders
            assert (entry.state is JournalState.ACKNOWLEDGED) is there
    assert venue.taken[: len(taken)] == taken == NAMES[: len(taken)]
    assert all(name.startswith("stop") for name in venue.taken[len(taken) :])
    stopped = [one.left for one in venue.held.open_orders() if one.order.reduce_only]
    assert sum(stopped) == pytest.approx(venue.held.position(ETH).quantity)
