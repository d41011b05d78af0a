"""The gate of the trade desk: what is approved is looked at again, sent once, and learned from."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.bus.plan_store import PlanStore
from agents.trade.facts import AccountFacts, DeskSettings, HedgeFacts
from agents.trade.observe.observer import MarketObserver
from agents.trade.plan import TradePlan
from agents.trade.plan_document import trade_document
from agents.trade.terms import TradeDecision
from chain.base.home import Home, locked_if_free
from chain.contracts.networks import network_named
from chain.exchange.orders.journal import TradeJournal
from chain.exchange.orders.order import OrderSide, OrderState, OrderType, VenueOrder
from chain.exchange.orders.venue import AccountCheck
from chain.exchange.orders.venues.paper.venue import PaperTerms, PaperVenue
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from chain.execution.outbox.approvals import ActKind
from chain.execution.outbox.outbox import Outbox
from chain.protocols.reference import PositionRef
from tests.agents.trade.cases import HEDGED, NOW, question
from tests.agents.trade.desks import Seen, argue
from tests.fakes.exchange import ExchangeDouble
from tests.printed import printed
from tests.virtual_time import pass_time
from zuno_tui.app.session import Session
from zuno_tui.features.trade.gate import Trading, apply_trade, approve_trade, waiting_trade
from zuno_tui.features.trade.lessons import learn, recall_lessons, trade_memory
from zuno_tui.features.trade.trade import approval_view
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.settings import Settings

HOUR = 3600


class Wall:
    """The person's clock."""

    now = float(NOW)

    def __call__(self) -> float:
        return self.now


async def unchanged(_: PositionRef, __: str) -> HedgeFacts | None:
    return HEDGED


@asynccontextmanager
async def trading(
    folder: Path,
    double: ExchangeDouble,
    wall: Wall,
    position: Callable[[PositionRef, str], Awaitable[HedgeFacts | None]] = unchanged,
) -> AsyncIterator[Trading]:
    terms = PaperTerms()
    async with double.running() as url, BinancePublic(ExchangeAddress(url, "loopback")) as market:
        venue = PaperVenue(folder / "paper.db", market, terms)
        with TradeJournal.open(folder / "trades.db") as journal:
            settings = DeskSettings(order_usd=2_000.0, account_leverage=2.0)
            lock = folder / "lock"
            with Outbox.open(folder / "outbox.db") as outbox:
                yield Trading(
                    market, venue, journal, terms.fees, settings, wall, lock, outbox, position
                )
        await venue.close()


async def planned(desk: Trading, folder: Path | None = None) -> TradePlan:
    """The hedge that the desk argues for on this market and account."""
    account: AccountFacts = await desk.account()
    asked = question(hedge=HEDGED, of=account)
    seen = await MarketObserver(desk.market, sample_seconds=0).look(asked)
    done = await argue(asked, Seen(seen))
    assert done.ended.plan is not None
    if folder is not None:
        PlanStore(folder / "plans").keep(trade_document(done.ended, "0" * 64))
    return done.ended.plan


async def refusal(desk: Trading, plan: TradePlan, confirm: str | None = None) -> RefusalCode:
    with pytest.raises(GateRefusedError) as refused:
        await waiting_trade(desk, plan, confirm)
    printed(f"G14: {refused.value.code.name}: {str(refused.value).partition('. ')[0]}")
    return refused.value.code


async def test_a_plan_is_refused_when_it_is_old_or_the_price_has_moved(tmp_path: Path) -> None:
    double, wall = ExchangeDouble(), Wall()
    async with trading(tmp_path, double, wall) as desk:
        plan = await planned(desk)
        assert plan.decision is TradeDecision.SHORT
        assert await refusal(desk, plan) is RefusalCode.NOT_APPROVED_HERE
        approved = await approve_trade(desk, plan)
        assert await refusal(desk, plan, "0" * 64) is RefusalCode.ANOTHER_HASH
        assert await refusal(desk, plan.model_copy(update={"quantity": 9.0})) is (
            RefusalCode.CHANGED_ON_DISK
        )
        for later in (-61.0, -1.0, 600.0, 601.0):
            wall.now = NOW + later
            assert await refusal(desk, plan) is RefusalCode.DRIFT
        wall.now = float(NOW)
        before = double.now
        while abs((await desk.market.funding(plan.symbol)).mark / plan.mark - 1) <= 0.005:
            double.now += HOUR
        assert await refusal(desk, plan) is RefusalCode.DRIFT
        double.now = before

        waiting = await waiting_trade(desk, plan, approved.approval.hash)
        rested, taken = await apply_trade(desk, waiting, sleep=double.pass_time)

        assert taken.state is OrderState.FILLED
        assert rested.state in (OrderState.CANCELLED, OrderState.EXPIRED)
        assert rested.filled + taken.filled == pytest.approx(plan.quantity)
        assert await refusal(desk, plan) is RefusalCode.ALREADY_APPLIED


async def test_fees_are_bound_up_to_the_price_that_is_named(tmp_path: Path) -> None:
    """A sale may fill above its price: it is worth more then, and its fee is higher."""
    async with trading(tmp_path, ExchangeDouble(), Wall()) as desk:
        plan = await planned(desk)
        approved = await approve_trade(desk, plan)
    cost, fee = approved.cost, max(desk.fees.maker, desk.fees.taker)
    assert all(order.side == "sell" for order in plan.trading_orders)
    assert cost.highest > max(order.price or plan.mark for order in plan.trading_orders)
    traded = sum(order.quantity for order in plan.trading_orders)
    assert traded * cost.highest * fee <= cost.most * (1 + 1e-12)
    receipt = approval_view(approved).receipt
    assert receipt is not None
    bound = next(line for line in receipt.lines if line.bounds == "worst case")
    assert f"{cost.highest:,.2f} or less" in bound.words
    assert float(bound.dollars.removeprefix("≤ $").replace(",", "")) >= cost.most


async def test_an_order_that_waits_is_exposure_to_the_guard(tmp_path: Path) -> None:
    """What is not filled yet may be at any moment: forgotten, twice the limit could be opened."""
    async with trading(tmp_path, ExchangeDouble(), Wall()) as desk:
        plan = await planned(desk)
        far = VenueOrder(
            client_id="waits",
            symbol=plan.symbol,
            side=OrderSide.BUY,
            type=OrderType.MAKER,
            quantity=10.0,
            price=plan.mark * 0.9,
            expires_seconds=3_600,
        )
        assert (await desk.venue.submit(far)).state is OrderState.OPEN
        account = await desk.account()

        [waiting] = account.waiting
        assert waiting.notional_usd == pytest.approx(10.0 * plan.mark * 0.9)
        with pytest.raises(GateRefusedError) as refused:
            await approve_trade(desk, plan)
        assert refused.value.code is RefusalCode.POLICY


async def test_what_has_grown_meanwhile_is_refused_by_the_guard(tmp_path: Path) -> None:
    double, wall = ExchangeDouble(), Wall()
    async with trading(tmp_path, double, wall) as desk:
        plan = await planned(desk)
        await approve_trade(desk, plan)
        tight = replace(desk, settings=DeskSettings(order_usd=2_000.0, account_leverage=0.001))

        assert await refusal(tight, plan) is RefusalCode.POLICY


async def test_an_ended_trade_is_learned_from_once(tmp_path: Path) -> None:
    double, wall = ExchangeDouble(), Wall()
    home = Home(tmp_path, tmp_path / "cache")
    session = Session(home, Settings(), network_named("devnet"), as_json=True)
    async with trading(tmp_path, double, wall) as desk:
        plan = await planned(desk, tmp_path)
        waiting = await approve_trade(desk, plan)
        await apply_trade(desk, waiting, sleep=double.pass_time)
        account = await desk.account()
        assert account.hedge_quantity(plan.symbol) == pytest.approx(-plan.quantity)
        with trade_memory(session) as memory:
            assert await learn(session, desk, memory) == 0
            # Less of the position is left: the hedge is bought back, reduce-only.
            emptied = HEDGED.model_copy(update={"delta": 0.0})
            asked = question(hedge=emptied, of=account)
            seen = await MarketObserver(desk.market, sample_seconds=0).look(asked)
            done = await argue(asked, Seen(seen))
            assert done.ended.plan is not None
            assert done.ended.plan.decision is TradeDecision.CANCEL_AND_CLOSE
            PlanStore(tmp_path / "plans").keep(trade_document(done.ended, "0" * 64))
            closing = await approve_trade(desk, done.ended.plan)
            [closed] = await apply_trade(desk, closing)
            assert closed.state is OrderState.FILLED

            assert await learn(session, desk, memory) == 2
            assert await learn(session, desk, memory) == 0
            lessons = recall_lessons(memory, plan.symbol, "ETHUSDT swing hedge")
            both = {plan.plan_id, done.ended.plan.plan_id}
            assert {one.memory_id for one in lessons} == both
            entry, left = memory.all()
            assert (entry.decision, left.decision) == ("SHORT", "CANCEL_AND_CLOSE")
            assert entry.pnl_pct == left.pnl_pct
            assert {lesson.venue for lesson in memory.all()} == {plan.venue}
        assert not (await desk.account()).positions


class UnfitVenue(PaperVenue):
    """An exchange that answers like any other, and tells this of the account."""

    found = AccountCheck(remarks=("20×",), may_withdraw=True)

    async def check(self, _symbol: str) -> AccountCheck:
        return self.found


async def test_an_account_that_is_not_fit_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    double, wall = ExchangeDouble(), Wall()
    async with trading(tmp_path, double, wall) as fit:
        venue = UnfitVenue(tmp_path / "paper.db", fit.market, PaperTerms())
        desk = replace(fit, venue=venue)
        plan = await planned(desk)
        with pytest.raises(GateRefusedError, match="may withdraw"):
            await approve_trade(desk, plan)
        assert desk.outbox.newest_given(ActKind.TRADE, None) is None
        allowed = await approve_trade(replace(desk, allow_withdrawing=True), plan)
        assert allowed.remarks == ("20×",)
        venue.found = AccountCheck(faults=("set one-way mode",))
        with pytest.raises(GateRefusedError, match="one-way mode"):
            await waiting_trade(desk, plan, None)
        await venue.close()


async def test_a_trade_is_sent_after_the_monitor_of_the_same_desk_has_tended(
    tmp_path: Path,
) -> None:
    """Both run on one event loop: whoever waits for the lock must not keep its holder from it."""
    double, wall = ExchangeDouble(), Wall()
    async with trading(tmp_path, double, wall) as desk:
        plan = await planned(desk)
        await approve_trade(desk, plan)
        waiting = await waiting_trade(desk, plan, None)
        with locked_if_free(desk.lock) as tending:
            assert tending
            sending = asyncio.create_task(apply_trade(desk, waiting, sleep=double.pass_time))
            await pass_time(0.2)
            assert not sending.done()
            assert not desk.journal.entries()
        async with asyncio.timeout(60):
            sent = await sending

    assert sum(one.filled for one in sent) == pytest.approx(plan.quantity)


async def test_a_short_that_the_journal_does_not_know_is_named_and_not_doubled(
    tmp_path: Path,
) -> None:
    """An old backup, or a second machine: the venue remembers what the home has forgotten."""
    double, wall = ExchangeDouble(), Wall()
    async with trading(tmp_path, double, wall) as desk:
        plan = await planned(desk)
        waiting = await approve_trade(desk, plan)
        await apply_trade(desk, waiting, sleep=double.pass_time)
        held = (await desk.venue.account()).quantity_of(plan.symbol)
    _forget_trades(tmp_path)

    async with trading(tmp_path, double, wall) as desk:
        with pytest.raises(GateRefusedError, match=r"knows of \+0: -.* is not its own") as refused:
            await approve_trade(desk, plan)
        assert refused.value.code is RefusalCode.POLICY
        assert (await desk.venue.account()).quantity_of(plan.symbol) == held
        assert not desk.journal.entries()


def _forget_trades(folder: Path) -> None:
    for path in folder.glob("trades.db*"):
        path.unlink()
