"""Venues that lie: of fills, worth, positions, orders and the time; nothing is sent for it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agents.trade.observe.observer import MarketObserver
from agents.trade.plan import TradePlan
from agents.trade.terms import TradeDecision
from chain.exchange.orders.engine import tend_orders
from chain.exchange.orders.order import (
    OrderProgress,
    OrderSide,
    OrderState,
    OrderType,
    PerpetualPosition,
    VenueOrder,
)
from chain.exchange.orders.venue import OrderUnansweredError, VenueAccount
from chain.exchange.orders.venues.paper.venue import PaperTerms, PaperVenue
from chain.prices.market_http import MarketError
from tests.agents.trade.cases import HEDGED, question
from tests.agents.trade.desks import Seen, argue
from tests.chain.exchange.markets import order
from tests.fakes.exchange import ExchangeDouble
from tests.printed import printed
from tests.samples import some_of
from tests.zuno_tui.gate.test_trades import Wall, planned, trading
from zuno_tui.features.trade.gate import (
    Trading,
    agree,
    apply_trade,
    approve_trade,
    journal_coins,
    waiting_trade,
)
from zuno_tui.gate.refusal import GateRefusedError

ETH, BTC = "ETHUSDT", "BTCUSDT"


def _worth(times: float) -> Callable[[VenueAccount], VenueAccount]:
    return lambda seen: replace(seen, equity=seen.equity * times)


def _held(change: Callable[[float], float]) -> Callable[[VenueAccount], VenueAccount]:
    def told(seen: VenueAccount) -> VenueAccount:
        others = [one for one in seen.positions if one.symbol != ETH]
        coins = change(seen.quantity_of(ETH))
        mine = [PerpetualPosition(ETH, coins, 3_000.0)] if coins else []
        return replace(seen, positions=(*others, *mine))

    return told


def _also(symbol: str, coins: float) -> Callable[[VenueAccount], VenueAccount]:
    extra = PerpetualPosition(symbol, coins, 90_000.0)
    return lambda seen: replace(seen, positions=(*seen.positions, extra))


def _marked(times: float) -> Callable[[VenueAccount], VenueAccount]:
    def told(seen: VenueAccount) -> VenueAccount:
        return replace(seen, marks={one.symbol: 3_000.0 * times for one in seen.positions})

    return told


def _waiting(seen: VenueAccount) -> VenueAccount:
    strange = order(OrderSide.SELL, OrderType.MAKER, 5.0, 3_100.0, name="strange")
    waits = OrderProgress(order=strange, state=OrderState.OPEN, placed_at=0.0)
    return replace(seen, open_orders=(*seen.open_orders, waits))


ACCOUNTS: dict[str, Callable[[VenueAccount], VenueAccount]] = {
    "worth ten times as much": _worth(10.0),
    "worth a tenth": _worth(0.1),
    "worth nothing": _worth(0.0),
    "worth less than nothing": _worth(-1.0),
    "worth no number": _worth(nan),
    "worth without end": _worth(inf),
    "position missing": _held(lambda _: 0.0),
    "position doubled": _held(lambda coins: 2 * coins - 0.25 * (coins == 0)),
    "position halved": _held(lambda coins: coins / 2 - 0.25 * (coins == 0)),
    "position a thousandth more": _held(lambda coins: coins * 1.001 - 0.001 * (coins == 0)),
    "position a thousand times": _held(lambda coins: coins * 1_000 - 50.0 * (coins == 0)),
    "position on the other side": _held(lambda coins: -coins + 0.25 * (coins == 0)),
    "position of no number": _held(lambda _: nan),
    "position of another account": _held(lambda _: -0.777),
    "another coin held as well": _also(BTC, -3.0),
    "another coin held without end": _also(BTC, -inf),
    "marks ten times": _marked(10.0),
    "marks a tenth": _marked(0.1),
    "an order that waits of nobody": _waiting,
}


def _told(**changes: Any) -> Callable[[OrderProgress], OrderProgress | None]:
    def told(known: OrderProgress) -> OrderProgress | None:
        made = {name: value(known) if callable(value) else value for name, value in changes.items()}
        return replace(known, **made)

    return told


ANSWERS: dict[str, Callable[[OrderProgress], OrderProgress | None]] = {
    "order forgotten": lambda _: None,
    "filled twice over": _told(filled=lambda known: known.order.quantity * 2, average=3_000.0),
    "filled a part more": _told(filled=lambda known: known.order.quantity * 1.01, average=3_000.0),
    "filled less than nothing": _told(filled=-0.1),
    "filled by no number": _told(filled=nan),
    "filled without end": _told(filled=inf, average=3_000.0),
    "filled, with nothing": _told(state=OrderState.FILLED, filled=0.0, average=None),
    "filled at no price": _told(filled=lambda known: known.order.quantity, average=None),
    "filled at ten times the price": _told(
        state=OrderState.FILLED, filled=lambda known: known.order.quantity, average=31_000.0
    ),
    "filled at a tenth": _told(
        state=OrderState.FILLED, filled=lambda known: known.order.quantity, average=310.0
    ),
    "fees of a half": _told(filled=lambda known: known.order.quantity, average=3_100.0, fees=900.0),
    "filled whole": _told(
        state=OrderState.FILLED, filled=lambda known: known.order.quantity, average=3_050.0
    ),
    "filled by half, and over": _told(
        state=OrderState.CANCELLED, filled=lambda known: known.order.quantity / 2, average=3_050.0
    ),
    "cancelled, with nothing": _told(state=OrderState.CANCELLED, filled=0.0, average=None),
    "expired, with nothing": _told(state=OrderState.EXPIRED, filled=0.0, average=None),
    "refused": _told(state=OrderState.REFUSED, filled=0.0, average=None, reason="margin"),
    "open still, with nothing": _told(state=OrderState.OPEN, filled=0.0, average=None),
    "of another order": _told(
        order=lambda known: replace(known.order, client_id="somebody-else-0")
    ),
    "of the other side": _told(
        order=lambda known: replace(known.order, side=known.order.side.opposite)
    ),
    "of another contract": _told(order=lambda known: replace(known.order, symbol=BTC)),
}
HOURS = {"an hour behind": -3_600.0, "an hour ahead": 3_600.0}
SILENT = ("answers lost", "cancelled, and is not")
KINDS = (*ACCOUNTS, *ANSWERS, *HOURS, *SILENT)


class LyingVenue(PaperVenue):
    """Does what it is told, and tells of it what it likes."""

    lie = ""
    sent: list[str]

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.sent = []

    async def now(self) -> float:
        return await super().now() + HOURS.get(self.lie, 0.0)

    async def account(self) -> VenueAccount:
        seen = await super().account()
        lie = ACCOUNTS.get(self.lie)
        return seen if lie is None else lie(seen)

    async def truth(self) -> float:
        return (await super().account()).quantity_of(ETH)

    async def submit(self, order: VenueOrder) -> OrderProgress:
        self.sent.append(order.client_id)
        known = await super().submit(order)
        if self.lie == "answers lost":
            raise OrderUnansweredError("nothing was answered")
        return self._of(known) or known

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        known = await super().find(order)
        return None if known is None else self._of(known)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        if self.lie == "cancelled, and is not":
            known = await super().find(order)
            return None if known is None else replace(known, state=OrderState.CANCELLED)
        return await super().cancel(order)

    def _of(self, known: OrderProgress) -> OrderProgress | None:
        lie = ANSWERS.get(self.lie)
        return known if lie is None else lie(known)


@asynccontextmanager
async def lying(folder: Path, double: ExchangeDouble) -> AsyncIterator[tuple[Trading, LyingVenue]]:
    async with trading(folder, double, Wall()) as desk:
        venue = LyingVenue(folder / "paper.db", desk.market, PaperTerms())
        try:
            yield replace(desk, venue=venue), venue
        finally:
            await venue.close()


async def closing(desk: Trading) -> TradePlan:
    asked = question(hedge=HEDGED.model_copy(update={"delta": 0.0}), of=await desk.account())
    seen = await MarketObserver(desk.market, sample_seconds=0).look(asked)
    done = await argue(asked, Seen(seen))
    assert done.ended.plan is not None
    assert done.ended.plan.decision is TradeDecision.CANCEL_AND_CLOSE
    return done.ended.plan


async def applied(desk: Trading, plan: TradePlan, double: ExchangeDouble) -> list[str]:
    """What was told of it, beside what was done."""
    told: list[str] = []
    try:
        waiting = await waiting_trade(desk, plan, None)
        await apply_trade(
            desk, waiting, sleep=double.pass_time, on_notice=lambda one: told.append(one.words)
        )
    except (GateRefusedError, MarketError, OrderUnansweredError) as error:
        told.append(str(error))
    return told


async def honestly_opened(desk: Trading, double: ExchangeDouble) -> TradePlan:
    plan = await planned(desk)
    await approve_trade(desk, plan)
    assert not await applied(desk, plan, double)
    return plan


async def differs(desk: Trading) -> bool:
    """Whether `trade status` shows that the journal and the venue disagree."""
    held = (await desk.venue.account()).quantity_of(ETH)
    return not agree(held, (await journal_coins(desk.journal, desk.venue)).get(ETH, 0.0))


CASES = [(kind, phase) for kind in KINDS for phase in ("open", "hold", "close")]


@pytest.mark.parametrize(("kind", "phase"), some_of(CASES, 9, seed=50))
async def test_no_lie_of_a_venue_sends_or_doubles_an_order(
    kind: str, phase: str, tmp_path: Path
) -> None:
    double = ExchangeDouble()
    async with lying(tmp_path, double) as (desk, venue):
        if phase == "open":
            plan = await planned(desk)
            await approve_trade(desk, plan)
            wanted = -plan.quantity
        else:
            plan = await honestly_opened(desk, double)
            wanted = -plan.quantity
        bound = plan.quantity
        names = {f"zuno-{plan.plan_id.removeprefix('plan_')}-{place}" for place in range(2)}
        told: list[str] = []
        if phase == "close":
            plan, wanted = await closing(desk), 0.0
            await approve_trade(desk, plan)
            names.add(f"zuno-{plan.plan_id.removeprefix('plan_')}-0")
        venue.lie = kind
        if phase == "hold":
            double.now += 60
            try:
                told += [one.words for one in await tend_orders(desk.journal, desk.venue)]
                told += ["it differs"] * await differs(desk)
            except (MarketError, OrderUnansweredError, ValueError) as error:
                told.append(str(error))
        else:
            told = await applied(desk, plan, double)
        honest = await venue.truth()
        venue.lie = ""
        double.now += 7_200
        told += [one.words for one in await tend_orders(desk.journal, desk.venue)]
        after = await venue.truth()
        apart = await differs(desk)

        assert set(venue.sent) <= names, "an order that nobody approved"
        assert len(venue.sent) == len(set(venue.sent)), "one was sent twice"
        assert -bound * (1 + 1e-9) <= after <= 1e-9, "more than was approved"
        done = after == pytest.approx(wanted)
        assert done or told or apart, f"nothing was told: {honest} then {after}, not {wanted}"
        printed(f"{kind}, {phase}: {'as approved' if done else 'less'}; {(told or ['–'])[0][:90]}")
