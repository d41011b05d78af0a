"""From a trade plan to orders on a venue: approved by its hash, looked at again, sent once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agents.trade.concluding import desk_limits, guard_facts
from agents.trade.facts import (
    AccountFacts,
    DeskSettings,
    HedgeFacts,
    HeldContract,
    VenueTerms,
    WaitingOrder,
)
from agents.trade.leverage_guard import guard
from agents.trade.plan import HedgePlan, PlannedOrder, TradePlan
from agents.trade.risk_rules import RiskFacts, Sizing, judge_risk
from agents.trade.terms import DeskLimits, TradeDecision
from chain.base.home import locked_in_turn
from chain.exchange.orders.engine import (
    CANCELLED_HERE,
    OrderNotice,
    current_orders,
    send_orders,
)
from chain.exchange.orders.hedge import HedgeStart, TakenOver
from chain.exchange.orders.journal import AlreadySentError, JournalState, TradeJournal
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderType, VenueOrder
from chain.exchange.orders.venue import Venue, VenueAccount, VenueFees
from chain.exchange.public.binance import BinancePublic
from chain.exchange.public.market import VenueAbilities, contract_symbol
from chain.execution.outbox.approvals import ActKind, GivenApproval
from chain.execution.outbox.outbox import Outbox
from chain.prices.market_http import MarketError
from chain.protocols.reference import PositionRef, position_label, position_name
from zuno_tui.features.trade.hedges import hedging_coins, read_hedges
from zuno_tui.gate.acts import (
    make_given_approval,
    refuse_changed,
    refuse_over,
    seal,
    waiting_approval,
)
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode


class Trading(Struct, frozen=True):
    """Open for as long as a command runs; what a crash left between is known by then."""

    market: BinancePublic
    venue: Venue
    journal: TradeJournal
    fees: VenueFees
    settings: DeskSettings
    clock: Callable[[], float]
    """The person's, by which plans and approvals grow old."""
    lock: Path
    """Held while orders are sent, so that nobody takes them for cut off."""
    outbox: Outbox
    """Where approvals are."""
    position: Callable[[PositionRef, str], Awaitable[HedgeFacts | None]]
    """What a position holds of a coin now, by its id; None where that is nothing any more."""
    allow_withdrawing: bool = False
    """Whether orders may be sent with a key that could move the money away."""

    async def account(self) -> AccountFacts:
        """Everything the person has on the venue, with marks of now."""
        seen = await self.venue.account()
        figures = (
            seen.equity,
            *seen.marks.values(),
            *(position.quantity for position in seen.positions),
        )
        if not all(map(isfinite, figures)):
            raise MarketError(f"{seen.venue} tells figures of the account that are none")
        hedges = await read_hedges(self.journal, self.venue)
        opening = [order for order in seen.open_orders if not order.order.reduce_only]
        symbols = {position.symbol for position in seen.positions} | {
            order.order.symbol for order in opening
        }
        marks = {
            symbol: seen.marks.get(symbol) or (await self.venue.contracts.funding(symbol)).mark
            for symbol in sorted(symbols)
        }
        return AccountFacts(
            venue=seen.venue,
            time=int(seen.time),
            equity=seen.equity,
            positions=tuple(
                HeldContract(
                    venue=seen.venue,
                    symbol=position.symbol,
                    quantity=position.quantity,
                    entry=position.entry,
                    mark=marks[position.symbol],
                    hedge=hedging_coins(hedges, position),
                )
                for position in seen.positions
            ),
            waiting=tuple(
                WaitingOrder(
                    venue=seen.venue,
                    symbol=order.order.symbol,
                    notional_usd=order.open_quantity
                    * (order.order.price or marks[order.order.symbol]),
                )
                for order in opening
            ),
            terms=venue_terms(self.venue.abilities, seen, self.settings.order_usd),
            maker_fee=self.fees.maker,
            taker_fee=self.fees.taker,
        )


def venue_terms(can: VenueAbilities, seen: VenueAccount, order_usd: float) -> VenueTerms:
    most: float | None = order_usd
    if can.money != "USD":
        most = can.most_order / seen.money_per_usd if seen.money_per_usd else None
    return VenueTerms(
        spot=can.spot,
        leverage=can.leverage,
        stops=can.stops,
        rests=can.rests,
        most_usd=most,
        made_up=can.made_up,
    )


_DUST = 1e-9
_UNKNOWN = 1e-6
"""The part by which floats of a venue and of fills may differ."""
_NEW_PLAN = "Ask for a new plan: zuno trade {coin}"


class TradeCost(NamedTuple):
    """Trading fees in dollars."""

    expected: float
    most: float
    """With every order at the dearer fee, filled at the highest price."""
    highest: float = 0.0
    """The price up to which that holds: a sale may fill above its own."""


def trade_cost(plan: TradePlan, fees: VenueFees, deviation: float) -> TradeCost:
    """`deviation` is how far the price may move until the orders are sent, as a part of it."""
    expected = traded = 0.0
    prices = [order.price for order in plan.orders if order.price and order.purpose in _TRADING]
    highest = max((plan.mark, *prices)) * (1 + deviation)
    for order in plan.trading_orders:
        rests = order.type == "maker"
        worth = order.quantity * (order.price or plan.mark)
        expected += worth * (fees.maker if rests else fees.taker)
        traded += order.quantity
    return TradeCost(expected, traded * highest * max(fees.maker, fees.taker), highest)


_TRADING = ("entry", "close", "reduce")


class ApprovedTrade(Struct, frozen=True):
    plan: TradePlan
    approval: GivenApproval
    orders: tuple[VenueOrder, ...]
    cost: TradeCost
    remarks: tuple[str, ...] = ()
    """About the account, from its venue."""
    profit: float | None = None
    """Dollars that closing brings at the mark, fees not counted; None where nothing is closed."""


def venue_orders(plan: TradePlan) -> tuple[VenueOrder, ...]:
    """The plan's orders with names of their own: the same plan gives the same names."""
    return tuple(
        VenueOrder(
            client_id=f"zuno-{plan.plan_id.removeprefix('plan_')}-{place}",
            symbol=plan.symbol,
            side=OrderSide(order.side),
            type=OrderType(order.type),
            quantity=order.quantity,
            price=order.price,
            reduce_only=order.reduce_only,
            expires_seconds=order.expires_seconds,
            slices=order.slices,
            slice_seconds=order.slice_seconds,
            finishes=order.finishes,
        )
        for place, order in enumerate(plan.orders)
    )


def approval_hash(plan: TradePlan, venue: str, given_at: float) -> str:
    """Over the whole plan, where it would be sent and since when it is approved."""
    content = plan.model_dump(mode="json", by_alias=True)
    return seal({"plan": content, "venue": venue, "givenAt": float(given_at)})


async def check_account(trading: Trading, symbol: str) -> tuple[str, ...]:
    """What is good to know about the account; refuses where it is not fit for an order."""
    check = await trading.venue.check(symbol)
    faults = list(check.faults)
    if check.may_withdraw and not trading.allow_withdrawing:
        faults.append(
            "this key may withdraw. Make one that may only trade, "
            "or set allow_withdrawing_key = true under [trade]"
        )
    if faults:
        raise GateRefusedError(
            f"{trading.venue.name} cannot take orders as it is: {'; '.join(faults)}. "
            "Nothing was sent.",
            RefusalCode.POLICY,
        )
    return check.remarks


def refuse_anyway(venue: Venue) -> None:
    """Nobody bets real money against the odds by a flag."""
    if not venue.abilities.made_up:
        raise GateRefusedError(
            f"--anyway is for paper, and {venue.name} trades real money. Nothing was argued.",
            RefusalCode.POLICY,
        )


async def approve_trade(trading: Trading, plan: TradePlan) -> ApprovedTrade:
    """Write the approval down; nothing is sent."""
    now = trading.clock()
    _refuse_sent(trading, plan)
    judged = await _judge(trading, plan, now)
    sealed = approval_hash(plan, trading.venue.name, now)
    approval = make_given_approval(ActKind.TRADE, plan.plan_id, sealed, {}, now=now)
    trading.outbox.give(approval)
    return judged(approval)


async def waiting_trade(trading: Trading, plan: TradePlan, confirm: str | None) -> ApprovedTrade:
    """What was approved and not yet used, judged again on the market and account of now."""
    _refuse_sent(trading, plan)
    approval = waiting_approval(
        trading.outbox,
        ActKind.TRADE,
        plan.plan_id,
        confirm,
        happened=lambda _: False,
        kept_elsewhere=trading.journal.was_approved_before(plan.plan_id),
    )
    refuse_changed(approval, approval_hash(plan, trading.venue.name, approval.given_at))
    now = trading.clock()
    refuse_over(approval, now)
    return (await _judge(trading, plan, now))(approval)


def _refuse_sent(trading: Trading, plan: TradePlan) -> None:
    if trading.journal.has_begun(plan.plan_id):
        raise GateRefusedError(
            f"{plan.plan_id} was applied already. See where it stands: zuno trade status",
            RefusalCode.ALREADY_APPLIED,
        )


async def _judge(
    trading: Trading, plan: TradePlan, now: float
) -> Callable[[GivenApproval], ApprovedTrade]:
    """What is to be shown of the orders; refuses where they may not be sent."""
    _refuse_unfit(trading, plan, now)
    remarks = await check_account(trading, plan.symbol)
    account = await _look_again(trading, plan)
    deviation = desk_limits(trading.settings).price_deviation
    cost, profit = trade_cost(plan, trading.fees, deviation), _closing_profit(plan, account)
    return lambda given: ApprovedTrade(plan, given, venue_orders(plan), cost, remarks, profit)


def _closing_profit(plan: TradePlan, account: AccountFacts) -> float | None:
    held = next((each for each in account.positions if each.symbol == plan.symbol), None)
    closes = plan.decision is TradeDecision.CANCEL_AND_CLOSE
    if not closes or held is None or not held.entry or held.mark is None:
        return None
    sign = 1 if held.quantity > 0 else -1
    return sign * plan.quantity * (held.mark - held.entry)


async def apply_trade(
    trading: Trading,
    waiting: ApprovedTrade,
    on_sent: Callable[[OrderProgress], None] = lambda _: None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    on_notice: Callable[[OrderNotice], None] = lambda _: None,
) -> tuple[OrderProgress, ...]:
    """Send each order once; what is closed loses what waits for it first, and its stops last.

    Cut off between, it is still protected, and `tend_orders` clears away what is left over.
    """
    plan, spot = waiting.plan, trading.venue.abilities.spot
    closes = plan.decision is TradeDecision.CANCEL_AND_CLOSE
    try:
        # Whoever tends orders meanwhile would miss what is cancelled here.
        async with locked_in_turn(trading.lock):
            trading.outbox.use(waiting.approval.hash, now=trading.clock())
            own = _own_orders(trading, plan) if closes else ()
            # On spot a resting order keeps its coins from being sold.
            await _cancel(trading, [order for order in own if spot or not order.reduce_only])
            sent = await send_orders(
                trading.journal,
                trading.venue,
                plan.plan_id,
                waiting.orders,
                hedge_start(waiting.plan),
                sleep=sleep,
                on_sent=on_sent,
                on_notice=on_notice,
            )
            if sum(order.filled for order in sent) >= plan.quantity - _DUST:
                await _cancel(trading, [order for order in own if order.reduce_only and not spot])
            return sent
    except AlreadySentError as error:
        raise GateRefusedError(str(error), RefusalCode.ALREADY_APPLIED) from None


async def _cancel(trading: Trading, orders: Sequence[VenueOrder]) -> None:
    for order in orders:
        ended = await trading.venue.cancel(order)
        if ended is not None:
            ended = ended if ended.is_open else replace(ended, reason=CANCELLED_HERE)
            now = await trading.venue.now()
            trading.journal.mark(order.client_id, JournalState.ACKNOWLEDGED, now, ended)


def hedge_start(plan: TradePlan) -> HedgeStart | None:
    """What is written down beside the orders of a hedge; the journal adds when."""
    if plan.hedge is None:
        return None
    position = plan.hedge.position
    return HedgeStart(
        chain_id=position.chain_id,
        token_id=str(position.token_id),
        wallet=position.wallet,
        coin=position.coin,
        symbol=plan.symbol,
        token=position.token,
        ratio=plan.hedge.ratio,
        band=position.band,
        rate=position.rate,
        other_rate=position.other_rate,
        amount0=str(position.amount0),
        amount1=str(position.amount1),
        sqrt_price_x96=str(position.sqrt_price_x96),
        mark=plan.mark,
        block=position.block,
        time=0.0,
        taken_over=tuple(TakenOver(str(ref), coins) for ref, coins in position.taken_over),
    )


def _own_orders(trading: Trading, plan: TradePlan) -> tuple[VenueOrder, ...]:
    """Of this contract a hedge's own, or of a trade those that hedge nothing: others stay."""
    start = hedge_start(plan)
    hedges = trading.journal.hedges(trading.venue.name)
    return tuple(
        entry.order
        for entry in trading.journal.entries()
        if entry.venue == trading.venue.name
        and entry.order.symbol == plan.symbol
        and entry.state is JournalState.ACKNOWLEDGED
        and (entry.answer is None or entry.answer.is_open)
        and (None if entry.plan_id not in hedges else hedges[entry.plan_id].key)
        == (None if start is None else start.key)
    )


def _refuse_unfit(trading: Trading, plan: TradePlan, now: float) -> None:
    if plan.decision is TradeDecision.HOLD or not plan.orders:
        raise GateRefusedError(f"{plan.plan_id} is a HOLD: there is nothing to send.")
    if plan.against_odds and not trading.venue.abilities.made_up:
        raise GateRefusedError(
            f"{plan.plan_id} is expected to lose, and {trading.venue.name} trades real money. "
            "Nothing was sent.",
            RefusalCode.POLICY,
        )
    if plan.venue != trading.venue.name:
        raise GateRefusedError(
            f"{plan.plan_id} was made for {plan.venue}, and this is {trading.venue.name}."
        )
    if not plan.made_at <= now <= plan.expires_at:
        raise GateRefusedError(
            f"{plan.plan_id} is older than {DeskLimits().plan_seconds // 60} minutes. "
            f"Nothing was sent. {_NEW_PLAN.format(coin=plan.coin)}",
            RefusalCode.DRIFT,
        )


async def _look_again(trading: Trading, plan: TradePlan) -> AccountFacts:
    """The orders themselves, held against the market, account and position as they are now."""
    account = await trading.account()
    fault = order_fault(plan, account)
    if fault is not None:
        raise GateRefusedError(f"{fault} Nothing was sent.", RefusalCode.POLICY)
    await _refuse_unknown(trading, plan, account)
    if plan.decision is TradeDecision.CANCEL_AND_CLOSE:
        return account
    _refuse_other_account(plan, account)
    new_plan = _NEW_PLAN.format(coin=plan.coin)
    limits = desk_limits(trading.settings)
    funding = await trading.venue.contracts.funding(plan.symbol)
    if abs(funding.mark / plan.mark - 1) > limits.price_deviation:
        raise GateRefusedError(
            f"{plan.symbol} has moved from {plan.mark:,.2f} to {funding.mark:,.2f}. "
            f"Nothing was sent. {new_plan}",
            RefusalCode.DRIFT,
        )
    opening = plan.opening_usd(max(funding.mark, plan.mark))
    if plan.hedge is not None:
        await _refuse_changed_position(trading, plan.hedge)
        # A hedge rests on the plan's mark; what the price did since is within the deviation.
        most = _hedge_limit(trading.settings, plan.hedge, funding.mark)
        short = plan.hedge.held * funding.mark + opening
    else:
        _refuse_by_rules(trading, plan, account, funding.rate_of_8_hours)
        most, short = account.terms.most_usd or 0.0, opening
    if short > most * (1 + limits.price_deviation):
        setting = "order_usd" if plan.hedge is None else "hedge_usd"
        raise GateRefusedError(
            f"These orders come to ${short:,.0f}; {setting} under [trade] allows ${most:,.0f}. "
            f"Nothing was sent. {new_plan}",
            RefusalCode.POLICY,
        )
    allowed = guard(opening, guard_facts(account, 0.0), limits)
    if allowed.notional < opening:
        raise GateRefusedError(
            f"The account's leverage guard refuses it by now: {allowed.reason}. Nothing was sent. "
            f"{new_plan}",
            RefusalCode.POLICY,
        )
    return account


async def _refuse_unknown(trading: Trading, plan: TradePlan, account: AccountFacts) -> None:
    """What the venue holds and the journal does not know would be doubled, not added to.

    Coins on a spot venue are their owner's own: none of them is owed to anybody.
    """
    if trading.venue.abilities.spot:
        return
    held = account.quantity_of(plan.symbol)
    known = (await journal_coins(trading.journal, trading.venue)).get(plan.symbol, 0.0)
    if agree(held, known):
        return
    raise GateRefusedError(
        f"{trading.venue.name} holds {held:+g} {plan.coin}, and zuno's journal knows of "
        f"{known:+g}: {held - known:+g} is not its own. Nothing was sent. Close or open the "
        "difference on the venue, or use the home that opened it: --home DIR",
        RefusalCode.POLICY,
    )


async def journal_coins(journal: TradeJournal, venue: Venue) -> dict[str, float]:
    """By contract, what is held by the orders that were sent from here."""
    sums: dict[str, float] = {}
    for sent in await current_orders(journal, venue):
        for order in sent.orders:
            coins = order.filled * order.order.side.sign
            sums[order.order.symbol] = sums.get(order.order.symbol, 0.0) + coins
    return sums


def agree(held: float, known: float) -> bool:
    return abs(held - known) <= max(_DUST, _UNKNOWN * max(abs(held), abs(known)))


def _refuse_other_account(plan: TradePlan, account: AccountFacts) -> None:
    """Another account's worth, or a mark that is off by a factor, is no ground to open on."""
    worth, told = account.equity or 0.0, plan.equity or 0.0
    if told and abs(worth / told - 1) > _SAME_ACCOUNT:
        raise GateRefusedError(
            f"The account was worth ${told:,.0f} when this was planned, and is worth ${worth:,.0f} "
            f"by now. Nothing was sent. {_NEW_PLAN.format(coin=plan.coin)}",
            RefusalCode.DRIFT,
        )
    held = [position for position in account.positions if position.symbol == plan.symbol]
    for mark in filter(None, (position.mark for position in held)):
        if abs(mark / plan.mark - 1) > _SAME_MARK:
            raise GateRefusedError(
                f"{account.venue} values {plan.symbol} at {mark:,.2f}, and its market stood at "
                f"{plan.mark:,.2f}. Nothing was sent.",
                RefusalCode.DRIFT,
            )


_SAME_ACCOUNT, _SAME_MARK = 0.25, 0.05


def _hedge_limit(settings: DeskSettings, hedge: HedgePlan, mark: float) -> float:
    position = hedge.position
    worth = position.worth_usd + position.delta * (mark - position.price)
    return worth if settings.hedge_usd is None else settings.hedge_usd


def _refuse_by_rules(
    trading: Trading, plan: TradePlan, account: AccountFacts, funding_rate: float
) -> None:
    facts = RiskFacts(
        mode=plan.mode,
        venue=account.terms.limits,
        equity=max(account.equity or 0.0, 0.0),
        funding_rate=funding_rate,
    )
    last = plan.ladder[-1]
    judged = judge_risk(
        Sizing(plan.decision, last.allocation_pct, last.leverage),
        facts,
        desk_limits(trading.settings),
    )
    if judged.after.decision is not plan.decision:
        raise GateRefusedError(
            f"The risk rules refuse it by now: {', '.join(judged.fired)}. Nothing was sent. "
            f"{_NEW_PLAN.format(coin=plan.coin)}",
            RefusalCode.POLICY,
        )


async def _refuse_changed_position(trading: Trading, hedge: HedgePlan) -> None:
    """A hedge of coins that are no longer there is a bet."""
    planned = hedge.position
    label = position_label(planned.token_id)
    again = f"Nothing was sent. Ask for a new plan: zuno hedge {position_name(planned.token_id)}"
    now = await trading.position(planned.token_id, planned.coin)
    if now is None or now.chain_id != planned.chain_id or now.delta <= 0:
        raise GateRefusedError(
            f"{label} holds no {planned.coin} any more, so there is nothing to hedge. "
            "Nothing was sent.",
            RefusalCode.DRIFT,
        )
    if now.wallet != planned.wallet or now.token != planned.token:
        raise GateRefusedError(
            f"{label} is not what it was: its owner or its coin changed. {again}", RefusalCode.DRIFT
        )
    if abs(now.delta - planned.delta) > planned.band * planned.delta:
        raise GateRefusedError(
            f"{label} held {planned.delta:.4g} {planned.coin} and holds "
            f"{now.delta:.4g} now: more than the band of {planned.band:.0%}. {again}",
            RefusalCode.DRIFT,
        )
    if hedge.reached > now.delta * (1 + planned.band):
        raise GateRefusedError(
            f"The hedge would be larger than {label} itself. {again}", RefusalCode.POLICY
        )


_PROTECTING = ("stop", "take_profit")


def order_fault(plan: TradePlan, account: AccountFacts) -> str | None:
    """Why these orders may not be sent, in words; None where they may."""
    if plan.symbol != contract_symbol(plan.coin):
        return f"{plan.symbol} is not the contract of {plan.coin}."
    if plan.decision is TradeDecision.CANCEL_AND_CLOSE:
        return _closing_fault(plan, account)
    side = "buy" if plan.decision is TradeDecision.LONG else "sell"
    if any(order.side != side for order in plan.orders if not _protects(order)):
        return f"An order of it does not {side}, and the plan says {plan.decision.value}."
    against = (
        account.hedge_quantity(plan.symbol) if plan.hedge is None else account.outright(plan.symbol)
    )
    if against * (1 if side == "buy" else -1) < -_DUST:
        what = "a hedge" if plan.hedge is None else "a trade"
        return f"{plan.symbol} is held on the other side for {what}: this would undo it."
    return _protection_fault(plan, side, stops=account.terms.stops)


def _protection_fault(plan: TradePlan, side: str, *, stops: bool) -> str | None:
    """A hedge sells and carries no stop; a trade always does, where the venue keeps one."""
    protecting = [order for order in plan.orders if _protects(order)]
    if plan.hedge is not None:
        return "A hedge sells, and carries no stop." if protecting or side == "buy" else None
    opened = sum(order.quantity for order in plan.trading_orders)
    for order in protecting:
        if not order.reduce_only or order.side == side or order.quantity > opened + _DUST:
            return "One of its stops or targets could open a position."
    stopped = any(order.type == "stop" for order in protecting)
    return None if stopped or not stops else "A trade without a stop is not sent."


def _closing_fault(plan: TradePlan, account: AccountFacts) -> str | None:
    """A plan that closes holds nothing but reduce-only orders, no larger than what is held."""
    held = account.quantity_of(plan.symbol) if plan.hedge else account.outright(plan.symbol)
    side = "buy" if held < 0 else "sell"
    if any(not order.reduce_only or order.side != side for order in plan.orders):
        return "A plan that closes may only reduce what is held, and an order of it does not."
    closed = sum(order.quantity for order in plan.orders if not order.finishes)
    if closed > abs(held) + _DUST:
        return f"It would close {closed:g} {plan.coin}, and {abs(held):g} is held."
    return None


def _protects(order: PlannedOrder) -> bool:
    return order.purpose in _PROTECTING or order.type in _PROTECTING
