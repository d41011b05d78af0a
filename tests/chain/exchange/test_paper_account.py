"""Paper fills: what an honest venue would have given, and never more."""

import pytest
from msgspec.structs import replace

from chain.exchange.orders.order import OrderSide, OrderState, OrderType, VenueOrder
from chain.exchange.orders.venues.paper import SPOT_FEES
from chain.exchange.orders.venues.paper.venue import (
    MarketCourse,
    PaperAccount,
    cancel_order,
    place_order,
    settle_candles,
)
from chain.exchange.public.market import Candle, FundingPayment
from tests.chain.exchange.markets import BOOK, ETH, START, account, candle, moment, order

BUY, SELL = OrderSide.BUY, OrderSide.SELL


def course(*candles: Candle, payments: tuple[FundingPayment, ...] = ()) -> MarketCourse:
    return MarketCourse(ETH, 60, candles, payments, slippage=0.001)


def test_a_taker_walks_the_book_and_pays_the_fee() -> None:
    after = place_order(account(), order(BUY, OrderType.MARKET, 2.0), moment())

    progress = after.orders["one"]
    assert progress.state is OrderState.FILLED
    assert progress.average == pytest.approx((3001 + 3003) / 2)
    assert after.fees == pytest.approx(6004 * 0.0005)
    assert after.cash == pytest.approx(10_000 - 6004 * 0.0005)
    assert after.equity({ETH: 3002.0}) == pytest.approx(after.cash)


def test_a_spot_account_sells_what_it_holds_and_borrows_nothing() -> None:
    spot = replace(moment(), spot=True, fees=SPOT_FEES)
    bought = place_order(account(), order(BUY, OrderType.MARKET, 2.0), spot)
    short = place_order(account(), order(SELL, OrderType.MARKET, 0.5, name="short"), spot)
    more = place_order(bought, order(SELL, OrderType.MARKET, 2.5, name="more"), spot)
    all_of_it = place_order(bought, order(SELL, OrderType.MARKET, 2.0, name="all"), spot)
    dear = place_order(account(5_000), order(BUY, OrderType.MARKET, 2.0), spot)

    assert bought.fees == pytest.approx(6004 * 0.001)
    assert (short.orders["short"].reason, more.orders["more"].reason) == (
        "only what is held can be sold: 0",
        "only what is held can be sold: 2",
    )
    assert dear.orders["one"].reason == "the cash does not suffice"
    assert all_of_it.orders["all"].state is OrderState.FILLED
    assert not all_of_it.positions


def test_what_the_book_does_not_hold_is_said_and_not_invented() -> None:
    after = place_order(account(100_000), order(SELL, OrderType.MARKET, 9.0), moment())

    progress = after.orders["one"]
    assert (progress.state, progress.filled) == (OrderState.CANCELLED, 5.0)
    assert progress.reason


def test_a_limit_taker_stops_at_its_price() -> None:
    after = place_order(account(), order(BUY, OrderType.LIMIT_TAKER, 2.0, 3001.5), moment())

    progress = after.orders["one"]
    assert (progress.filled, progress.average) == (1.0, 3001.0)
    assert progress.state is OrderState.CANCELLED


@pytest.mark.parametrize(
    ("low", "state"), [(2990.0, OrderState.OPEN), (2989.99, OrderState.FILLED)]
)
def test_a_maker_fills_only_when_traded_through(low: float, state: OrderState) -> None:
    resting = place_order(account(), order(BUY, OrderType.MAKER, 1.0, 2990.0), moment())

    after = settle_candles(resting, course(candle(1, low=low, high=3000)))

    assert after.orders["one"].state is state
    if state is OrderState.FILLED:
        assert after.orders["one"].average == 2990.0
        assert after.fees == pytest.approx(2990 * 0.0002)


def test_a_maker_is_not_filled_by_what_was_traded_before_it() -> None:
    resting = place_order(
        account(), order(BUY, OrderType.MAKER, 1.0, 2990.0), moment(time=START + 90.0)
    )

    after = settle_candles(resting, course(candle(1, low=2900, high=3000)))

    assert after.orders["one"].filled == 0


def test_a_maker_fills_no_more_than_was_traded() -> None:
    resting = place_order(account(), order(BUY, OrderType.MAKER, 1.0, 2990.0), moment())

    after = settle_candles(resting, course(candle(1, low=2900, high=3000, volume=0.25)))

    assert after.orders["one"].filled == 0.25
    assert after.orders["one"].is_open


@pytest.mark.parametrize(("side", "limit"), [(BUY, 3001.0), (SELL, 2999.0)])
def test_a_maker_that_the_market_has_passed_rests_at_a_better_price(
    side: OrderSide, limit: float
) -> None:
    now = moment()
    after = place_order(account(), order(side, OrderType.MAKER, 1.0, limit), now)

    own = now.book.bids if side is BUY else now.book.asks
    assert after.orders["one"].state is OrderState.OPEN
    assert after.orders["one"].order.price == own[0].price
    assert (limit - own[0].price) * side.sign > 0
    assert not after.positions


def test_a_maker_expires() -> None:
    resting = place_order(
        account(), order(BUY, OrderType.MAKER, 1.0, 2990.0, expires=120), moment()
    )

    after = settle_candles(
        resting, course(candle(1, low=2995, high=3000), candle(2, low=2900, high=3000))
    )

    assert after.orders["one"].state is OrderState.EXPIRED


def test_slices_are_taken_over_time() -> None:
    sliced = VenueOrder(
        client_id="one",
        symbol=ETH,
        side=BUY,
        type=OrderType.SLICED,
        quantity=2.0,
        slices=4,
        slice_seconds=120,
    )
    after = place_order(account(), sliced, moment())
    filled = [after.orders["one"].filled]
    for minute in range(1, 8):
        after = settle_candles(after, course(candle(minute, low=3000, high=3001)))
        filled.append(after.orders["one"].filled)

    assert filled == [0.5, 1.0, 1.0, 1.5, 1.5, 2.0, 2.0, 2.0]
    assert after.orders["one"].state is OrderState.FILLED


def held() -> PaperAccount:
    """Long one coin from 3001, protected on both sides."""
    after = place_order(account(), order(BUY, OrderType.MARKET, 1.0), moment())
    stop = order(SELL, OrderType.STOP, 1.0, 2950.0, name="stop", reduce_only=True)
    profit = order(SELL, OrderType.TAKE_PROFIT, 1.0, 3100.0, name="profit", reduce_only=True)
    return place_order(place_order(after, stop, moment()), profit, moment())


def test_a_stop_is_taken_before_a_profit_in_the_same_candle_and_ends_the_other() -> None:
    after = settle_candles(held(), course(candle(1, low=2900, high=3200, start=3000)))

    assert after.orders["stop"].average == pytest.approx(2950 * 0.999)
    assert after.orders["profit"].state is OrderState.CANCELLED
    assert not after.positions


def test_a_stop_that_was_jumped_over_fills_where_the_market_opened() -> None:
    after = settle_candles(held(), course(candle(1, low=2800, high=2900, start=2850)))

    assert after.orders["stop"].average == pytest.approx(2850 * 0.999)


def test_a_protecting_order_waits_for_what_it_protects() -> None:
    entry = order(BUY, OrderType.MAKER, 1.0, 2990.0, name="entry")
    stop = order(SELL, OrderType.STOP, 1.0, 2950.0, name="stop", reduce_only=True)
    waiting = place_order(place_order(account(), entry, moment()), stop, moment())

    untouched = settle_candles(waiting, course(candle(1, low=2990, high=3000)))
    through_both = settle_candles(waiting, course(candle(1, low=2900, high=3000, start=3000)))

    assert untouched.orders["stop"].is_open
    assert through_both.orders["entry"].state is OrderState.FILLED
    assert through_both.orders["stop"].state is OrderState.FILLED
    assert not through_both.positions


def test_what_only_reduces_never_opens() -> None:
    closing = order(SELL, OrderType.MARKET, 4.0, name="close", reduce_only=True)

    after = place_order(held(), closing, moment())

    assert not after.positions
    assert after.orders["close"].filled == 1.0
    assert not after.open_orders()


def test_longs_pay_funding_and_shorts_receive_it() -> None:
    payment = FundingPayment(START + 120, 0.0001, 3000.0)
    quiet = candle(1, low=2999, high=3000)
    long = place_order(account(), order(BUY, OrderType.MARKET, 1.0), moment())
    short = place_order(account(), order(SELL, OrderType.MARKET, 1.0), moment())

    paid = settle_candles(long, course(quiet, payments=(payment,)))
    received = settle_candles(short, course(quiet, payments=(payment,)))

    assert paid.funding == pytest.approx(-0.3)
    assert received.funding == pytest.approx(0.3)
    again = settle_candles(paid, course(quiet, payments=(payment,)))
    assert again == paid


def test_the_same_name_is_the_same_order() -> None:
    first = place_order(account(), order(BUY, OrderType.MARKET, 1.0), moment())

    assert place_order(first, order(BUY, OrderType.MARKET, 1.0), moment()) == first


@pytest.mark.parametrize(
    ("asked", "cash"),
    [
        (order(BUY, OrderType.MARKET, 0.005), 10_000.0),
        (order(BUY, OrderType.MARKET, 1.0), 100.0),
    ],
)
def test_too_small_and_too_large_orders_are_refused(asked: VenueOrder, cash: float) -> None:
    after = place_order(account(cash), asked, moment())

    assert after.orders["one"].state is OrderState.REFUSED
    assert after.cash == cash


def test_an_empty_book_takes_no_order() -> None:
    nobody = replace(BOOK, asks=())

    after = place_order(account(), order(BUY, OrderType.MARKET, 1.0), moment(nobody))

    assert after.orders["one"].state is OrderState.REFUSED


def test_a_cancelled_order_stays_cancelled() -> None:
    resting = place_order(account(), order(BUY, OrderType.MAKER, 1.0, 2990.0), moment())

    after = settle_candles(
        cancel_order(resting, "one", START, "by its owner"), course(candle(1, low=2900, high=3000))
    )

    assert after.orders["one"].state is OrderState.CANCELLED
    assert not after.positions


def test_turning_a_position_realises_the_old_one() -> None:
    long = place_order(account(), order(BUY, OrderType.MARKET, 1.0), moment())

    after = place_order(long, order(SELL, OrderType.MARKET, 2.0, name="turn"), moment())

    assert after.position(ETH).quantity == -1.0
    assert after.cash == pytest.approx(10_000 - after.fees + (2998.5 - 3001))
