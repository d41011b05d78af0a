"""A trade that is closed by a plan, cut off anywhere: it is closed, or still has its stop."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agents.trade.facts import DeskSettings
from agents.trade.plan import TradePlan
from agents.trade.terms import TradeDecision
from chain.exchange.orders.engine import send_orders, tend_orders
from chain.exchange.orders.journal import TradeJournal
from chain.exchange.orders.order import OrderSide, OrderType
from chain.exchange.orders.venue import VenueFees
from chain.execution.outbox.approvals import ActKind, GivenApproval
from chain.execution.outbox.outbox import Outbox
from tests.chain.exchange.markets import ETH, order
from tests.chain.exchange.test_binance_venue import BUY, GUARDS, opened
from tests.fakes.exchange_account import AccountDouble, error
from tests.zuno_tui.gate.test_trades import Wall, planned, trading, unchanged
from zuno_tui.features.trade.gate import ApprovedTrade, TradeCost, Trading, apply_trade

pytest.importorskip("aiodns", reason="the extra trade is not installed")

VENUE = "demo:loopback"
CLOSE = order(OrderSide.SELL, OrderType.MARKET, 1.0, name="close", reduce_only=True)
MOMENTS = 40


class Killed(BaseException):
    """The process is gone at this moment."""


@pytest.fixture
async def exit_plan(tmp_path: Path) -> TradePlan:
    folder = tmp_path / "argued"
    folder.mkdir()
    async with trading(folder, AccountDouble(path=folder / "venue.db"), Wall()) as desk:
        plan = await planned(desk)
    closing = {"decision": TradeDecision.CANCEL_AND_CLOSE, "quantity": 1.0, "hedge": None}
    return plan.model_copy(update={**closing, "symbol": ETH})


@contextmanager
def mortal(dies_at: int) -> Iterator[None]:
    """Gone before or after one of the requests to the exchange."""
    left = dies_at

    def moment() -> None:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1

    ask = aiohttp.ClientSession._request

    async def counted(*given: Any, **named: Any) -> Any:
        moment()
        answer = await ask(*given, **named)
        moment()
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aiohttp.ClientSession, "_request", counted)
        yield


async def closed(
    folder: Path, plan: TradePlan, double: AccountDouble, dies_at: int | None
) -> tuple[float, dict[str, float]]:
    """What is held and waits after a trade was opened, its exit was cut off, and one poll."""
    double.path = folder / "venue.db"
    leave = GivenApproval("aa", ActKind.TRADE, "plan_2", Wall()())
    with TradeJournal.open(folder / "trades.db") as journal:
        async with opened(double) as venue:
            await send_orders(journal, venue, "plan_1", [BUY, *GUARDS], sleep=double.pass_time)
        double.now += 30
        async with opened(double) as venue:
            with Outbox.in_memory() as outbox, suppress(Killed):
                outbox.give(leave)
                desk = _desk(venue, journal, outbox, folder)
                approved = ApprovedTrade(plan, leave, (CLOSE,), TradeCost(0.0, 0.0))
                with nullcontext() if dies_at is None else mortal(dies_at):
                    await apply_trade(desk, approved, sleep=double.pass_time)
        double.now += 30
        async with opened(double) as venue:
            await tend_orders(journal, venue, sleep=double.pass_time)
    waiting = {one.order.client_id: one.open_quantity for one in double.held().open_orders()}
    return double.held().position(ETH).quantity, waiting


def _desk(venue: Any, journal: TradeJournal, outbox: Outbox, folder: Path) -> Trading:
    settings = DeskSettings(order_usd=2_000.0, account_leverage=2.0)
    lock = folder / "lock"
    return Trading(
        venue.contracts, venue, journal, VenueFees(), settings, Wall(), lock, outbox, unchanged
    )


async def _stands(folder: Path, plan: TradePlan, moment: int) -> None:
    await asyncio.to_thread(folder.mkdir)
    held, waiting = await closed(folder, plan, AccountDouble(), moment)
    assert (held, waiting) in ((0.0, {}), (1.0, {"stop": 1.0, "profit": 1.0})), moment


async def test_an_exit_cut_off_is_done_or_leaves_the_stop(
    tmp_path: Path, exit_plan: TradePlan
) -> None:
    for moment in (4, 9, 14):
        await _stands(tmp_path / str(moment), exit_plan, moment)


@pytest.mark.soak
async def test_an_exit_cut_off_anywhere_is_done_or_leaves_the_stop(
    tmp_path: Path, exit_plan: TradePlan
) -> None:
    for moment in range(MOMENTS):
        await _stands(tmp_path / str(moment), exit_plan, moment)


async def test_an_exit_that_is_refused_leaves_the_stop(
    tmp_path: Path, exit_plan: TradePlan
) -> None:
    double = AccountDouble()
    double.placing = [(None, True)] * 3  # type: ignore[list-item]
    double.placing += [(error(400, -2019, "Margin is insufficient."), False)]
    held, waiting = await closed(tmp_path, exit_plan, double, None)

    assert (held, waiting) == (1.0, {"stop": 1.0, "profit": 1.0})
