"""On paper one may open what the odds refuse: each side and style, from plan to post-mortem."""

from itertools import product
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from agents.bus.plan_store import PlanStore
from agents.trade.facts import AccountFacts, DeskRecord, HedgeFacts, MarketSnapshot
from agents.trade.observe.observer import MarketObserver
from agents.trade.plan import TradePlan
from agents.trade.plan_document import trade_document
from agents.trade.terms import ExecutionStyle, TradeDecision
from chain.base.home import Home
from chain.contracts.networks import network_named
from chain.exchange.orders.engine import current_orders, tend_orders
from chain.exchange.orders.hedge import HedgeKey
from chain.exchange.orders.order import OrderSide
from chain.exchange.orders.venues.paper.venue import PaperTerms, PaperVenue
from chain.protocols.reference import PositionRef, v4_position
from tests.agents.trade.cases import HEDGED, question
from tests.agents.trade.desks import Seen, argue
from tests.fakes.exchange import ExchangeDouble
from tests.printed import printed
from tests.samples import some_of
from tests.zuno_tui.gate.test_trades import Wall, trading
from zuno_tui.app.session import Session
from zuno_tui.features.trade.gate import (
    ApprovedTrade,
    Trading,
    apply_trade,
    approve_trade,
    waiting_trade,
)
from zuno_tui.features.trade.hedges import owned_short, read_hedges
from zuno_tui.features.trade.lessons import learn, trade_memory
from zuno_tui.features.trade.run_view import run_of_plan
from zuno_tui.features.trade.settings import TradeTable
from zuno_tui.features.trade.setups import desk_record, judge_setups, keep_setup
from zuno_tui.features.trade.trade import approval_view, memory, status
from zuno_tui.features.trade.trading import account_facts, open_trading
from zuno_tui.features.trade.unhedging import unhedge_plans
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.settings import Settings

HOUR = 3600
EMPTY = DeskRecord(resolved=0, won=0, brier=None)
UP, DOWN = 0.95, -0.95
PASSIVE, SLICED, SNIPER = (
    ExecutionStyle.PASSIVE_MAKER,
    ExecutionStyle.SMART_DCA,
    ExecutionStyle.MOMENTUM_SNIPER,
)


def _leaning(market: MarketSnapshot, lean: float, style: ExecutionStyle) -> MarketSnapshot:
    """The market as it is, but for who leans on its book, how deep it is, and a breakout."""
    assert market.book is not None
    leaned = {"imbalance5": lean, "imbalance20": lean, "imbalance100": lean}
    samples = tuple(sample.model_copy(update=leaned) for sample in market.book.samples)
    news: dict[str, object] = {"samples": samples}
    if style is SLICED:
        news["bids"] = tuple((price, 0.005) for price, _ in market.book.bids)
        news["asks"] = tuple((price, 0.005) for price, _ in market.book.asks)
    changes: dict[str, object] = {"book": market.book.model_copy(update=news)}
    if style is SNIPER:
        *before, last = market.hours.rows
        spiked = [(row[0], row[1], row[2] * 1.012, row[3] * 0.988, *row[4:]) for row in before[-2:]]
        wide = (last[0], last[1], last[2] * 1.012, last[3] * 0.988, last[4], last[5] * 40, last[6])
        rows = (*before[:-2], *spiked, wide)
        changes["hours"] = market.hours.model_copy(update={"rows": rows})
        changes["interest_change"] = 0.03
    return market.model_copy(update=changes)


async def drafted(
    desk: Trading,
    folder: Path,
    lean: float,
    style: ExecutionStyle = PASSIVE,
    *,
    anyway: bool = True,
    of: AccountFacts | None = None,
) -> TradePlan:
    account = of or await desk.account()
    asked = question(of=account, record=EMPTY).model_copy(update={"anyway": anyway})
    seen = await MarketObserver(desk.market, sample_seconds=0).look(asked)
    assert seen.market is not None
    leaning = seen.model_copy(update={"market": _leaning(seen.market, lean, style)})
    done = await argue(asked, Seen(leaning))
    assert done.ended.plan is not None
    PlanStore(folder / "plans").keep(trade_document(done.ended, "0" * 64))
    return done.ended.plan


def stopped_out(waiting: ApprovedTrade) -> bool:
    """Whether the page says what is lost at the stop: the fall to it, and both fees at most."""
    plan, receipt = waiting.plan, approval_view(waiting).receipt
    assert receipt is not None
    assert plan.entry is not None
    assert plan.stop is not None
    [line] = [line for line in receipt.lines if line.bounds == "at the stop"]
    lost = abs(plan.entry - plan.stop) * plan.quantity
    fees = float(line.dollars.removeprefix("−$").replace(",", "")) - lost
    return 0 < fees <= 2 * waiting.cost.most + 0.01


async def until_closed(desk: Trading, double: ExchangeDouble) -> None:
    for _ in range(24 * 14):
        double.now += HOUR
        await tend_orders(desk.journal, desk.venue)
        account = await desk.venue.account()
        if not account.positions and not account.open_orders:
            return
    raise AssertionError("neither its stop nor its profit was reached in two weeks")


@pytest.mark.parametrize(
    ("lean", "style"),
    some_of(product((UP, DOWN), (PASSIVE, SLICED, SNIPER)), 1, seed=50),
    ids=str,
)
async def test_each_side_and_style_goes_from_a_refused_setup_to_a_post_mortem(
    lean: float, style: ExecutionStyle, tmp_path: Path
) -> None:
    double = ExchangeDouble()
    session = Session(
        Home(tmp_path, tmp_path / "cache"), Settings(), network_named("devnet"), as_json=True
    )
    session.home.prepare()
    side = TradeDecision.LONG if lean > 0 else TradeDecision.SHORT
    filled = False
    for _ in range(40):
        double.now += 5 * HOUR
        async with trading(tmp_path, double, Wall()) as desk:
            refused = await drafted(desk, tmp_path, lean, style, anyway=False)
            plan = await drafted(desk, tmp_path, lean, style)
            if plan.decision is not side or plan.style is not style:
                continue
            assert refused.decision is TradeDecision.HOLD
            assert refused.setup is not None
            assert refused.setup.refused_by == "expected_value"
            assert run_of_plan(refused, "").next_phrase == "trade ETH swing anyway"
            told = run_of_plan(plan, "").verdict
            assert told is not None
            assert "real venue" in told.dissent
            keep_setup(session, refused, desk.market.name)
            await approve_trade(desk, plan)
            waiting = await waiting_trade(desk, plan, None)
            assert stopped_out(waiting)
            await apply_trade(desk, waiting, sleep=double.pass_time)
            double.now += 2 * HOUR
            await tend_orders(desk.journal, desk.venue)
            if not (await desk.venue.account()).positions:
                continue
            filled = True
            await until_closed(desk, double)
            with trade_memory(session) as memory:
                await learn(session, desk, memory)
                lesson = next(one for one in memory.all() if one.memory_id == plan.plan_id)
            setups = await judge_setups(session, desk.market)
            break
    assert filled, "no such plan was filled"
    assert (lesson.decision, lesson.venue) == (side.value, plan.venue)
    ended = next(one for one in setups if one.setup.plan_id == refused.plan_id)
    assert ended.setup.venue == ""
    record = desk_record(setups)
    assert record.resolved == sum(one.proves for one in setups)
    printed(
        f"{side.value} {style.value}: {plan.orders[0].type} {plan.quantity:g}; {lesson.outcome}; "
        f"shadow {'open' if ended.ended is None else ended.ended.how}"
    )


async def test_a_long_that_fits_is_bought_on_spot_and_sold_there(tmp_path: Path) -> None:
    double = ExchangeDouble()
    async with double.running() as url:
        table = TradeTable(url=url, spot_venue="paper-spot")
        home = Home(tmp_path, tmp_path / "cache")
        settings = Settings(of_features={"trade": table})
        session = Session(home, settings, network_named("devnet"), as_json=True)
        home.prepare()
        plan = await long_on_spot(session, double)
        async with open_trading(session, plan) as opened:
            desk = replace(opened, clock=Wall())
            assert desk.venue.name == plan.venue
            assert plan.decision is TradeDecision.LONG
            await approve_trade(desk, plan)
            sent = await apply_trade(
                desk, await waiting_trade(desk, plan, None), sleep=double.pass_time
            )
            entry = sent[0].order
            double.now += 3 * HOUR
            await tend_orders(desk.journal, desk.venue)
            held = (await desk.venue.account()).quantity_of(plan.symbol)
        async with open_trading(session, coin="ETH") as there:
            assert there.venue.name == plan.venue, "it is sold where it was bought"
            await until_closed(there, double)
            left = await there.venue.account()
        told = " ".join((await memory(session)).lines)
        stood = " ".join((await status(session)).lines)
        with trade_memory(session) as lessons:
            lesson = next(each for each in lessons.all() if each.memory_id == plan.plan_id)
    assert entry.side is OrderSide.BUY
    assert 0 < held <= plan.quantity + 1e-9
    assert (left.funding, left.positions) == (0.0, ())
    assert lesson.venue.startswith("paper-spot:")
    assert plan.plan_id in told, "it is learned from wherever the next trade is argued"
    assert f"last, {plan.plan_id}: buy" in stood
    printed(f"spot: {entry.type} {held:g} ETH of {plan.quantity:g}; {lesson.outcome}")


async def long_on_spot(session: Session, double: ExchangeDouble) -> TradePlan:
    double.now += 33 * HOUR
    async with open_trading(session, coin="ETH") as desk:
        account = await account_facts(session, desk, hedging=False)
        assert account.spot is not None
        return await drafted(desk, session.home.root, UP, of=account)


async def test_a_real_venue_takes_nothing_against_the_odds(tmp_path: Path) -> None:
    double = ExchangeDouble()
    double.now += 33 * HOUR
    async with trading(tmp_path, double, Wall()) as desk:
        plan = await drafted(desk, tmp_path, UP)
        assert plan.against_odds
        venue = PaperVenue(tmp_path / "paper.db", desk.market, PaperTerms())
        venue.abilities = replace(venue.abilities, made_up=False)
        real = replace(desk, venue=venue)
        with pytest.raises(GateRefusedError, match="real money"):
            await approve_trade(real, plan)
        assert (await drafted(real, tmp_path, UP)).decision is TradeDecision.HOLD
        await venue.close()


async def test_experts_that_turn_close_what_is_held_and_it_is_learned_from(tmp_path: Path) -> None:
    double = ExchangeDouble()
    home = Home(tmp_path, tmp_path / "cache")
    session = Session(home, Settings(), network_named("devnet"), as_json=True)
    double.now += 33 * HOUR
    async with trading(tmp_path, double, Wall()) as desk:
        plan = await drafted(desk, tmp_path, DOWN, SLICED)
        assert plan.decision is TradeDecision.SHORT
        await approve_trade(desk, plan)
        await apply_trade(desk, await waiting_trade(desk, plan, None), sleep=double.pass_time)
        double.now += HOUR
        await tend_orders(desk.journal, desk.venue)
        closing = await drafted(desk, tmp_path, UP)
        assert closing.decision is TradeDecision.CANCEL_AND_CLOSE
        assert closing.style is ExecutionStyle.CASINO_EXIT
        await approve_trade(desk, closing)
        [closed] = await apply_trade(desk, await waiting_trade(desk, closing, None))
        account = await desk.venue.account()
        with trade_memory(session) as memory:
            await learn(session, desk, memory)
            known = {lesson.memory_id: lesson.outcome for lesson in memory.all()}
    assert closed.filled == pytest.approx(plan.quantity)
    assert not account.positions
    assert not account.open_orders
    assert known.keys() == {plan.plan_id, closing.plan_id}
    printed(f"CANCEL_AND_CLOSE: {known[plan.plan_id]}")


WALKS, MANY_WALKS = 2, 200
STEPS = 9
_CLOSE = 1e-6


class Walk:
    """A wallet with up to three positions, each of which may be hedged, and trades beside them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draws = folder, Random(seed)
        self.double, self.wall = ExchangeDouble(), Wall()
        self.double.now += self.draws.randrange(48) * HOUR
        home = Home(folder, folder / "cache")
        self.session = Session(home, Settings(), network_named("devnet"), as_json=True)
        self.positions: dict[int, HedgeFacts] = {}
        self.next_id = 28
        self.told: list[str] = []

    async def position(self, ref: PositionRef, _: str) -> HedgeFacts | None:
        return self.positions.get(ref.token_id)

    async def run(self) -> None:
        for _ in range(STEPS):
            step = self.draws.choice(
                (self.open, self.hedge, self.hedge, self.close, self.move, self.trade, self.unhedge)
            )
            # Each step is a process of its own: everything is read from disk again.
            async with trading(self.folder, self.double, self.wall, self.position) as desk:
                await step(desk)
                await self.check(desk)
            self.double.now += self.draws.choice((60, HOUR, 6 * HOUR))
        async with trading(self.folder, self.double, self.wall, self.position) as desk:
            for token_id in sorted({key.ref.token_id for key in await self.standing(desk)}):
                await self.unhedge_one(desk, token_id, 100)
                await self.check(desk)
            assert await self.standing(desk) == {}

    async def standing(self, desk: Trading) -> dict[HedgeKey, float]:
        hedges = await read_hedges(desk.journal, desk.venue)
        return {key: one.short for key, one in hedges.items() if one.short > _CLOSE}

    async def check(self, desk: Trading) -> None:
        """What the venue holds is what the journal's hedges and trades come to."""
        account = await desk.account()
        hedged = -sum((await self.standing(desk)).values())
        hedges = desk.journal.hedges(desk.venue.name)
        outright = sum(
            order.filled * order.order.side.sign
            for plan in await current_orders(desk.journal, desk.venue)
            if plan.plan_id not in hedges
            for order in plan.orders
        )
        assert account.quantity_of("ETHUSDT") == pytest.approx(hedged + outright, abs=_CLOSE), (
            self.told
        )
        assert account.hedge_quantity("ETHUSDT") == pytest.approx(hedged, abs=_CLOSE), self.told

    async def open(self, _: Trading) -> None:
        self.positions[self.next_id] = HEDGED.model_copy(
            update={
                "token_id": v4_position(self.next_id),
                "delta": round(self.draws.uniform(0.05, 0.5), 4),
            }
        )
        self.told.append(f"open {self.next_id}")
        self.next_id += 1

    async def close(self, _: Trading) -> None:
        if self.positions:
            token_id = self.draws.choice(sorted(self.positions))
            del self.positions[token_id]
            self.told.append(f"close {token_id}")

    async def move(self, desk: Trading) -> None:
        """Burned and minted anew: the hedge stays with the old number until it is taken over."""
        if self.positions:
            await self.close(desk)
            await self.open(desk)

    async def hedge(self, desk: Trading) -> None:
        if not self.positions:
            await self.open(desk)
        token_id = self.draws.choice(sorted(self.positions))
        hedges = await read_hedges(desk.journal, desk.venue)
        gone = [
            key
            for key, one in hedges.items()
            if key.ref.token_id not in self.positions and one.short > _CLOSE
        ]
        held = (await desk.venue.account()).quantity_of("ETHUSDT")
        target = self.draws.choice((1.0, 0.5, 0.25))
        facts = self.positions[token_id].model_copy(update={"target": target})
        owned = owned_short(hedges, facts, gone, -held)
        self.told.append(f"hedge {token_id} {target:.0%}")
        await self.carry_out(desk, owned)

    async def trade(self, desk: Trading) -> None:
        self.told.append("trade")
        await self.carry_out(desk, None)

    async def carry_out(self, desk: Trading, hedge: HedgeFacts | None) -> None:
        asked = question(hedge=hedge, of=await desk.account())
        seen = await MarketObserver(desk.market, sample_seconds=0).look(asked)
        done = await argue(asked, Seen(seen))
        plan = done.ended.plan
        if plan is not None and plan.decision is not TradeDecision.HOLD:
            await self.send(desk, plan)

    async def send(self, desk: Trading, plan: TradePlan) -> None:
        try:
            waiting = await approve_trade(desk, plan)
        except GateRefusedError as refused:
            self.told.append(f"refused: {refused}")
            return
        sent = await apply_trade(desk, waiting, sleep=self.double.pass_time)
        self.told += [f"{one.order.side} {one.filled:g} {one.state}" for one in sent]

    async def unhedge(self, desk: Trading) -> None:
        standing = sorted(key.ref.token_id for key in await self.standing(desk))
        if standing:
            part = self.draws.choice((100, 50))
            await self.unhedge_one(desk, self.draws.choice(standing), part)

    async def unhedge_one(self, desk: Trading, token_id: int, percent: int) -> None:
        self.told.append(f"unhedge {token_id} {percent}")
        for plan in await unhedge_plans(self.session, desk, v4_position(token_id), percent / 100):
            await self.send(desk, plan)


async def walk(folder: Path, seeds: range) -> int:
    steps = 0
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        one = Walk(place, seed)
        await one.run()
        steps += len(one.told)
    return steps


async def test_every_hedge_closes_by_one_command_and_the_venue_holds_what_the_journal_tells(
    tmp_path: Path,
) -> None:
    steps = await walk(tmp_path, range(WALKS))

    printed(f"hedge walks: {WALKS}, {steps} things done, the venue's net was the journal's always")


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
async def test_two_hundred_walks(tmp_path: Path, part: int) -> None:
    each = MANY_WALKS // 4
    steps = await walk(tmp_path, range(1_000 + part * each, 1_000 + (part + 1) * each))

    printed(f"hedge walks: {each}, {steps} things done, the venue's net was the journal's always")
