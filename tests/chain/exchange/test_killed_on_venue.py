"""Kill −9 at every request of a trade's life on an exchange that loses, delays and keeps orphans.

The sender dies anywhere; a monitor polls; the market fills the entry and reaches stop or profit.
After each poll what is held has its stop, is closed, or somebody was told.
"""

import asyncio
import os
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from chain.exchange.orders.engine import OrderNotice, send_orders, tend_orders
from chain.exchange.orders.journal import JournalState, TradeJournal
from chain.exchange.orders.order import OrderSide, OrderType, VenueOrder
from chain.exchange.orders.venue import OrderUnansweredError
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from tests.chain.exchange.markets import ETH, order, unsettled
from tests.fakes.exchange import Refusal
from tests.fakes.exchange_account import KEYS, LATE, SILENT, AccountDouble, error
from tests.printed import printed

pytest.importorskip("aiodns", reason="the extra trade is not installed")

VENUE = "demo:loopback"
PLAN = "plan_0123456789abcdef"
STOP, PROFIT = 1_000.0, 9_000.0
GUARDS = [
    order(OrderSide.SELL, OrderType.STOP, 1.0, STOP, name="stop", reduce_only=True),
    order(OrderSide.SELL, OrderType.TAKE_PROFIT, 1.0, PROFIT, name="profit", reduce_only=True),
]
LIVES: dict[str, list[VenueOrder]] = {
    "taken": [order(OrderSide.BUY, OrderType.MARKET, 1.0, name="entry"), *GUARDS],
    "resting": [
        order(OrderSide.BUY, OrderType.MAKER, 1.0, 1_500.0, name="entry", expires=900),
        *GUARDS,
    ],
}
MOMENTS = 40
"""Requests and writes of the three orders' lives; beyond them nobody is killed."""
POLLS = (3, 30)
_FAULTS: dict[str, tuple[Refusal, bool]] = {
    "lost": (SILENT, False),
    "silent": (SILENT, True),
    "late": (LATE, True),
    "timed out": (error(408, -1007, "Timeout waiting for response."), True),
    "doubled": (error(400, -4116, "ClientOrderId is duplicated."), True),
    "off by the clock": (error(400, -1021, "Timestamp is outside."), False),
}


def _drawn(draws: Random) -> AccountDouble:
    """A venue with its habits: what becomes of each request to place an order."""
    double = AccountDouble()
    prompt: list[tuple[Any, bool]] = [(None, True)]
    for _ in range(3):
        double.placing += [draws.choice([*_FAULTS.values(), *prompt * 3])]
    if draws.random() < 0.3:
        double.refuses[OrderType.STOP] = draws.choice([1, 2, 99])
    return double


async def _with_venue(folder: Path, double: AccountDouble, use: Any) -> Any:
    from chain.exchange.orders.venues.binance.venue import BinanceVenue

    async with double.running() as url, BinancePublic(ExchangeAddress(url, "loopback")) as market:
        venue = BinanceVenue(VENUE, market, KEYS, base_url=url, between_looks=0.0)
        try:
            with TradeJournal.open(folder / "trades.db") as journal:
                return await use(journal, venue)
        finally:
            await venue.close()


def _sender(double: AccountDouble, orders: list[VenueOrder], dies_at: int) -> Any:
    async def use(journal: TradeJournal, venue: Any) -> None:
        _mortal(venue, dies_at)
        with suppress(OrderUnansweredError):
            await send_orders(journal, venue, PLAN, orders, sleep=double.pass_time)

    return use


def _mortal(venue: Any, dies_at: int) -> None:
    """Each question of the venue and each answer to it is a moment."""
    left = dies_at

    def moment() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    for name in ("now", "_placed", "find", "cancel"):
        asked = getattr(venue, name)

        async def counted(*given: Any, asked: Any = asked) -> Any:
            moment()
            answer = await asked(*given)
            moment()
            return answer

        setattr(venue, name, counted)


def _killed(folder: Path, double: AccountDouble, use: Any) -> None:
    """In a process of its own, which may die of it."""
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(_with_venue(folder, double, use))
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _polled(
    folder: Path, double: AccountDouble, dies_at: int | None = None
) -> tuple[OrderNotice, ...]:
    """One that was killed at this moment first, where one is named; then one that was not."""

    async def use(journal: TradeJournal, venue: Any) -> Any:
        return await tend_orders(journal, venue, sleep=double.pass_time)

    async def dies(journal: TradeJournal, venue: Any) -> None:
        _mortal(venue, dies_at or 0)
        await use(journal, venue)

    if dies_at is not None:
        _killed(folder, double, dies)
        double.now += 12
    notices: tuple[OrderNotice, ...] = asyncio.run(_with_venue(folder, double, use))
    held = double.held().position(ETH).quantity
    stops = [one for one in double.held().open_orders() if one.order.type is OrderType.STOP]
    covered = sum(one.open_quantity for one in stops)
    told = any(notice.is_urgent for notice in notices)
    assert covered == pytest.approx(held) or told, (held, covered, notices)
    assert 0.0 <= held <= 1.0
    return notices


def run(folder: Path, seed: str, dies_at: int) -> str:
    """How the trade ended."""
    folder.mkdir()
    draws = Random(seed)
    life, ends_by = draws.choice(list(LIVES)), draws.choice(["stop", "profit"])
    double = _drawn(draws)
    double.path = folder / "venue.db"
    _killed(folder, double, _sender(double, LIVES[life], dies_at))
    for seconds in POLLS:
        double.now += seconds
        _polled(folder, double)
    double.trade(1_400.0, 3_000.0)
    _polled(folder, double, draws.choice([None, draws.randrange(MOMENTS)]))
    if draws.random() < 0.5:
        # A part of the profit is filled: its stop becomes as small as what is left.
        double.trade(1_400.0, 9_500.0, 0.3)
        _polled(folder, double, draws.choice([None, draws.randrange(MOMENTS)]))
    double.trade(*((900.0, 3_000.0) if ends_by == "stop" else (1_400.0, 9_500.0)))
    _polled(folder, double)
    double.now += 900
    _polled(folder, double)
    there = double.held()
    names = Counter(double.accepted())
    assert set(names.values()) <= {1}, f"one order each: {names}"
    assert not there.open_orders(), "nothing is left behind"
    assert there.position(ETH).quantity == 0.0
    with TradeJournal.open(folder / "trades.db") as journal:
        entries = {entry.order.client_id: entry for entry in journal.entries()}
        assert not unsettled(journal)
    assert set(there.orders) <= set(entries)
    for name in there.orders:
        assert entries[name].state is JournalState.ACKNOWLEDGED
    filled = [name for name, one in there.orders.items() if one.filled]
    return "+".join(sorted(filled)) or "nothing"


def test_a_killed_trade_has_its_stop_or_is_closed(tmp_path: Path) -> None:
    for number, dies_at in enumerate((2, 11, 22)):
        run(tmp_path / str(number), f"sample {number}", dies_at)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_three_hundred_killed_trades_on_the_exchange(tmp_path: Path, part: int) -> None:
    ends: Counter[str] = Counter()
    for number in range(30):
        dies_at = (part * 30 + number) % (MOMENTS + 1)
        ends[run(tmp_path / str(number), f"{part} {number}", dies_at)] += 1
    told = ", ".join(f"{count} {name}" for name, count in sorted(ends.items()))
    printed(
        f"30 senders killed, each order once, none without its stop for longer than a poll: {told}"
    )
