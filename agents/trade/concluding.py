"""The last stages: the risk officer's rules, the guard, and a decision as orders and a plan."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from agents.trade.facts import (
    AccountFacts,
    ContextSection,
    DeskQuestion,
    DeskSettings,
    KindLesson,
    MarketSnapshot,
)
from agents.trade.hedge_replay import funding_days, hedge_outlook, past_weeks
from agents.trade.indicators import to_step
from agents.trade.judging import FUNDING_HOURS, ladder_step
from agents.trade.leverage_guard import GuardFacts, GuardJudgment, VenueExposure, guard
from agents.trade.opinions import RangeExposure, floor_to_step, hedged_quantity
from agents.trade.payloads import DecisionDraft, RiskVerdict, snapshot_hash
from agents.trade.plan import (
    DraftedSetup,
    HedgePlan,
    LadderStep,
    PlannedOrder,
    TradePlan,
    with_identity,
)
from agents.trade.risk_rules import HOLD, RiskFacts, RiskJudgment, RiskRule, Sizing, judge_risk
from agents.trade.terms import DeskLimits, ExecutionStyle, Objective, SectionName, TradeDecision
from agents.trade.triage import is_options_panic
from chain.exchange.public.book import walk_levels
from chain.exchange.public.margin import MarkedPosition, account_risk

_MAKER_SECONDS = 900
_SLICES = 6
_SLICE_SECONDS = 300
_SNIPER_BIPS = 10.0
"""How far beyond the mark a breakout is followed."""
_BASIS_POINTS = 10_000


class OrderSize(Struct, frozen=True):
    """Coins to trade: above 0 to buy, below 0 to sell."""

    coins: float
    reduce_only: bool = False

    @property
    def side(self) -> Literal["buy", "sell"]:
        return "buy" if self.coins > 0 else "sell"

    @property
    def opposite(self) -> Literal["buy", "sell"]:
        return "sell" if self.coins > 0 else "buy"


def styled_orders(
    style: ExecutionStyle,
    size: OrderSize,
    market: MarketSnapshot,
    *,
    stop: float | None = None,
    take_profit: float | None = None,
) -> tuple[PlannedOrder, ...]:
    """The order that trades, and where given the two that protect what it opens."""
    if size.coins == 0:
        return ()
    orders = [_first(style, size, market)]
    for purpose, kind, price in (
        ("stop", "stop", stop),
        ("take_profit", "take_profit", take_profit),
    ):
        if price is not None:
            orders.append(
                PlannedOrder.model_validate(
                    {
                        "purpose": purpose,
                        "side": size.opposite,
                        "type": kind,
                        "quantity": abs(size.coins),
                        "price": to_step(price, market.price_step),
                        "reduce_only": True,
                    }
                )
            )
    return tuple(orders)


def _first(style: ExecutionStyle, size: OrderSize, market: MarketSnapshot) -> PlannedOrder:
    quantity, sign = abs(size.coins), 1 if size.coins > 0 else -1
    purpose: Literal["entry", "reduce", "close"] = "reduce" if size.reduce_only else "entry"
    match style:
        case ExecutionStyle.PASSIVE_MAKER:
            return PlannedOrder(
                purpose=purpose,
                side=size.side,
                type="maker",
                quantity=quantity,
                price=_resting_price(market, sign),
                reduce_only=size.reduce_only,
                expires_seconds=_MAKER_SECONDS,
            )
        case ExecutionStyle.SMART_DCA:
            return PlannedOrder(
                purpose=purpose,
                side=size.side,
                type="sliced",
                quantity=quantity,
                price=None,
                reduce_only=size.reduce_only,
                slices=_SLICES,
                slice_seconds=_SLICE_SECONDS,
            )
        case ExecutionStyle.MOMENTUM_SNIPER:
            limit = market.mark * (1 + sign * _SNIPER_BIPS / _BASIS_POINTS)
            return PlannedOrder(
                purpose=purpose,
                side=size.side,
                type="limit_taker",
                quantity=quantity,
                price=to_step(limit, market.price_step),
                reduce_only=size.reduce_only,
            )
        case ExecutionStyle.CASINO_EXIT:
            return PlannedOrder(
                purpose="close",
                side=size.side,
                type="market",
                quantity=quantity,
                price=None,
                reduce_only=True,
            )


def finished_soon(orders: tuple[PlannedOrder, ...], seconds: int) -> tuple[PlannedOrder, ...]:
    """A resting hedge fills when the price rises: what is left of it soon is sold at once."""
    if not orders or orders[0].type != "maker":
        return orders
    first = orders[0].model_copy(update={"expires_seconds": seconds})
    rest = first.model_copy(
        update={"type": "market", "price": None, "expires_seconds": None, "finishes": True}
    )
    return first, rest


def _resting_price(market: MarketSnapshot, sign: int) -> float:
    """The best price on one's own side: it rests there, and takes nothing."""
    book = market.book
    rows = () if book is None else book.bids if sign > 0 else book.asks
    if rows:
        return rows[0][0]
    return to_step(market.mark * (1 - sign * 0.0001), market.price_step)


_WHOLE = 1 - 2e-5
"""Numbers that travel have six digits."""
_THIN = 0.25
"""Of what rests within 20 levels: more than this at once is sliced instead."""
_LEVELS = 20
_FAILURES = ("unknown", RiskRule.UNPARSABLE.value)
"""How notes begin that tell of something missing."""


def desk_limits(settings: DeskSettings) -> DeskLimits:
    return DeskLimits(order_usd=settings.order_usd, account_leverage=settings.account_leverage)


def route_sizing(account: AccountFacts, sizing: Sizing) -> tuple[AccountFacts, Sizing]:
    """Rule 5: spot takes a long within its limits, unlevered; the other venue takes the rest."""
    spot, notional = account.spot, sizing.notional(max(account.equity or 0.0, 0.0))
    # What the other venue would not take either is no reason to go there.
    if account.terms.most_usd is not None:
        notional = min(notional, account.terms.most_usd)
    if spot is None or sizing.decision is not TradeDecision.LONG or not notional:
        return account, sizing
    if notional > min(spot.terms.most_usd or 0.0, spot.cash):
        return account, sizing
    there = AccountFacts(
        venue=spot.venue,
        time=account.time,
        equity=spot.cash,
        positions=(),
        waiting=(),
        maker_fee=spot.maker_fee,
        taker_fee=spot.taker_fee,
        terms=spot.terms,
    )
    return there, Sizing(sizing.decision, notional / spot.cash * 100, 1.0)


def judged_risk(case: DecisionDraft, sizing: Sizing) -> RiskJudgment:
    question, limits = case.question, desk_limits(case.question.settings)
    number, thin = case.context.number, _is_thin(case, sizing)
    if question.objective is Objective.HEDGE:
        return _hedge_risk(case, sizing, thin=thin)
    facts = RiskFacts(
        mode=question.mode,
        venue=question.account.terms.limits,
        equity=max(question.account.equity or 0.0, 0.0),
        funding_rate=number(SectionName.FUNDING, "rate"),
        options_panic=is_options_panic(
            number(SectionName.OPTIONS, "dvol_z"),
            number(SectionName.OPTIONS, "week_volatility"),
            number(SectionName.OPTIONS, "quarter_volatility"),
            limits,
        ),
        curve_spread=number(SectionName.MACRO, "curve_spread"),
        curve_change=number(SectionName.MACRO, "curve_change"),
        long_liquidations_usd=number(SectionName.LIQUIDATIONS, "long_usd"),
        short_liquidations_usd=number(SectionName.LIQUIDATIONS, "short_usd"),
        anomalies=case.triage.anomalies,
        thin_book=thin,
    )
    return judge_risk(sizing, facts, limits)


def _hedge_risk(case: DecisionDraft, sizing: Sizing, *, thin: bool) -> RiskJudgment:
    """A hedge lowers what is at risk: what shrinks risk-taking would raise it."""
    if sizing.decision is TradeDecision.CANCEL_AND_CLOSE:
        return RiskJudgment(sizing, sizing, (), ExecutionStyle.CASINO_EXIT)
    style = ExecutionStyle.SMART_DCA if thin else ExecutionStyle.PASSIVE_MAKER
    if sizing.decision.opens and case.question.account.terms.spot:
        return RiskJudgment(sizing, HOLD, (RiskRule.SPOT_ONLY,), style)
    return RiskJudgment(sizing, sizing, (), style)


def guard_facts(account: AccountFacts, least_notional: float) -> GuardFacts:
    """Everything that is held and everything that may still open something."""
    held = [
        VenueExposure(
            position.venue,
            position.symbol,
            None if position.mark is None else position.quantity * position.mark,
        )
        for position in account.positions
    ]
    waiting = [
        VenueExposure(order.venue, order.symbol, order.notional_usd) for order in account.waiting
    ]
    return GuardFacts(account.equity, (*held, *waiting), least_notional)


def guard_sizing(case: RiskVerdict) -> tuple[Sizing, GuardJudgment, LadderStep]:
    last = case.ladder[-1]
    sizing = Sizing(last.decision, last.allocation_pct, last.leverage)
    asked = last.notional_usd if sizing.decision.opens else 0.0
    facts = guard_facts(case.question.account, case.market.least_notional)
    judged = guard(asked, facts, desk_limits(case.question.settings))
    after = sizing
    if sizing.decision.opens:
        shrunk = judged.notional / asked if asked > 0 else 0.0
        # A part of a hedge protects less than it says: it fits whole, or not at all.
        cut = shrunk < _WHOLE and case.question.objective is Objective.HEDGE
        after = (
            Sizing(sizing.decision, sizing.allocation_pct * shrunk, sizing.leverage)
            if judged.allows and not cut
            else HOLD
        )
    notes = () if after == sizing else (judged.reason.value,)
    return after, judged, ladder_step("leverage_guard", after, case, *notes)


def conclude_trade(case: RiskVerdict) -> tuple[TradePlan, GuardJudgment]:
    """The plan that is left after the guard, and what the guard saw."""
    sizing, judged, step = guard_sizing(case)
    market, question = case.market, case.question
    coins = _coins(case, sizing, judged.notional)
    decision, reason = sizing.decision, case.reason
    by_failure = False
    for stage in (*case.ladder[3:], step):
        if stage.notes and stage.decision is TradeDecision.HOLD:
            reason = f"{stage.stage}: {', '.join(stage.notes)}"
            by_failure = any(note.startswith(_FAILURES) for note in stage.notes)
    if decision.opens and coins == 0:
        decision, reason = TradeDecision.HOLD, "what is left is less than the venue takes"
    outright = question.objective is Objective.TRADE and decision.opens
    protects = outright and question.account.terms.stops
    if outright and not protects:
        reason = f"{reason}; stop and profit are yours to watch: the venue keeps neither"
    orders = styled_orders(
        case.style,
        OrderSize(coins, reduce_only=_only_reduces(case, coins)),
        market,
        stop=case.draft.stop_loss if protects else None,
        take_profit=case.draft.take_profit if protects else None,
    )
    if question.objective is Objective.HEDGE:
        orders = finished_soon(orders, question.settings.hedge_seconds)
    plan = TradePlan(
        plan_id="",
        symbol=question.symbol,
        coin=question.coin,
        venue=question.account.venue,
        mode=question.mode,
        objective=question.objective,
        decision=decision,
        by_failure=by_failure,
        reason=reason,
        missing=case.context.missing_sections,
        mark=market.mark,
        market_time=market.time,
        made_at=question.asked_at,
        expires_at=question.asked_at + DeskLimits().plan_seconds,
        style=case.style,
        quantity=abs(coins),
        notional_usd=abs(coins) * market.mark,
        entry=case.draft.entry_price if outright else None,
        stop=case.draft.stop_loss if outright else None,
        take_profit=case.draft.take_profit if outright else None,
        odds=case.odds,
        orders=orders if decision is not TradeDecision.HOLD else (),
        ladder=(*case.ladder, step),
        equity=question.account.equity,
        leverage_before=judged.leverage_before,
        leverage_after=judged.leverage_after,
        liquidation=_liquidation(case, coins if decision.opens else 0.0),
        regime=case.regime,
        anomalies=case.triage.anomalies,
        findings=case.findings,
        conflicts=case.conflicts,
        reasoning=case.draft.reasoning,
        hold_duration=case.draft.hold_duration,
        ev_rationale=case.draft.ev_rationale,
        key_factors=case.draft.key_factors,
        sections=case.context.sections,
        hedge=_hedge_plan(case, orders, decision),
        setup=_drafted_setup(case, (*case.ladder, step)),
        taught=_lesson_of_kind(case),
        decided_by=case.decided_by,
        snapshot_hash=snapshot_hash(case.market),
    )
    return with_identity(plan), judged


def _drafted_setup(case: RiskVerdict, ladder: Sequence[LadderStep]) -> DraftedSetup | None:
    draft, odds = case.draft, case.odds
    prices = (draft.entry_price, draft.stop_loss, draft.take_profit)
    entry, stop, take_profit = prices
    if odds is None or entry is None or stop is None or take_profit is None:
        return None
    refused = next((step.stage for step in ladder if not step.decision.opens), "")
    return DraftedSetup(
        decision=draft.decision,
        entry=entry,
        stop=stop,
        take_profit=take_profit,
        notional_usd=ladder[0].notional_usd,
        cost_pct=odds.cost_pct,
        refused_by=refused,
    )


def _liquidation(case: RiskVerdict, coins: float) -> float | None:
    """Of what the plan opens, beside all that is held; None where it opens nothing, or on spot."""
    account, market = case.question.account, case.market
    if not coins or account.terms.spot:
        return None
    held = [
        MarkedPosition(position.quantity, position.mark or market.mark)
        for position in account.positions
        if position.symbol != market.symbol
    ]
    own = account.quantity_of(market.symbol) + coins
    risk = account_risk(account.equity, (*held, MarkedPosition(own, market.mark)))
    if risk is None:
        return None
    price = market.mark * (1 - risk.to_liquidation * (1 if own > 0 else -1))
    # What is long and not borrowed against is closed by nobody.
    return price if price > 0 else None


def _lesson_of_kind(case: RiskVerdict) -> KindLesson | None:
    kind = case.draft.decision.value, case.regime.regime.value
    known = case.question.shadows if case.odds is not None else ()
    return next((each for each in known if (each.decision, each.regime) == kind), None)


def failed_plan(
    question: DeskQuestion, reason: str, sections: tuple[ContextSection, ...], now: int
) -> TradePlan:
    """A HOLD because the market could not be read: nothing about it is known."""
    account = question.account
    return with_identity(
        TradePlan(
            plan_id="",
            symbol=question.symbol,
            coin=question.coin,
            venue=account.venue,
            mode=question.mode,
            objective=question.objective,
            decision=TradeDecision.HOLD,
            by_failure=True,
            reason=reason,
            missing=tuple(section.name for section in sections if section.status != "ok"),
            mark=0.0,
            market_time=now,
            made_at=question.asked_at,
            expires_at=question.asked_at,
            style=ExecutionStyle.PASSIVE_MAKER,
            quantity=0.0,
            notional_usd=0.0,
            orders=(),
            equity=account.equity,
            sections=sections,
            decided_by="rules",
            snapshot_hash="",
        )
    )


def _coins(case: RiskVerdict, sizing: Sizing, allowed: float) -> float:
    """Above 0 to buy, below 0 to sell: whole steps of the venue, never more than is allowed."""
    market, question = case.market, case.question
    hedge, ratio = question.hedge, case.hedge_ratio
    wanted = 0.0
    if hedge is not None and ratio is not None:
        wanted = hedged_quantity(hedge.delta, ratio, market.quantity_step)
    if sizing.decision is TradeDecision.CANCEL_AND_CLOSE:
        held = question.account.outright(question.symbol)
        return -held if hedge is None else question.hedge_short - wanted
    if not sizing.decision.opens:
        return 0.0
    coins = floor_to_step(
        allowed / market.mark if hedge is None else wanted - question.hedge_short,
        market.quantity_step,
    )
    if coins * market.mark < market.least_notional:
        return 0.0
    return coins * sizing.decision.sign


def _only_reduces(case: RiskVerdict, coins: float) -> bool:
    account, symbol = case.question.account, case.question.symbol
    held = account.outright(symbol) if case.question.hedge is None else account.quantity_of(symbol)
    return held * coins < 0 and abs(coins) <= abs(held)


def _is_thin(case: DecisionDraft, sizing: Sizing) -> bool:
    book, equity = case.market.book, case.question.account.equity or 0.0
    if book is None or not sizing.decision.opens:
        return False
    levels = book.ask_levels if sizing.decision.sign > 0 else book.bid_levels
    rests = walk_levels(levels[:_LEVELS], float("inf")).filled
    return sizing.notional(max(equity, 0.0)) / case.market.mark > rests * _THIN


def _hedge_plan(
    case: RiskVerdict, orders: tuple[PlannedOrder, ...], decision: TradeDecision
) -> HedgePlan | None:
    hedge, ratio = case.question.hedge, case.hedge_ratio
    if hedge is None or ratio is None:
        return None
    held = case.question.hedge_short
    wanted = hedged_quantity(hedge.delta, ratio, case.market.quantity_step)
    change = 0.0
    if orders and decision is not TradeDecision.HOLD:
        change = orders[0].quantity * (1 if orders[0].side == "sell" else -1)
    reached = max(held + change, 0.0)
    rate = case.context.number(SectionName.FUNDING, "rate")
    cost = None if rate is None else -rate * 24 / FUNDING_HOURS * reached * case.market.mark
    exposure = RangeExposure.from_coins(hedge.delta, hedge.price, hedge.lower, hedge.upper)
    outlook = None
    if exposure is not None:
        fee = case.question.account.taker_fee
        closes = [candle.close for candle in case.market.hours.candles]
        outlook = hedge_outlook(
            exposure, closes, hedge.price, target=ratio, band=hedge.band, fee=fee
        )
    weeks: tuple[tuple[int, float, float, float], ...] = ()
    if exposure is not None and case.market.slow.interval == "4h":
        weeks = past_weeks(
            exposure,
            case.market.slow.candles,
            hedge.price,
            target=ratio,
            band=hedge.band,
            fee=case.question.account.taker_fee,
        )
    return HedgePlan(
        position=hedge,
        ratio=ratio,
        argued=case.hedge_argued,
        outlook=outlook,
        held=held,
        wanted=wanted,
        reached=reached,
        net_delta=hedge.delta - reached,
        cost_usd_a_day=cost,
        weeks=weeks,
        funding_days=funding_days(case.market.funding, reached * case.market.mark),
    )
