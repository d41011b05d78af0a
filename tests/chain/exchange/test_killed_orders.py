"""Kill −9 at every moment of an order's life, with a venue that answers late, twice or not."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest

from chain.base.sqlite import open_database, transaction
from chain.exchange.orders.journal import JournalState, TradeApproval, TradeJournal
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderType
from chain.exchange.orders.paper_venue import PaperAccount, placed
from chain.exchange.orders.venue import VenueAccount, reconcile, send_orders
from tests.chain.exchange.markets import START, account, moment, order

if TYPE_CHECKING:
    from pathlib import Path

    from chain.exchange.orders.order import VenueOrder

APPROVAL = TradeApproval("plan_0123456789abcdef", "aa", "test", float(START))
ORDERS = [
    order(OrderSide.BUY, OrderType.MARKET, 1.0, name="entry"),
    order(OrderSide.SELL, OrderType.STOP, 1.0, 2950.0, name="stop", reduce_only=True),
]
_MOMENTS = 9


class VenueSilentError(Exception):
    """The venue took the order and never answered."""


class LastingVenue:
    """An account in a file: it outlives whoever sends to it, and may misbehave."""

    name = "test"
    late_seconds = 0.0

    def __init__(self, path: Path, *, dies_at: int = -1, habit: str = "prompt") -> None:
        self._connection = open_database(path)
        self._connection.execute("CREATE TABLE IF NOT EXISTS held (body BLOB)")
        self._left = dies_at
        self._habit = habit

    def close(self) -> None:
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

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        return (order,)

    async def submit(self, order: VenueOrder) -> OrderProgress:
        self._moment()
        for _ in range(2 if self._habit == "twice" else 1):
            with transaction(self._connection):
                after = placed(self.held(), order, moment())
                self._connection.execute("DELETE FROM held")
                self._connection.execute(
                    "INSERT INTO held VALUES (?)", (msgspec.json.encode(after),)
                )
        self._moment()
        if self._habit == "silent":
            raise VenueSilentError
        return after.orders[order.client_id]

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        return self.held().orders.get(order.client_id)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        raise AssertionError("nothing is cancelled here")

    async def account(self) -> VenueAccount:
        raise AssertionError("nobody looks at the account here")


def _run(folder: Path, dies_at: int, habit: str) -> None:
    """One life in a process that is killed, then a start that finds out what happened."""
    with TradeJournal.open(folder / "trades.db") as journal:
        journal.approve(APPROVAL)
    child = os.fork()
    if child == 0:
        _live(folder, dies_at, habit)
    os.waitpid(child, 0)
    venue = LastingVenue(folder / "venue.db")
    with TradeJournal.open(folder / "trades.db") as journal:
        asyncio.run(reconcile(journal, venue))
        there = venue.held().orders
        assert not journal.unsettled()
        for entry in journal.entries():
            known = entry.state is JournalState.ACKNOWLEDGED
            assert known is (entry.order.client_id in there)
        assert set(there) <= {entry.order.client_id for entry in journal.entries()}
    bought = there["entry"].filled if "entry" in there else 0.0
    assert venue.held().position("ETHUSDT").quantity == bought <= 1.0
    venue.close()


def _live(folder: Path, dies_at: int, habit: str) -> None:
    """Never returns: it is killed on the way, or ends by itself."""
    try:
        venue = LastingVenue(folder / "venue.db", dies_at=dies_at, habit=habit)
        with TradeJournal.open(folder / "trades.db") as journal:
            asyncio.run(_sent(journal, venue))
    finally:
        os._exit(0)


async def _sent(journal: TradeJournal, venue: LastingVenue) -> None:
    with suppress(VenueSilentError):
        await send_orders(journal, venue, APPROVAL, ORDERS)


@pytest.mark.parametrize("habit", ["prompt", "twice", "silent"])
def test_a_killed_order_is_there_once_or_known_to_be_missing(tmp_path: Path, habit: str) -> None:
    draws = Random(habit)
    for run in range(3):
        folder = tmp_path / str(run)
        folder.mkdir()
        _run(folder, draws.randrange(_MOMENTS + 1), habit)


@pytest.mark.soak
def test_three_hundred_killed_orders(tmp_path: Path) -> None:
    draws = Random(3)
    for run in range(300):
        folder = tmp_path / str(run)
        folder.mkdir()
        habit = draws.choice(["prompt", "twice", "silent"])
        _run(folder, run % (_MOMENTS + 1), habit)
