"""Binance through ccxt on the loopback exchange: each fault ends right or in one sentence."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from chain.exchange.orders.journal import JournalState, TradeApproval, TradeJournal
from chain.exchange.orders.order import OrderSide, OrderState, OrderType, VenueOrder
from chain.exchange.orders.venue import OrderUnansweredError, reconcile, send_orders
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from tests.chain.exchange.markets import ETH, order
from tests.fakes.exchange import Refusal
from tests.fakes.exchange_account import KEYS, SILENT, AccountDouble, error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from chain.exchange.orders.binance_venue import BinanceVenue
    from chain.exchange.orders.order import OrderProgress

pytest.importorskip("aiodns", reason="the extra trade is not installed")

BUY = order(OrderSide.BUY, OrderType.MARKET, 1.0, name="entry")
TIMEOUT = error(408, -1007, "Timeout waiting for response from backend server.")


@pytest.fixture
def double(tmp_path: Path) -> AccountDouble:
    return AccountDouble(path=tmp_path / "venue.db")


@asynccontextmanager
async def opened(double: AccountDouble) -> AsyncIterator[BinanceVenue]:
    from chain.exchange.orders.binance_venue import BinanceVenue

    async with double.running() as url, BinancePublic(ExchangeAddress(url, "loopback")) as market:
        venue = BinanceVenue("demo:loopback", market, KEYS, base_url=url, between_looks=0.0)
        try:
            yield venue
        finally:
            await venue.close()


async def sent(double: AccountDouble, wanted: VenueOrder = BUY) -> OrderProgress:
    async with opened(double) as venue:
        return await venue.submit(wanted)


async def test_an_order_is_filled_charged_and_found_again(double: AccountDouble) -> None:
    async with opened(double) as venue:
        done = await venue.submit(BUY)
        again = await venue.submit(BUY)
        account = await venue.account()

    assert (done.state, done.filled) == (OrderState.FILLED, 1.0)
    assert done.fees == pytest.approx(double.held().fees, abs=1e-6)
    assert again == done
    assert [one.quantity for one in account.positions] == [1.0]
    assert double.held().position(ETH).quantity == 1.0


@pytest.mark.parametrize(
    ("fault", "taken", "state", "requests"),
    [
        (error(429, -1003, "Too many requests.", "retry-after: 7"), False, OrderState.REFUSED, 1),
        (error(418, -1003, "Way too many requests."), False, OrderState.REFUSED, 1),
        (error(400, -1021, "Timestamp is outside."), False, OrderState.FILLED, 2),
        (error(400, -2019, "Margin is insufficient."), False, OrderState.REFUSED, 1),
        (error(400, -4164, "Order's notional too small."), False, OrderState.REFUSED, 1),
        (error(400, -4116, "ClientOrderId is duplicated."), True, OrderState.FILLED, 1),
        (error(401, -2015, "Invalid API-key."), False, OrderState.REFUSED, 1),
        (TIMEOUT, True, OrderState.FILLED, 1),
        (error(503, -1000, "Unknown error."), True, OrderState.FILLED, 1),
        (SILENT, True, OrderState.FILLED, 1),
        (Refusal(200, b"<html>"), True, OrderState.FILLED, 1),
    ],
)
async def test_a_fault_ends_in_one_order_or_one_reason(
    double: AccountDouble, fault: Refusal, taken: bool, state: OrderState, requests: int
) -> None:
    double.placing = [(fault, taken)]
    done = await sent(double)

    assert done.state is state
    assert bool(done.reason) is (state is OrderState.REFUSED)
    assert "\n" not in done.reason
    assert KEYS.secret not in done.reason
    assert double.taken == ["entry"] * requests
    assert double.held().position(ETH).quantity == (1.0 if state is OrderState.FILLED else 0.0)


@pytest.mark.parametrize("fault", [TIMEOUT, SILENT])
async def test_what_nobody_answers_for_is_not_sent_again_and_found_later(
    double: AccountDouble, fault: Refusal, tmp_path: Path
) -> None:
    """The request was lost, or is still on its way when it is asked for."""
    double.placing = [(fault, False)]
    approval = TradeApproval("plan_1", "aa", "demo:loopback", 0.0)
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        journal.approve(approval)
        async with opened(double) as venue:
            with pytest.raises(OrderUnansweredError, match="entry"):
                await send_orders(journal, venue, approval, [BUY])
            assert await reconcile(journal, venue) != ()
            assert [one.state for one in journal.entries()] == [JournalState.SENDING]
            double.now += int(venue.late_seconds) + 1
            await reconcile(journal, venue)

        assert [one.state for one in journal.entries()] == [JournalState.ABANDONED]
    assert double.taken == ["entry"]


async def test_a_clock_that_is_off_is_set_by_the_venue_s(double: AccountDouble) -> None:
    double.skew_seconds = 5.0
    async with opened(double) as venue:
        assert (await venue.account()).equity == 10_000.0
        assert (await venue.submit(BUY)).state is OrderState.FILLED
    assert double.held().position(ETH).quantity == 1.0


async def test_a_part_is_a_part(double: AccountDouble) -> None:
    double.depth = 0.4
    done = await sent(double)

    assert (done.state, done.filled) == (OrderState.EXPIRED, 0.4)
    assert double.held().position(ETH).quantity == 0.4


async def test_what_protects_rests_on_the_venue_and_only_reduces(double: AccountDouble) -> None:
    mark = 0.0
    async with opened(double) as venue:
        entry = await venue.submit(BUY)
        assert entry.average is not None
        mark = round(entry.average, 0)
        stop = order(OrderSide.SELL, OrderType.STOP, 1.0, mark * 0.9, name="stop", reduce_only=True)
        gain = order(
            OrderSide.SELL, OrderType.TAKE_PROFIT, 1.0, mark * 1.1, name="gain", reduce_only=True
        )
        for one in (stop, gain):
            assert (await venue.submit(one)).state is OrderState.OPEN
        waiting = (await venue.account()).open_orders
        assert {(one.order.client_id, one.order.reduce_only) for one in waiting} == {
            ("stop", True),
            ("gain", True),
        }
        cancelled = await venue.cancel(stop)
        assert cancelled is not None
        assert not cancelled.is_open
        assert await venue.cancel(order(OrderSide.SELL, OrderType.STOP, 1.0, 9.0, name="x")) is None


async def test_what_the_market_has_passed_rests_at_a_better_price(double: AccountDouble) -> None:
    passed = order(OrderSide.BUY, OrderType.MAKER, 1.0, 10**6, name="passed", expires=900)
    near = order(OrderSide.BUY, OrderType.MAKER, 1.0, 100.0, name="near", expires=900)
    async with opened(double) as venue:
        done = [await venue.submit(one) for one in (passed, near)]

    prices = [one.order.price or 0 for one in done]
    assert [one.state for one in done] == [OrderState.OPEN] * 2
    assert prices[1] == 100.0 < prices[0] < 10_000
    assert not double.held().positions


async def test_slices_are_orders_of_their_own_here(double: AccountDouble, tmp_path: Path) -> None:
    sliced = VenueOrder(
        client_id="entry",
        symbol=ETH,
        side=OrderSide.BUY,
        type=OrderType.SLICED,
        quantity=0.1,
        slices=3,
        slice_seconds=300,
    )
    waited: list[float] = []

    async def passing(seconds: float) -> None:
        waited.append(seconds)

    approval = TradeApproval("plan_1", "aa", "demo:loopback", 0.0)
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        journal.approve(approval)
        async with opened(double) as venue:
            sent = await send_orders(journal, venue, approval, [sliced], sleep=passing)

    assert double.taken == ["entry.0", "entry.1", "entry.2"]
    assert [one.order.quantity for one in sent] == [0.033, 0.033, 0.034]
    assert waited == [300, 300]
    assert double.held().position(ETH).quantity == pytest.approx(0.1)


async def test_a_refused_entry_leaves_no_stop_behind(double: AccountDouble, tmp_path: Path) -> None:
    double.placing = [(error(400, -2019, "Margin is insufficient."), False)]
    stop = order(OrderSide.SELL, OrderType.STOP, 1.0, 10.0, name="stop", reduce_only=True)
    approval = TradeApproval("plan_1", "aa", "demo:loopback", 0.0)
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        journal.approve(approval)
        async with opened(double) as venue:
            [refused] = await send_orders(journal, venue, approval, [BUY, stop])
        states = [one.state for one in journal.entries()]

    assert refused.state is OrderState.REFUSED
    assert states == [JournalState.ACKNOWLEDGED, JournalState.ABANDONED]
    assert double.taken == ["entry"]
