"""What a trade's typed word may send: the orders themselves are judged, whatever the plan says."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic import ValidationError

from agents.trade.facts import DeskSettings
from agents.trade.observe.observer import MarketObserver
from agents.trade.plan import TradePlan, with_identity
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
from chain.execution.outbox.approvals import ActKind, GivenApproval
from chain.prices.market_http import MarketError
from tests.agents.trade.cases import HEDGED, NOW, question
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
    approval_hash,
    approve_trade,
    journal_coins,
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


@pytest.mark.parametrize(("kind", "phase"), some_of(CASES, 5, seed=50))
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
