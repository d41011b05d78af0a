"""Random walks over hedges and trades: the journal tells whose is whose, and each hedge closes."""

from pathlib import Path
from random import Random

import pytest

from agents.trade.facts import HedgeFacts
from agents.trade.observe.observer import MarketObserver
from agents.trade.plan import TradePlan
from agents.trade.terms import TradeDecision
from chain.base.home import Home
from chain.contracts.networks import network_named
from chain.exchange.orders.engine import current_orders
from chain.exchange.orders.hedge import HedgeKey
from chain.protocols.reference import PositionRef, v4_position
from tests.agents.trade.cases import HEDGED, question
from tests.agents.trade.desks import Seen, argue
from tests.fakes.exchange import ExchangeDouble
from tests.printed import printed
from tests.zuno_tui.gate.test_trades import Wall, trading
from zuno_tui.app.session import Session
from zuno_tui.features.trade.gate import Trading, apply_trade, approve_trade
from zuno_tui.features.trade.hedges import owned_short, read_hedges
from zuno_tui.features.trade.unhedging import unhedge_plans
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.settings import Settings

WALKS, MANY_WALKS = 2, 200
STEPS = 9
HOUR = 3600
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
