"""What a trade's typed word may send: the orders themselves are judged, whatever the plan says."""

from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from pydantic import ValidationError

from agents.trade.facts import DeskSettings
from agents.trade.plan import TradePlan, with_identity
from agents.trade.terms import TradeDecision
from chain.exchange.orders.order import OrderSide, OrderType, VenueOrder
from chain.execution.outbox.approvals import ActKind, GivenApproval
from tests.agents.trade.cases import HEDGED, NOW
from tests.fakes.exchange import ExchangeDouble
from tests.printed import printed
from tests.zuno_tui.gate.test_trades import Wall, planned, trading
from zuno_tui.features.trade.gate import (
    Trading,
    apply_trade,
    approval_hash,
    approve_trade,
    venue_orders,
    waiting_trade,
)
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

FORGERIES = 60
MANY_FORGERIES = 1_000


def altered(plan: TradePlan, draws: Random) -> TradePlan | None:
    """One field of it changed and the id made to fit; None where no plan can be like that."""
    document = plan.model_dump(mode="json", by_alias=True)
    places = list(_numbers_and_switches(document))
    parent, key = places[draws.randrange(len(places))]
    value = parent[key]  # type: ignore[index]
    if isinstance(value, bool):
        changed: object = not value
    elif isinstance(value, str):
        changed = draws.choice(("buy", "sell", "LONG", "market", "BTC", "BTCUSDT", "live"))
    else:
        changed = (value or 1) * draws.choice((-1, 0, 2, 10, 50))
    parent[key] = changed  # type: ignore[index]
    try:
        return with_identity(TradePlan.model_validate(document, strict=False))
    except ValidationError:
        return None


def _numbers_and_switches(part: object) -> list[tuple[object, object]]:
    found: list[tuple[object, object]] = []
    entries: list[tuple[object, object]] = []
    if isinstance(part, dict):
        entries = list(part.items())
    elif isinstance(part, list):
        entries = list(enumerate(part))
    for key, value in entries:
        if isinstance(value, bool | int | float | str):
            found.append((part, key))
        found += _numbers_and_switches(value)
    return found


async def forge(folder: Path, count: int, seed: int) -> tuple[int, int]:
    """How many forged approvals were refused, and how many altered plans a person could approve."""
    double, wall, draws = ExchangeDouble(), Wall(), Random(seed)
    refused = approvable = 0
    async with trading(folder, double, wall) as desk:
        plan = await planned(desk)
        seen = {plan.plan_id}
        for _ in range(count):
            forged = altered(plan, draws)
            if forged is None or forged.plan_id in seen:
                refused += 1
                continue
            seen.add(forged.plan_id)
            # Whoever writes into the home can compute the hash, and cannot make the tag.
            sealed = approval_hash(forged, desk.venue.name, float(NOW))
            desk.outbox.give(
                GivenApproval(sealed, ActKind.TRADE, forged.plan_id, float(NOW), {}, "ab" * 32)
            )
            with pytest.raises(GateRefusedError):
                await waiting_trade(desk, forged, sealed)
            refused += 1
            try:
                waiting = await approve_trade(desk, forged)
            except GateRefusedError:
                continue
            approvable += 1
            mark = (await desk.market.funding(forged.symbol)).mark
            opening = [one for one in waiting.orders if not one.reduce_only and not one.finishes]
            assert sum(one.quantity for one in opening) * mark <= HEDGED.worth_usd * 1.01
            assert all(one.side is OrderSide.SELL for one in opening)
        assert not (await desk.venue.account()).open_orders
        assert not desk.journal.entries()
    return refused, approvable


async def test_forged_plans_and_approvals_send_nothing(tmp_path: Path) -> None:
    refused, approvable = await forge(tmp_path, FORGERIES, seed=1)

    printed(f"forged trades: {refused} of {FORGERIES} refused at apply, {approvable} approvable")
    assert refused == FORGERIES


@pytest.mark.soak
async def test_a_thousand_forged_plans_and_approvals_send_nothing(tmp_path: Path) -> None:
    refused, approvable = await forge(tmp_path, MANY_FORGERIES, seed=2)

    printed(
        f"forged trades: {refused} of {MANY_FORGERIES} refused at apply, {approvable} approvable"
    )
    assert refused == MANY_FORGERIES


async def refused(desk: Trading, plan: TradePlan) -> GateRefusedError:
    with pytest.raises(GateRefusedError) as error:
        await approve_trade(desk, plan)
    printed(f"trade gate: {error.value}")
    return error.value


def multiplied(plan: TradePlan, times: float) -> TradePlan:
    """Everything fifty times as large, as consistent as a forger can make it."""
    orders = tuple(one.model_copy(update={"quantity": one.quantity * times}) for one in plan.orders)
    update = {
        "orders": orders,
        "quantity": plan.quantity * times,
        "notional_usd": plan.notional_usd * times,
    }
    return with_identity(plan.model_copy(update=update))


def test_a_plan_cannot_say_another_size_than_its_orders() -> None:
    """What the headline would say is what is sent."""
    plan = _some_plan()
    with pytest.raises(ValidationError, match="not that of its orders"):
        TradePlan.model_validate({**plan, "quantity": 0.1}, strict=False)


def _some_plan() -> dict[str, object]:
    from agents.trade.concluding import failed_plan
    from tests.agents.trade.cases import question

    plan = failed_plan(question(), "nothing", (), NOW)
    return plan.model_dump(mode="json", by_alias=True)


async def test_orders_larger_than_the_limits_are_refused_at_approve(tmp_path: Path) -> None:
    async with trading(tmp_path, ExchangeDouble(), Wall()) as desk:
        plan = await planned(desk)

        error = await refused(desk, multiplied(plan, 50))
        assert error.code is RefusalCode.POLICY
        assert "hedge_usd" in str(error)
        small = replace(
            desk,
            settings=DeskSettings(order_usd=2_000.0, hedge_usd=100.0, account_leverage=2.0),
        )
        assert "hedge_usd" in str(await refused(small, plan))


async def test_a_plan_of_paper_is_not_sent_to_an_account(tmp_path: Path) -> None:
    async with trading(tmp_path, ExchangeDouble(), Wall()) as desk:
        plan = await planned(desk)
        live = with_identity(plan.model_copy(update={"venue": "live:binance"}))

        assert "made for live:binance, and this is" in str(await refused(desk, live))


async def test_a_plan_from_the_future_is_refused(tmp_path: Path) -> None:
    wall = Wall()
    async with trading(tmp_path, ExchangeDouble(), wall) as desk:
        plan = await planned(desk)
        wall.now = NOW - 5.0

        assert (await refused(desk, plan)).code is RefusalCode.DRIFT


async def test_waiting_orders_count_as_exposure(tmp_path: Path) -> None:
    """An order that may still open something takes its room under the leverage guard."""
    double = ExchangeDouble()
    async with trading(tmp_path, double, Wall()) as desk:
        plan = await planned(desk)
        mark = (await desk.market.funding(plan.symbol)).mark
        step = (await desk.market.rules(plan.symbol)).quantity_step
        room = int(21_500 / mark / step) * step
        waits = VenueOrder(
            client_id="zuno-waits",
            symbol=plan.symbol,
            side=OrderSide.BUY,
            type=OrderType.MAKER,
            quantity=round(room, 6),
            price=round(mark * 0.9, 2),
        )
        await desk.venue.submit(waits)
        assert (await desk.account()).waiting

        assert "leverage guard" in str(await refused(desk, plan))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"delta": 0.0}, "holds no ETH any more"),
        ({"delta": 0.3}, "more than the band"),
        ({"delta": 0.8}, "more than the band"),
        ({"wallet": "0x" + "9" * 40}, "is not what it was"),
        (None, "holds no ETH any more"),
    ],
)
async def test_a_hedge_whose_position_changed_is_not_sent(
    tmp_path: Path, change: dict[str, object] | None, words: str
) -> None:
    double = ExchangeDouble()
    async with trading(tmp_path, double, Wall()) as desk:
        plan = await planned(desk)
        approved = await approve_trade(desk, plan)

        async def changed(_: int, __: str) -> object:
            return None if change is None else HEDGED.model_copy(update=change)

        later = replace(desk, position=changed)
        with pytest.raises(GateRefusedError, match=words):
            await waiting_trade(later, plan, approved.approval.hash)


async def test_a_closing_plan_only_reduces_what_is_held(tmp_path: Path) -> None:
    double = ExchangeDouble()
    async with trading(tmp_path, double, Wall()) as desk:
        plan = await planned(desk)
        await apply_trade(desk, await approve_trade(desk, plan), sleep=double.pass_time)
        order = plan.orders[0].model_copy(
            update={"purpose": "close", "side": "buy", "type": "market", "price": None}
        )
        close = plan.model_copy(update={"decision": TradeDecision.CANCEL_AND_CLOSE})

        opening = with_identity(close.model_copy(update={"orders": (order,)}))
        assert "may only reduce" in str(await refused(desk, opening))
        more = order.model_copy(update={"reduce_only": True, "quantity": plan.quantity * 2})
        larger = with_identity(close.model_copy(update={"orders": (more,)}))
        assert "is held" in str(await refused(desk, larger))
        sells = order.model_copy(update={"reduce_only": True, "side": "sell"})
        further = with_identity(close.model_copy(update={"orders": (sells,)}))
        assert "may only reduce" in str(await refused(desk, further))


async def test_what_is_sent_is_what_was_approved(tmp_path: Path) -> None:
    async with trading(tmp_path, ExchangeDouble(), Wall()) as desk:
        plan = await planned(desk)
        waiting = await approve_trade(desk, plan)

        assert waiting.orders == venue_orders(plan)
        assert [order.quantity for order in waiting.orders] == [
            order.quantity for order in plan.orders
        ]
