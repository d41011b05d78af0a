"""What became of trades, by their own fills."""

from __future__ import annotations

import pytest

from chain.exchange.orders.hedge import PlanOrders, closings
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType
from tests.chain.exchange.markets import order

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
