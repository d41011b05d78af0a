"""Kill −9 at every moment of an order's life, with a venue that answers late, twice or not."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from chain.base.sqlite import open_database, transaction
from chain.exchange.orders.engine import send_orders, tend_orders
from chain.exchange.orders.journal import JournalState, TradeJournal
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType, VenueOrder
from chain.exchange.orders.venues.paper.venue import PaperAccount, cancel_order, place_order
from tests.chain.exchange.markets import START, account, moment, order, unsettled
from tests.chain.exchange.plain_venue import PlainVenue
from tests.samples import some_of

PLAN = "plan_0123456789abcdef"
ORDERS = [
    order(OrderSide.BUY, OrderType.MARKET, 1.0, name="entry"),
    order(OrderSide.SELL, OrderType.STOP, 1.0, 2950.0, name="stop", reduce_only=True),
]
HEDGE = [
    order(OrderSide.SELL, OrderType.MAKER, 1.0, 3_100.0, name="entry", expires=1),
    replace(order(OrderSide.SELL, OrderType.MARKET, 1.0, name="rest"), finishes=True),
]
_MOMENTS = 9
_HEDGE_MOMENTS = 14


class VenueSilentError(Exception):
    """The venue took the order and never answered."""


class LastingVenue(PlainVenue):
    """An account in a file: it outlives whoever sends to it, and may misbehave."""

    def __init__(self, path: Path, *, dies_at: int = -1, habit: str = "prompt") -> None:
        self._connection = open_database(path)
        self._connection.execute("CREATE TABLE IF NOT EXISTS held (body BLOB)")
        self._left = dies_at
        self._habit = habit

    def paper(self) -> PaperAccount:
        return self.held()

    def end(self) -> None:
        self._connection.close()

    def _moment(self) -> None:
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1

    def held(self) -> PaperAccount:
        row = self._connection.execute("SELECT body FROM held").fetchone()
        return account() if row is None else msgspec.json.decode(row[0], type=PaperAccount)

    async def now(self) -> float:
        self._moment()
        return float(START)

    async def submit(self, order: VenueOrder) -> OrderProgress:
        self._moment()
        for _ in range(2 if self._habit == "twice" else 1):
            after = self._change(lambda before: place_order(before, order, moment()))
        self._moment()
        if self._habit == "silent":
            raise VenueSilentError
        return after.orders[order.client_id]

    def _change(self, change: Callable[[PaperAccount], PaperAccount]) -> PaperAccount:
        with transaction(self._connection):
            after = change(self.held())
            self._connection.execute("DELETE FROM held")
            self._connection.execute("INSERT INTO held VALUES (?)", (msgspec.json.encode(after),))
        return after

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        return self.held().orders.get(order.client_id)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        self._moment()
        name = order.client_id
        after = self._change(
            lambda before: cancel_order(before, name, float(START), "by its owner")
        )
        self._moment()
        return after.orders.get(name)


def _run(folder: Path, dies_at: int, habit: str, orders: Sequence[VenueOrder] = ORDERS) -> None:
    """One life in a process that is killed, then a start that finds out what happened."""
    child = os.fork()
    if child == 0:
        _live(folder, dies_at, habit, orders)
    os.waitpid(child, 0)
    venue = LastingVenue(folder / "venue.db")
    with TradeJournal.open(folder / "trades.db") as journal:
        asyncio.run(tend_orders(journal, venue))
        there = venue.held().orders
        assert not unsettled(journal)
        for entry in journal.entries():
            known = entry.state is JournalState.ACKNOWLEDGED
            assert known is (entry.order.client_id in there)
        assert set(there) <= {entry.order.client_id for entry in journal.entries()}
    traded = sum(one.filled * one.order.side.sign for one in there.values())
    if orders is ORDERS:
        assert ("entry" in there) is ("stop" in there), "what is opened has its stop"
    assert abs(venue.held().position("ETHUSDT").quantity) == abs(traded) <= 1.0
    venue.end()


def _live(folder: Path, dies_at: int, habit: str, orders: Sequence[VenueOrder]) -> None:
    """Never returns: it is killed on the way, or ends by itself."""
    try:
        venue = LastingVenue(folder / "venue.db", dies_at=dies_at, habit=habit)
        with TradeJournal.open(folder / "trades.db") as journal:
            asyncio.run(_sent(journal, venue, orders))
    finally:
        os._exit(0)


async def _sent(journal: TradeJournal, venue: LastingVenue, orders: Sequence[VenueOrder]) -> None:
    async def no_time(_: float) -> None:
        return None

    with suppress(VenueSilentError):
        await send_orders(journal, venue, PLAN, orders, sleep=no_time)


@pytest.mark.parametrize("habit", ["prompt", "twice", "silent"])
def test_a_killed_order_is_there_once_or_known_to_be_missing(tmp_path: Path, habit: str) -> None:
    draws = Random(habit)
    for run in range(3):
        folder = tmp_path / str(run)
        folder.mkdir()
        _run(folder, draws.randrange(_MOMENTS + 1), habit)


@pytest.mark.parametrize(
    ("habit", "dies_at"),
    some_of(product(["prompt", "twice", "silent"], [*range(_HEDGE_MOMENTS), -1]), 15, seed=44),
)
def test_a_killed_hedge_never_sells_more_than_was_approved(
    tmp_path: Path, habit: str, dies_at: int
) -> None:
    """Between the resting order, its cancelling and what finishes it: never both in full."""
    _run(tmp_path, dies_at, habit, HEDGE)


def test_what_finishes_a_hedge_takes_what_is_left(tmp_path: Path) -> None:
    venue = LastingVenue(tmp_path / "venue.db")
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        asyncio.run(_sent(journal, venue, HEDGE))
        rest = journal.entries()[1]

    assert rest.state is JournalState.ACKNOWLEDGED
    assert venue.held().position("ETHUSDT").quantity == -1.0
    assert venue.held().orders["entry"].state is OrderState.CANCELLED
    venue.end()


@pytest.mark.soak
def test_three_hundred_killed_orders(tmp_path: Path) -> None:
    draws = Random(3)
    for run in range(300):
        folder = tmp_path / str(run)
        folder.mkdir()
        habit = draws.choice(["prompt", "twice", "silent"])
        _run(folder, run % (_MOMENTS + 1), habit)
