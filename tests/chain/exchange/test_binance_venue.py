"""Binance through ccxt on the loopback exchange: each fault ends right or in one sentence."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from chain.exchange.orders.engine import NoticeKind, send_orders, tend_orders
from chain.exchange.orders.journal import JournalState, TradeJournal
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType, VenueOrder
from chain.exchange.orders.venue import AccountCheck, OrderUnansweredError
from chain.exchange.orders.venues.binance.venue import BinanceVenue
from chain.exchange.orders.venues.paper.venue import cancel_order
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from chain.exchange.public.margin import MarkedPosition, account_risk
from tests.chain.exchange.markets import ETH, order
from tests.fakes.exchange import Refusal
from tests.fakes.exchange_account import KEYS, LATE, SILENT, AccountDouble, error

pytest.importorskip("aiodns", reason="the extra trade is not installed")

BUY = order(OrderSide.BUY, OrderType.MARKET, 1.0, name="entry")
TIMEOUT = error(408, -1007, "Timeout waiting for response from backend server.")


@pytest.fixture
def double(tmp_path: Path) -> AccountDouble:
    return AccountDouble(path=tmp_path / "venue.db")


@asynccontextmanager
async def opened(double: AccountDouble) -> AsyncIterator[BinanceVenue]:
    from chain.exchange.orders.venues.binance.venue import BinanceVenue

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


async def test_fees_that_are_paid_in_another_coin_are_told_in_dollars(
    double: AccountDouble,
) -> None:
    async with opened(double) as venue:
        mark = (await venue._market.funding(ETH)).mark
        double.fee_coin, double.fee_coin_mark = "ETH", mark
        done = await venue.submit(BUY)

    assert mark > 100
    assert done.fees == pytest.approx(double.held().fees, rel=1e-4)


@pytest.mark.parametrize(("told", "at"), [("4210.5", 4_210.5), ("0", None)])
async def test_a_venue_s_own_price_of_liquidation_is_told(
    double: AccountDouble, told: str, at: float | None
) -> None:
    double.liquidation = told
    async with opened(double) as venue:
        await venue.submit(order(OrderSide.SELL, OrderType.MARKET, 1.0, name="short"))
        account = await venue.account()

    mark = 3_000.0
    by_rule = (account.equity - 0.005 * mark) / (mark * 1.005)
    risk = account_risk(
        account.equity,
        [MarkedPosition(one.quantity, mark, one.liquidation) for one in account.positions],
    )
    assert [one.liquidation for one in account.positions] == [at]
    assert risk is not None
    assert risk.to_liquidation == pytest.approx(by_rule if at is None else at / mark - 1)


async def test_fees_are_those_of_seven_days_however_many_there_are(double: AccountDouble) -> None:
    start = (double.now - 7 * 86_400) * 1000
    # Some at the same moment, also where a page ends.
    double.paid_fees = [start - 5, *(start + number // 3 * 700_000 for number in range(2_500))]
    async with opened(double) as venue:
        account = await venue.account()

    assert (account.fees, account.funding, account.days) == (1_250.0, 0.0, 7)


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
    plan_id = "plan_1"
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        async with opened(double) as venue:
            with pytest.raises(OrderUnansweredError, match="entry"):
                await send_orders(journal, venue, plan_id, [BUY], sleep=_no_time)
            assert await tend_orders(journal, venue) == ()
            assert [one.state for one in journal.entries()] == [JournalState.SENDING]
            double.now += int(venue.late_seconds) + 1
            [notice] = await tend_orders(journal, venue)
            assert notice.kind is NoticeKind.UNREACHED

        assert [one.state for one in journal.entries()] == [JournalState.ABANDONED]
    assert double.taken == ["entry"]


async def _no_time(_: float) -> None:
    return None


async def test_a_lost_order_is_looked_for_until_it_cannot_come_any_more(
    double: AccountDouble, tmp_path: Path
) -> None:
    double.placing = [(LATE, True)]
    plan_id = "plan_1"
    lost = "plan_2"
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        async with opened(double) as venue:
            [late] = await send_orders(journal, venue, plan_id, [BUY], sleep=double.pass_time)
            double.placing = [(SILENT, False)]
            other = replace(BUY, client_id="other")
            [gone] = await send_orders(journal, venue, lost, [other], sleep=double.pass_time)

    assert late.state is OrderState.FILLED
    assert (gone.state, gone.reason) == (OrderState.REFUSED, "it never reached the venue")
    assert double.accepted() == ["entry"]


async def test_an_account_is_checked_before_its_first_order(double: AccountDouble) -> None:
    async with opened(double) as venue:
        fit = await venue.check(ETH)
        double.hedge_mode, double.multi_assets, double.may_withdraw = True, True, True
        unfit = await venue.check(ETH)
        refused = await venue.submit(BUY)

    assert fit == AccountCheck(
        (), ("ETHUSDT is set to 20×: the whole futures wallet answers for it",)
    )
    assert "one-way mode" in unfit.faults[0]
    assert any("multi-assets" in remark for remark in unfit.remarks)
    assert unfit.may_withdraw
    assert refused.state is OrderState.REFUSED
    assert "one-way mode" in refused.reason
    assert "{" not in refused.reason


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

    plan_id = "plan_1"
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        async with opened(double) as venue:
            sent = await send_orders(journal, venue, plan_id, [sliced], sleep=passing)

    assert double.taken == ["entry.0", "entry.1", "entry.2"]
    assert [one.order.quantity for one in sent] == [0.033, 0.033, 0.034]
    assert waited == [300, 300]
    assert double.held().position(ETH).quantity == pytest.approx(0.1)


async def test_a_refused_entry_leaves_no_stop_behind(double: AccountDouble, tmp_path: Path) -> None:
    double.placing = [(error(400, -2019, "Margin is insufficient."), False)]
    stop = order(OrderSide.SELL, OrderType.STOP, 1.0, 10.0, name="stop", reduce_only=True)
    plan_id = "plan_1"
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        async with opened(double) as venue:
            [refused] = await send_orders(journal, venue, plan_id, [BUY, stop])
        states = [one.state for one in journal.entries()]

    assert refused.state is OrderState.REFUSED
    assert states == [JournalState.ACKNOWLEDGED, JournalState.ABANDONED]
    assert double.taken == ["entry"]


@pytest.mark.parametrize("kind", [OrderType.STOP, OrderType.TAKE_PROFIT])
def test_what_waits_for_a_price_only_ever_reduces(kind: OrderType) -> None:
    """A stop that outlives its position would open another one, in the middle of the night."""
    from chain.exchange.orders.venues.binance.venue import order_request

    _, _, named = order_request(order(OrderSide.SELL, kind, 1.0, price=2_000.0))

    assert named["reduceOnly"] is True


async def test_nothing_of_a_signed_request_stands_in_a_sentence(double: AccountDouble) -> None:
    double.faults["/fapi/v1/order"] = error(400, -1100, "Bad: x=1&signature=0123456789abcdef")

    done = await sent(double)

    assert done.state is OrderState.REFUSED
    assert "Bad" in done.reason
    assert "0123456789" not in done.reason


GUARDS = [
    order(OrderSide.SELL, OrderType.STOP, 1.0, 1_000.0, name="stop", reduce_only=True),
    order(OrderSide.SELL, OrderType.TAKE_PROFIT, 1.0, 9_000.0, name="profit", reduce_only=True),
]


async def _lived(
    double: AccountDouble, folder: Path, orders: list[VenueOrder], polls: int = 2
) -> tuple[list[NoticeKind], list[NoticeKind]]:
    """What is told while orders are sent, and by polls after that."""
    plan_id = "plan_1"
    told: list[NoticeKind] = []
    later: list[NoticeKind] = []
    with TradeJournal.open(folder / "trades.db") as journal:
        async with opened(double) as venue:
            await send_orders(
                journal,
                venue,
                plan_id,
                orders,
                sleep=double.pass_time,
                on_notice=lambda notice: told.append(notice.kind),
            )
            for _ in range(polls):
                double.now += 30
                notices = await tend_orders(journal, venue, sleep=double.pass_time)
                later += [notice.kind for notice in notices]
    return told, later


async def test_a_stop_that_is_refused_for_good_closes_the_trade(
    double: AccountDouble, tmp_path: Path
) -> None:
    double.refuses[OrderType.STOP] = 99
    told, later = await _lived(double, tmp_path, [BUY, *GUARDS])

    assert told == [NoticeKind.CLOSED]
    assert later == []
    assert double.held().position(ETH).quantity == 0.0
    assert double.accepted() == ["entry", "entry.x0"]


async def test_a_stop_that_is_refused_twice_is_sent_again(
    double: AccountDouble, tmp_path: Path
) -> None:
    double.refuses[OrderType.STOP] = 2
    told, later = await _lived(double, tmp_path, [BUY, *GUARDS])

    assert (told, later) == ([], [])
    assert double.accepted() == ["entry", "stop", "profit"]


async def test_a_profit_that_is_refused_leaves_the_stop(
    double: AccountDouble, tmp_path: Path
) -> None:
    double.refuses[OrderType.TAKE_PROFIT] = 99
    told, later = await _lived(double, tmp_path, [BUY, *GUARDS])

    assert (told, later) == ([NoticeKind.NO_PROFIT], [])
    assert [one.order.client_id for one in double.held().open_orders()] == ["stop"]


async def test_a_resting_entry_that_expires_leaves_nothing_on_the_venue(
    double: AccountDouble, tmp_path: Path
) -> None:
    entry = order(OrderSide.BUY, OrderType.MAKER, 1.0, 1_500.0, name="entry", expires=60)
    told, later = await _lived(double, tmp_path, [entry, *GUARDS])

    assert (told, later) == ([], [])
    assert double.accepted() == ["entry"]
    assert not double.held().open_orders()


async def test_what_somebody_closes_elsewhere_leaves_no_stop_behind(
    double: AccountDouble, tmp_path: Path
) -> None:
    await _lived(double, tmp_path, [BUY, *GUARDS], polls=0)
    double.keep(replace(double.held(), positions={}))
    double.now += 30
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        async with opened(double) as venue:
            notices = await tend_orders(journal, venue, sleep=double.pass_time)
            again = await tend_orders(journal, venue, sleep=double.pass_time)

    assert [notice.kind for notice in notices] == [NoticeKind.CLEARED] * 2
    assert again == ()
    assert not double.held().open_orders()


async def test_a_trade_whose_orders_somebody_cancelled_is_told_of_until_it_is_closed(
    double: AccountDouble, tmp_path: Path
) -> None:
    await _lived(double, tmp_path, [BUY, *GUARDS], polls=0)
    for name in ("stop", "profit"):
        double.keep(cancel_order(double.held(), name, double.now, "by its owner"))
    told = []
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        async with opened(double) as venue:
            for holds in (True, True, True, False, False):
                if not holds:
                    double.keep(replace(double.held(), positions={}))
                double.now += 30
                notices = await tend_orders(journal, venue, sleep=double.pass_time)
                told.append([notice.kind for notice in notices])
            asked = len(double.asked)
            await tend_orders(journal, venue, sleep=double.pass_time)

    assert told == [[NoticeKind.UNPROTECTED]] * 3 + [[], []]
    assert len(double.asked) == asked, "nothing is left to ask about"


async def test_a_venue_that_is_gone_after_the_entry_is_told_at_once(
    double: AccountDouble, tmp_path: Path
) -> None:
    double.faults["/fapi/v1/algoOrder"] = error(503, -1000, "Unknown error.")
    told, later = await _lived(double, tmp_path, [BUY, *GUARDS], polls=1)

    assert NoticeKind.UNPROTECTED in told
    assert NoticeKind.UNPROTECTED in later


async def test_a_resting_entry_is_protected_part_by_part_as_it_fills(
    double: AccountDouble, tmp_path: Path
) -> None:
    entry = order(OrderSide.BUY, OrderType.MAKER, 1.0, 1_500.0, name="entry", expires=900)
    traded = iter([0.4, 0.6])
    covered: list[tuple[float, float]] = []

    async def passing(_: float) -> None:
        account = double.held()
        stops = [one for one in account.open_orders() if one.order.type is OrderType.STOP]
        covered.append((account.position(ETH).quantity, sum(one.open_quantity for one in stops)))
        double.trade(1_400.0, 3_000.0, next(traded, 1e6))

    plan_id = "plan_1"
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        async with opened(double) as venue:
            done = await send_orders(journal, venue, plan_id, [entry, *GUARDS], sleep=passing)

    assert covered == [(0.0, 0.0), (0.4, 0.4)]
    stops = [one for one in done if one.order.type is OrderType.STOP]
    assert [(one.order.client_id, one.order.quantity) for one in stops] == [
        ("stop", 0.4),
        ("stop.1", 0.6),
    ]


def _resting(double: AccountDouble) -> dict[str, float]:
    return {one.order.client_id: round(one.open_quantity, 6) for one in double.held().open_orders()}


async def test_a_stop_is_as_large_as_what_its_profit_left(
    double: AccountDouble, tmp_path: Path
) -> None:
    await _lived(double, tmp_path, [BUY, *GUARDS], polls=0)
    steps = []
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        async with opened(double) as venue:
            for volume in (0.4, 0.25, 1e6):
                double.trade(3_000.0, 9_500.0, volume)
                await tend_orders(journal, venue, sleep=double.pass_time)
                held = round(double.held().position(ETH).quantity, 6)
                steps.append((held, _resting(double)))

    assert steps == [
        (0.6, {"stop.1": 0.6, "profit": 0.6}),
        (0.35, {"stop.2": 0.35, "profit": 0.35}),
        (0.0, {}),
    ]


@pytest.mark.parametrize(
    ("refusals", "tries", "left"), [(1, 2, {"stop.1": 0.6}), (99, 3, {"stop": 1.0})]
)
async def test_a_smaller_stop_that_is_refused_leaves_the_larger_one_until_it_is_taken(
    double: AccountDouble, tmp_path: Path, refusals: int, tries: int, left: dict[str, float]
) -> None:
    await _lived(double, tmp_path, [BUY, *GUARDS], polls=0)
    double.refuses[OrderType.STOP] = refusals
    double.trade(3_000.0, 9_500.0, 0.4)
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        async with opened(double) as venue:
            for _ in range(5):
                await tend_orders(journal, venue, sleep=double.pass_time)

    assert _resting(double) == {**left, "profit": 0.6}
    assert len([name for name in double.taken if name == "stop.1"]) == tries


async def test_what_is_left_of_a_triggered_profit_is_cancelled_with_its_trade(
    double: AccountDouble, tmp_path: Path
) -> None:
    await _lived(double, tmp_path, [BUY, *GUARDS], polls=0)
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        async with opened(double) as venue:
            double.trade(3_000.0, 9_500.0, 0.4)
            await tend_orders(journal, venue, sleep=double.pass_time)
            double.trade(100.0, 200.0)
            await tend_orders(journal, venue, sleep=double.pass_time)

    assert double.held().position(ETH).quantity == 0.0
    assert _resting(double) == {}
