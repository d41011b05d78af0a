"""A hedge opened, followed and closed on a venue."""

from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from chain.exchange.orders.hedge import (
    HedgeFill,
    HedgeKey,
    HedgeStart,
    PlanOrders,
    TakenOver,
    closings,
    position_hedges,
)
from chain.exchange.orders.journal import TradeJournal
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType
from chain.exchange.public.margin import MarkedPosition, account_risk, is_out_of_band
from chain.exchange.public.market import FundingPayment
from chain.protocols.reference import v4_position
from tests.chain.exchange.markets import ETH, START, order


def start(token_id: int, at: float = START, *over: TakenOver) -> HedgeStart:
    return HedgeStart(
        chain_id=1,
        token_id=str(token_id),
        wallet="0x" + "11" * 20,
        coin="ETH",
        symbol=ETH,
        token="0x" + "00" * 20,
        ratio=0.5,
        amount0="0",
        amount1="0",
        sqrt_price_x96="1",
        mark=3_000.0,
        block=7,
        time=at,
        taken_over=over,
    )


def sold(quantity: float, price: float, at: float, *, left: float = 0.0) -> OrderProgress:
    side = OrderSide.SELL if quantity > 0 else OrderSide.BUY
    return OrderProgress(
        order=order(side, OrderType.MARKET, abs(quantity) + left),
        state=OrderState.OPEN if left else OrderState.FILLED,
        placed_at=at,
        filled=abs(quantity),
        average=price,
        fees=1.0,
        changed_at=at,
    )


def test_what_is_short_belongs_to_the_position_whose_plan_sold_it() -> None:
    starts = {"a": start(7), "b": start(8), "c": start(7, START + 50.0)}
    plans = [
        PlanOrders("a", (sold(1.0, 3_000.0, START + 1.0),)),
        PlanOrders("b", (sold(2.0, 3_100.0, START + 2.0, left=0.5),)),
        PlanOrders("c", (sold(-0.4, 2_900.0, START + 60.0),)),
        PlanOrders("outright", (sold(9.0, 3_000.0, START),)),
    ]
    hedges = position_hedges(starts, plans)

    assert hedges[HedgeKey(1, v4_position(7), "ETH")].short == pytest.approx(0.6)
    assert hedges[HedgeKey(1, v4_position(8), "ETH")].short == 2.0
    assert hedges[HedgeKey(1, v4_position(8), "ETH")].waiting == -0.5
    account = hedges[HedgeKey(1, v4_position(7), "ETH")].account(())
    # 1 sold at 3000, 0.4 bought back at 2900, 0.6 still short at 3050, two fees of $1.
    assert account.result(3_050.0) == pytest.approx(3_000 - 0.4 * 2_900 - 0.6 * 3_050 - 2)


def test_a_hedge_that_is_taken_over_changes_hands_at_the_mark_and_adds_up() -> None:
    taken = start(9, START + 100.0, TakenOver("7", 1.0))
    plans = [
        PlanOrders("a", (sold(1.0, 3_200.0, START + 1.0),)),
        PlanOrders("b", (sold(0.5, 2_990.0, START + 101.0),)),
    ]
    hedges = position_hedges({"a": start(7), "b": taken}, plans)
    before, after = (
        hedges[HedgeKey(1, v4_position(7), "ETH")],
        hedges[HedgeKey(1, v4_position(9), "ETH")],
    )

    assert (before.short, after.short) == (0.0, 1.5)
    assert before.account(()).result(1.0) == pytest.approx(200 - 1)
    whole = (before.account(()).result(2_950.0) or 0) + (after.account(()).result(2_950.0) or 0)
    assert whole == pytest.approx(3_200 + 0.5 * 2_990 - 1.5 * 2_950 - 2)


def test_two_coins_of_one_position_are_two_hedges() -> None:
    other = replace(start(7), coin="BTC", symbol="BTCUSDT")
    plans = [
        PlanOrders("a", (sold(1.0, 3_000.0, START + 1.0),)),
        PlanOrders("b", (sold(0.1, 90_000.0, START + 2.0),)),
    ]
    hedges = position_hedges({"a": start(7), "b": other}, plans)

    assert {key.coin: hedge.short for key, hedge in hedges.items()} == {"ETH": 1.0, "BTC": 0.1}


def test_funding_is_of_what_was_short_when_it_was_paid() -> None:
    hedge = position_hedges(
        {"a": start(7)},
        [PlanOrders("a", (sold(2.0, 3_000.0, START + 10.0), sold(-2.0, 3_000.0, START + 30.0)))],
    )[HedgeKey(1, v4_position(7), "ETH")]
    payments = [
        FundingPayment(START + 5, 0.01, 3_000.0),
        FundingPayment(START + 20, 0.001, 3_100.0),
        FundingPayment(START + 40, 0.01, None),
    ]

    assert hedge.account(payments).funding == pytest.approx(2.0 * 3_100 * 0.001)
    unpriced = [FundingPayment(START + 20, 0.001, None)]
    assert hedge.account(unpriced).funding is None
    assert hedge.account(unpriced).result(3_000.0) is None
    assert [fill.coins for fill in hedge.fills] == [-2.0, 2.0]
    assert hedge.fills[0] == HedgeFill(START + 10.0, -2.0, 3_000.0, 1.0)


def test_what_is_hedged_is_written_down_with_the_orders_or_not_at_all(tmp_path: Path) -> None:
    plan_id = "plan_1"
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        journal.begin(plan_id, "test", [], START + 3.0, start(2**200, 0.0, TakenOver("7", 1.0)))

        found = journal.hedges("test")["plan_1"]
        assert found == start(2**200, START + 3.0, TakenOver("7", 1.0))
        assert found.key == HedgeKey(1, v4_position(2**200), "ETH")
        assert not journal.hedges("elsewhere")


BUY, SELL = OrderSide.BUY, OrderSide.SELL


def done(
    side: OrderSide,
    quantity: float,
    average: float,
    at: float,
    *,
    kind: OrderType = OrderType.MARKET,
    reduce_only: bool = False,
) -> OrderProgress:
    price = average if kind is not OrderType.MARKET else None
    return OrderProgress(
        order=order(side, kind, quantity, price, name=f"o{at:g}", reduce_only=reduce_only),
        state=OrderState.FILLED,
        placed_at=0.0,
        filled=quantity,
        average=average,
        fees=1.0,
        changed_at=at,
    )


def test_a_trade_is_closed_by_its_own_stop_after_fees() -> None:
    entry = done(BUY, 2.0, 3000.0, 1)
    stop = done(SELL, 2.0, 2950.0, 5, kind=OrderType.STOP, reduce_only=True)

    [closing] = closings([PlanOrders("plan_a", (entry, stop))])

    assert closing.exit_type is OrderType.STOP
    assert closing.pnl_usd == pytest.approx(-100 - 2)
    assert closing.closed_at == 5


def test_a_hedge_is_closed_by_later_plans_part_by_part() -> None:
    entry = PlanOrders("plan_a", (done(SELL, 1.0, 3000.0, 1),))
    first = PlanOrders("plan_b", (done(BUY, 0.4, 2900.0, 2, reduce_only=True),))
    second = PlanOrders("plan_c", (done(BUY, 0.6, 2800.0, 3, reduce_only=True),))

    assert [one.plan_id for one in closings([entry, first])] == ["plan_b"]
    closing, *parts = closings([entry, first, second])

    assert [one.plan_id for one in parts] == ["plan_b", "plan_c"]
    assert sum(one.pnl_usd or 0 for one in parts) == pytest.approx(closing.pnl_usd)

    assert closing.exit == pytest.approx(0.4 * 2900 + 0.6 * 2800)
    assert closing.pnl_usd == pytest.approx(3000 - 2840 - 3)


def test_a_coin_is_closed_once_and_by_its_own_group_first() -> None:
    older = PlanOrders("plan_a", (done(SELL, 1.0, 3000.0, 1),))
    newer = PlanOrders("plan_b", (done(SELL, 1.0, 3100.0, 2),))
    exit_ = PlanOrders("plan_c", (done(BUY, 1.0, 2900.0, 3, reduce_only=True),))

    in_turn = closings([older, newer, exit_])
    in_group = closings([older, newer, exit_], {"plan_b": 28, "plan_c": 28, "plan_a": 7})

    assert [one.plan_id for one in in_turn] == ["plan_a", "plan_c"]
    assert [one.plan_id for one in in_group] == ["plan_b", "plan_c"]
    assert {one.pnl_usd for one in in_group} == {198.0}


def test_an_entry_of_several_orders_is_one_trade() -> None:
    parts = (done(BUY, 1.0, 3000.0, 1), done(BUY, 1.0, 3020.0, 2))
    stop = done(SELL, 2.0, 2950.0, 5, kind=OrderType.STOP, reduce_only=True)

    [closing] = closings([PlanOrders("plan_a", (*parts, stop))])

    assert (closing.entry, closing.quantity, closing.pnl_usd) == (3010.0, 2.0, -123.0)


def test_what_never_opened_or_closed_before_is_no_trade() -> None:
    early = PlanOrders("plan_b", (done(SELL, 1.0, 3100.0, 0.5, reduce_only=True),))
    entry = PlanOrders("plan_a", (done(BUY, 1.0, 3000.0, 1),))

    [left] = closings([early, entry])

    assert (left.plan_id, left.entry, left.pnl_usd) == ("plan_b", None, None)


def _closed_at(equity: float, held: list[MarkedPosition]) -> float:
    """Walked in steps of a thousandth of a per cent until the account is under what is wanted."""
    move = 0.0
    while True:
        account = wanted = 0.0
        for quantity, mark, told in held:
            price = mark * (1 + move) if quantity < 0 else mark * (1 - move)
            account += quantity * (price - mark)
            wanted += abs(quantity) * price * 0.005
            if told and ((price >= told) if quantity < 0 else (price <= told)):
                return move
        if equity + account < wanted:
            return move
        move += 1e-5


def test_an_account_is_closed_where_a_walk_of_all_its_prices_ends() -> None:
    """Two hedges of two coins and an outright trade, all moving against the account at once."""
    draws = Random(50)
    for _ in range(10):
        held = [
            MarkedPosition(-draws.uniform(0.5, 4.0), 3_000.0),
            MarkedPosition(-draws.uniform(0.02, 0.2), 60_000.0),
            MarkedPosition(draws.choice((-1, 1)) * draws.uniform(1.0, 40.0), 150.0),
        ]
        equity = sum(abs(each.quantity) * each.mark for each in held) / draws.uniform(0.8, 5.0)
        if draws.random() < 0.3:
            held[0] = held[0]._replace(liquidation=3_000.0 * draws.uniform(1.02, 1.5))
        risk = account_risk(equity, held)

        assert risk is not None
        assert risk.to_liquidation == pytest.approx(_closed_at(equity, held), abs=3e-5)
    alone = account_risk(10_000.0, [MarkedPosition(-10 / 3, 3_000.0)])
    both = account_risk(
        10_000.0, [MarkedPosition(-10 / 3, 3_000.0), MarkedPosition(-1 / 6, 60_000)]
    )
    assert alone is not None
    assert both is not None
    assert (alone.leverage, both.leverage) == pytest.approx((1.0, 2.0))
    assert both.to_liquidation < alone.to_liquidation / 2
    assert account_risk(0.0, [MarkedPosition(-1.0, 1.0)]) is account_risk(5.0, []) is None


@pytest.mark.parametrize(
    ("short", "out"), [(1.2, False), (1.21, True), (0.8, False), (0.79, True), (1.0, False)]
)
def test_a_band_is_a_share_of_what_is_wanted_to_either_side(short: float, out: bool) -> None:
    assert is_out_of_band(short, 1.0, 0.2) is out
    assert is_out_of_band(0.1, 0.0, 0.2)
