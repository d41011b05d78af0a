"""What a trade plan's orders must be, whatever the plan says of itself."""

from agents.trade.facts import AccountFacts
from agents.trade.plan import PlannedOrder, TradePlan
from agents.trade.terms import TradeDecision
from chain.exchange.public.market import contract_symbol

_DUST = 1e-9
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
    against = account.hedging(plan.symbol) if plan.hedge is None else account.outright(plan.symbol)
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
            return "A stop or a profit of it could open something."
    stopped = any(order.type == "stop" for order in protecting)
    return None if stopped or not stops else "A trade without a stop is not sent."


def _closing_fault(plan: TradePlan, account: AccountFacts) -> str | None:
    """A plan that closes holds nothing but reduce-only orders, no larger than what is held."""
    held = account.held(plan.symbol) if plan.hedge else account.outright(plan.symbol)
    side = "buy" if held < 0 else "sell"
    if any(not order.reduce_only or order.side != side for order in plan.orders):
        return "A plan that closes may only reduce what is held, and an order of it does not."
    closed = sum(order.quantity for order in plan.orders if not order.finishes)
    if closed > abs(held) + _DUST:
        return f"It would close {closed:g} {plan.coin}, and {abs(held):g} is held."
    return None


def _protects(order: PlannedOrder) -> bool:
    return order.purpose in _PROTECTING or order.type in _PROTECTING
