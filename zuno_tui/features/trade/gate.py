"""From a trade plan to orders on a venue: approved by its hash, looked at again, sent once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.trade.concluding import desk_limits, guard_facts
from agents.trade.facts import AccountFacts, DeskSettings, HeldContract, WaitingOrder
from agents.trade.leverage_guard import guard
from agents.trade.risk_rules import RiskFacts, Sizing, judge_risk
from agents.trade.terms import DeskLimits, TradeDecision, VenueKind
from chain.base.locks import locked
from chain.base.strict_json import canonical, digest
from chain.exchange.orders.hedge import HedgeStart, TakenOver
from chain.exchange.orders.journal import APPROVED_SECONDS, ApprovalUsedError, TradeApproval
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderType, VenueOrder
from chain.exchange.orders.venue import send_orders
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

if TYPE_CHECKING:
    from agents.trade.plan import TradePlan
    from chain.exchange.orders.journal import TradeJournal
    from chain.exchange.orders.paper_venue import PaperFees
    from chain.exchange.orders.venue import Venue
    from chain.exchange.public.binance import BinancePublic


class Trading(Struct, frozen=True):
    """Open for as long as a command runs; what a crash left between is known by then."""

    market: BinancePublic
    venue: Venue
    journal: TradeJournal
    fees: PaperFees
    settings: DeskSettings
    clock: Callable[[], float]
    """The person's, by which plans and approvals grow old."""
    lock: Path
    """Held while orders are sent, so that nobody takes them for cut off."""

    async def account(self) -> AccountFacts:
        """Everything the person has on the venue, with marks of now."""
        seen = await self.venue.account()
        opening = [order for order in seen.open_orders if not order.order.reduce_only]
        symbols = {position.symbol for position in seen.positions} | {
            one.order.symbol for one in opening
        }
        marks = {
            symbol: seen.marks.get(symbol) or (await self.market.funding(symbol)).mark
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
                )
                for position in seen.positions
            ),
            waiting=tuple(
                WaitingOrder(
                    venue=seen.venue,
                    symbol=one.order.symbol,
                    notional_usd=one.left * (one.order.price or marks[one.order.symbol]),
                )
                for one in opening
            ),
            venue_kind=VenueKind.BINANCE if seen.krw_per_usd is None else VenueKind.UPBIT,
            krw_per_usd=seen.krw_per_usd,
            maker_fee=self.fees.maker,
            taker_fee=self.fees.taker,
        )


_NEW_PLAN = "Ask for a new plan: zuno trade {coin}"


class ApprovedTrade(Struct, frozen=True):
    plan: TradePlan
    approval: TradeApproval
    orders: tuple[VenueOrder, ...]

    @property
    def expires_at(self) -> float:
        return self.approval.approved_at + APPROVED_SECONDS


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
        )
        for place, order in enumerate(plan.orders)
    )


def approval_hash(plan: TradePlan, venue: str) -> str:
    """Over the whole plan and where it would be sent."""
    content = plan.model_dump(mode="json", by_alias=True)
    return digest(canonical({"plan": content, "venue": venue}))


async def approve_trade(trading: Trading, plan: TradePlan) -> ApprovedTrade:
    """Write the approval down; nothing is sent."""
    now = trading.clock()
    _refuse_unfit(trading, plan, now)
    await _look_again(trading, plan)
    approval = TradeApproval(
        plan.plan_id, approval_hash(plan, trading.venue.name), trading.venue.name, now
    )
    try:
        trading.journal.approve(approval)
    except ApprovalUsedError:
        raise GateRefusedError(
            f"{plan.plan_id} was applied already. {_NEW_PLAN.format(coin=plan.coin)}",
            RefusalCode.ALREADY_APPLIED,
        ) from None
    return ApprovedTrade(plan, approval, venue_orders(plan))


async def waiting_trade(trading: Trading, plan: TradePlan, confirm: str | None) -> ApprovedTrade:
    """What was approved and not yet used, judged again on the market and account of now."""
    approval = trading.journal.approval(plan.plan_id)
    if approval is None:
        raise GateRefusedError(
            f"{plan.plan_id} is not approved. Look at it first: zuno approve {plan.plan_id}",
            RefusalCode.NOT_APPROVED_HERE,
        )
    if approval.used_at is not None:
        raise GateRefusedError(
            f"{plan.plan_id} was applied already. See where it stands: zuno trade status",
            RefusalCode.ALREADY_APPLIED,
        )
    expected = approval_hash(plan, trading.venue.name)
    if approval.hash != expected or confirm not in (None, expected):
        raise GateRefusedError(
            "That is not the hash that was approved. Nothing was sent. "
            f"Look at it again: zuno approve {plan.plan_id}",
            RefusalCode.ANOTHER_HASH,
        )
    now = trading.clock()
    if approval.is_over(now):
        raise GateRefusedError(
            f"The approval of {plan.plan_id} is over. Nothing was sent. "
            f"{_NEW_PLAN.format(coin=plan.coin)}"
        )
    _refuse_unfit(trading, plan, now)
    await _look_again(trading, plan)
    return ApprovedTrade(plan, approval, venue_orders(plan))


async def apply_trade(
    trading: Trading,
    waiting: ApprovedTrade,
    on_sent: Callable[[OrderProgress], None] = lambda _: None,
) -> tuple[OrderProgress, ...]:
    """Cancel what still protects or waits for what is left, then send each order once."""
    if waiting.plan.decision is TradeDecision.CANCEL_AND_CLOSE:
        account = await trading.venue.account()
        own = _own_orders(trading, waiting.plan)
        for order in account.open_orders:
            name = order.order.client_id
            if order.order.symbol == waiting.plan.symbol and (own is None or name in own):
                await trading.venue.cancel(order.order)
    try:
        with locked(trading.lock):
            return await send_orders(
                trading.journal,
                trading.venue,
                waiting.approval,
                waiting.orders,
                hedge_start(waiting.plan),
                on_sent=on_sent,
            )
    except ApprovalUsedError as error:
        raise GateRefusedError(str(error), RefusalCode.ALREADY_APPLIED) from None


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
        amount0=str(position.amount0),
        amount1=str(position.amount1),
        sqrt_price_x96=str(position.sqrt_price_x96),
        mark=plan.mark,
        block=position.block,
        time=0.0,
        taken_over=tuple(TakenOver(str(one), coins) for one, coins in position.taken_over),
    )


def _own_orders(trading: Trading, plan: TradePlan) -> set[str] | None:
    """A hedge's own orders: those of other positions stay. None for all of the contract."""
    start = hedge_start(plan)
    if start is None:
        return None
    hedges = trading.journal.hedges(trading.venue.name)
    plans = {plan_id for plan_id, one in hedges.items() if one.key == start.key}
    entries = trading.journal.entries()
    return {entry.order.client_id for entry in entries if entry.plan_id in plans}


def _refuse_unfit(trading: Trading, plan: TradePlan, now: float) -> None:
    if plan.decision is TradeDecision.HOLD or not plan.orders:
        raise GateRefusedError(f"{plan.plan_id} is a HOLD: there is nothing to send.")
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


async def _look_again(trading: Trading, plan: TradePlan) -> None:
    """Mark, funding, account and guard as they are now; an exit only ever lowers exposure."""
    if plan.decision is TradeDecision.CANCEL_AND_CLOSE:
        return
    limits = desk_limits(trading.settings)
    funding = await trading.market.funding(plan.symbol)
    if abs(funding.mark / plan.mark - 1) > limits.price_deviation:
        raise GateRefusedError(
            f"{plan.symbol} has moved from {plan.mark:,.2f} to {funding.mark:,.2f}. "
            f"Nothing was sent. {_NEW_PLAN.format(coin=plan.coin)}",
            RefusalCode.DRIFT,
        )
    account = await trading.account()
    facts = RiskFacts(
        mode=plan.mode,
        venue=account.venue_kind,
        krw_per_usd=account.krw_per_usd,
        equity=max(account.equity or 0.0, 0.0),
        funding_rate=funding.rate,
    )
    last = plan.ladder[-1]
    judged = judge_risk(Sizing(plan.decision, last.allocation_pct, last.leverage), facts, limits)
    if judged.after.decision is not plan.decision:
        raise GateRefusedError(
            f"The risk rules refuse it by now: {', '.join(judged.fired)}. Nothing was sent. "
            f"{_NEW_PLAN.format(coin=plan.coin)}",
            RefusalCode.POLICY,
        )
    allowed = guard(plan.notional_usd, guard_facts(account, 0.0), limits)
    if allowed.notional < plan.notional_usd:
        raise GateRefusedError(
            f"The account's leverage guard refuses it by now: {allowed.reason}. Nothing was sent. "
            f"{_NEW_PLAN.format(coin=plan.coin)}",
            RefusalCode.POLICY,
        )
