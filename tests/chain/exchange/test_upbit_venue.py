"""Upbit's spot market through ccxt on loopback: bought, sold, never short, and sent once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chain.exchange.orders.engine import send_orders, tend_orders
from chain.exchange.orders.journal import JournalState, TradeJournal
from chain.exchange.orders.order import OrderSide, OrderState, OrderType, VenueOrder
from chain.exchange.orders.venue import OrderUnansweredError
from chain.exchange.orders.venues.upbit.venue import UpbitVenue
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from tests.chain.exchange.markets import ETH, order
from tests.fakes.exchange import Refusal
from tests.fakes.upbit import ETH_WON, KEYS, SILENT, WON, UpbitDouble, error

pytest.importorskip("aiodns", reason="the extra trade is not installed")

BUY, SELL = OrderSide.BUY, OrderSide.SELL
PRICE = ETH_WON / WON
NAME = "upbit:loopback"
ENTRY = order(BUY, OrderType.LIMIT_TAKER, 0.5, PRICE * 1.001, name="entry")


@asynccontextmanager
async def opened(double: UpbitDouble) -> AsyncIterator[UpbitVenue]:
    from chain.exchange.orders.venues.upbit.venue import UpbitVenue

    async with double.running() as url, BinancePublic(ExchangeAddress(url, "loopback")) as market:
        venue = UpbitVenue(NAME, market, KEYS, base_url=url, between_looks=0.0)
        try:
            yield venue
        finally:
            await venue.close()


async def test_coins_are_bought_held_and_what_is_held_is_sold() -> None:
    double = UpbitDouble()
    exit_ = order(SELL, OrderType.MARKET, 9.0, name="exit", reduce_only=True)
    async with opened(double) as venue:
        done = await venue.submit(ENTRY)
        again = await venue.submit(ENTRY)
        held = await venue.account()
        gain = order(SELL, OrderType.TAKE_PROFIT, 0.5, PRICE * 1.1, name="gain", reduce_only=True)
        rests = await venue.submit(gain)
        waiting = (await venue.account()).open_orders
        ended = await venue.cancel(gain)
        left = await venue.submit(exit_)
        nothing = await venue.submit(order(SELL, OrderType.MARKET, 1.0, name="x", reduce_only=True))

    assert (done.state, done.filled) == (again.state, again.filled) == (OrderState.FILLED, 0.5)
    assert done.average == pytest.approx(PRICE)
    assert done.fees == pytest.approx(0.5 * PRICE * 0.0005)
    assert held.money_per_usd == WON
    assert held.quantity_of(ETH) == 0.5
    assert held.equity == pytest.approx(10_000 - done.fees)
    assert rests.state is OrderState.OPEN
    assert [(one.order.client_id, one.order.reduce_only) for one in waiting] == [("gain", True)]
    assert ended is not None
    assert ended.state is OrderState.CANCELLED
    assert (left.filled, double.held["ETH"]) == (0.5, 0.0)
    assert nothing.state is OrderState.REFUSED


@pytest.mark.parametrize(
    "wrong",
    [
        order(SELL, OrderType.MARKET, 1.0, name="short"),
        order(SELL, OrderType.STOP, 1.0, 10.0, name="stop", reduce_only=True),
        order(BUY, OrderType.MAKER, 1.0, 10.0, name="maker"),
        order(BUY, OrderType.MARKET, 1.0, name="cover", reduce_only=True),
    ],
)
def test_what_spot_cannot_take_is_refused_before_it_is_sent(wrong: VenueOrder) -> None:
    from chain.exchange.orders.venues.upbit.venue import refusal

    assert refusal(wrong)
    assert not refusal(ENTRY)


async def test_faults_end_right_or_in_one_sentence(tmp_path: Path) -> None:
    """Refused, part, taken without an answer, lost, and a name that is known already."""
    double = UpbitDouble()
    small = order(BUY, OrderType.MARKET, 0.000001, name="small")
    large = order(BUY, OrderType.LIMIT_TAKER, 50.0, PRICE * 1.001, name="large")
    async with opened(double) as venue:
        for wrong in (small, large):
            said = await venue.submit(wrong)
            assert said.state is OrderState.REFUSED
            assert 0 < len(said.reason) < 200
        double.depth = 0.2
        part = await venue.submit(ENTRY)
        assert (part.state, part.filled) == (OrderState.CANCELLED, 0.2)
        double.depth = 1e9
        for place, fault in enumerate((SILENT, error(500, "server_error"), Refusal(504))):
            double.placing = [(fault, True)]
            known = await venue.submit(order(BUY, OrderType.MARKET, 0.01, name=f"late{place}"))
            assert known.state is OrderState.FILLED
        assert len(double.taken) == len(set(double.taken))

        plan_id = "plan_1"
        double.placing = [(SILENT, False)]
        with TradeJournal.open(tmp_path / "trades.db") as journal:
            lost = order(BUY, OrderType.MARKET, 0.01, name="lost")
            with pytest.raises(OrderUnansweredError):
                await send_orders(journal, venue, plan_id, [lost], sleep=_no_time)
            double.now += int(venue.late_seconds) + 1
            await tend_orders(journal, venue)
            assert [one.state for one in journal.entries()] == [JournalState.ABANDONED]
    assert double.taken.count("lost") == 1


async def test_slices_are_orders_of_their_own(tmp_path: Path) -> None:
    double = UpbitDouble()
    sliced = VenueOrder(
        client_id="entry",
        symbol=ETH,
        side=BUY,
        type=OrderType.SLICED,
        quantity=0.1,
        slices=3,
        slice_seconds=300,
    )

    async def passing(_: float) -> None: ...

    plan_id = "plan_1"
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        async with opened(double) as venue:
            await send_orders(journal, venue, plan_id, [sliced], sleep=passing)

    assert double.taken == ["entry.0", "entry.1", "entry.2"]
    assert double.held["ETH"] == pytest.approx(0.1)


async def _no_time(_: float) -> None:
    return None


async def test_a_key_that_sees_withdrawals_is_taken_for_one_that_makes_them() -> None:
    double = UpbitDouble()
    async with opened(double) as venue:
        scoped = await venue.check("ETHUSDT")
        double.may_withdraw = True
        wide = await venue.check("ETHUSDT")

    assert not scoped.may_withdraw
    assert wide.may_withdraw
