"""Kill −9 at every request of an order's life on the exchange, which answers late, twice or not."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from chain.exchange.orders.journal import JournalState, TradeApproval, TradeJournal
from chain.exchange.orders.order import OrderSide, OrderType
from chain.exchange.orders.venue import OrderUnansweredError, reconcile, send_orders
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from tests.chain.exchange.markets import ETH, order
from tests.fakes.exchange_account import KEYS, SILENT, AccountDouble, error
from tests.printed import printed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.exchange import Refusal

pytest.importorskip("aiodns", reason="the extra trade is not installed")

VENUE = "demo:loopback"
APPROVAL = TradeApproval("plan_0123456789abcdef", "aa", VENUE, 0.0)
ORDERS = [
    order(OrderSide.BUY, OrderType.MARKET, 1.0, name="entry"),
    order(OrderSide.SELL, OrderType.STOP, 1.0, 10.0, name="stop", reduce_only=True),
]
LATE = 11
MOMENTS = 14
"""Requests and writes of both orders' lives."""
HABITS: dict[str, list[tuple[Refusal, bool]]] = {
    "prompt": [],
    "lost": [(SILENT, False)],
    "silent": [(SILENT, True)],
    "timed out": [(error(408, -1007, "Timeout waiting for response."), True)],
    "off by the clock": [(error(400, -1021, "Timestamp is outside."), False)],
}


async def _used(folder: Path, double: AccountDouble, dies_at: int | None) -> None:
    """With a moment to die at it sends; without it finds out what happened."""
    from chain.exchange.orders.binance_venue import BinanceVenue

    async with double.running() as url, BinancePublic(ExchangeAddress(url, "loopback")) as market:
        venue = BinanceVenue(VENUE, market, KEYS, base_url=url, between_looks=0.0)
        with TradeJournal.open(folder / "trades.db") as journal:
            if dies_at is None:
                await reconcile(journal, venue)
            else:
                _mortal(venue, double, dies_at)
                with suppress(OrderUnansweredError):
                    await send_orders(journal, venue, APPROVAL, ORDERS)
        await venue.close()


def _mortal(venue: Any, double: AccountDouble, dies_at: int) -> None:
    """Each question of the venue and each answer to it is a moment."""
    left = dies_at

    def moment() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    for name in ("now", "_placed", "find"):
        asked = getattr(venue, name)

        async def counted(*given: Any, asked: Any = asked) -> Any:
            moment()
            answer = await asked(*given)
            moment()
            return answer

        setattr(venue, name, counted)


def run(folder: Path, dies_at: int, habit: str) -> int:
    """How many orders the venue has in the end."""
    folder.mkdir()
    with TradeJournal.open(folder / "trades.db") as journal:
        journal.approve(APPROVAL)
    double = AccountDouble(path=folder / "venue.db", placing=list(HABITS[habit]))
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(_used(folder, double, dies_at))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    double.now += LATE
    asyncio.run(_used(folder, double, None))
    there = double.held().orders
    with TradeJournal.open(folder / "trades.db") as journal:
        assert not journal.unsettled()
        entries = journal.entries()
    for entry in entries:
        known = entry.state is JournalState.ACKNOWLEDGED
        assert known is (entry.order.client_id in there), (dies_at, habit)
    assert set(there) <= {entry.order.client_id for entry in entries}
    bought = there["entry"].filled if "entry" in there else 0.0
    assert double.held().position(ETH).quantity == bought <= 1.0
    assert double.taken == [], "what finds out sends nothing"
    return len(there)


def test_an_order_that_is_killed_is_there_once_or_known_to_be_missing(tmp_path: Path) -> None:
    draws = Random(17)
    for number, habit in enumerate(HABITS):
        run(tmp_path / str(number), draws.randrange(MOMENTS + 1), habit)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_three_hundred_killed_orders_on_the_exchange(tmp_path: Path, part: int) -> None:
    draws, there = Random(part), 0
    for number in range(30):
        habit = draws.choice(list(HABITS))
        there += run(tmp_path / str(number), (part * 30 + number) % (MOMENTS + 1), habit)
    printed(f"G10: 30 senders killed, {there} orders there, each once, the others known missing")
