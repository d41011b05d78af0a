"""Closing a hedge: a plan without a debate, since there is nothing to argue about."""

from msgspec import Struct

from agents.trade.facts import AccountFacts, HedgeFacts
from agents.trade.opinions import floor_to_step
from agents.trade.plan import HedgePlan, PlannedOrder, TradePlan, with_identity
from agents.trade.terms import DeskLimits, ExecutionStyle, Objective, TradeDecision, TradeMode
from chain.protocols.reference import position_label


class HedgeContract(Struct, frozen=True):
    """The contract a hedge is short of, as it is now."""

    symbol: str
    mark: float
    quantity_step: float
    market_time: int


def unhedge_plan(
    position: HedgeFacts,
    contract: HedgeContract,
    account: AccountFacts,
    *,
    share: float,
    asked_at: int,
) -> TradePlan | None:
    """Buy back this share of what is short for the position; None where that is nothing.

    Never more than the venue holds: what somebody closed there by hand cannot be closed again.
    """
    short = position.short or 0.0
    held = max(-account.quantity_of(contract.symbol), 0.0)
    coins = min(short if share == 1 else short * share, held)
    quantity = floor_to_step(coins, contract.quantity_step)
    if quantity <= 0:
        return None
    left = max(short - quantity, 0.0)
    order = PlannedOrder(
        purpose="close", side="buy", type="market", quantity=quantity, price=None, reduce_only=True
    )
    equity = account.equity
    exposure = sum(
        abs(position.quantity * (position.mark or 0.0)) for position in account.positions
    )
    return with_identity(
        TradePlan(
            plan_id="",
            symbol=contract.symbol,
            coin=position.coin,
            venue=account.venue,
            mode=TradeMode.SWING,
            objective=Objective.HEDGE,
            decision=TradeDecision.CANCEL_AND_CLOSE,
            by_failure=False,
            reason=f"{share:.0%} of the hedge of {position_label(position.token_id)} is closed",
            missing=(),
            mark=contract.mark,
            market_time=contract.market_time,
            made_at=asked_at,
            expires_at=asked_at + DeskLimits().plan_seconds,
            style=ExecutionStyle.CASINO_EXIT,
            quantity=quantity,
            notional_usd=quantity * contract.mark,
            orders=(order,),
            equity=equity,
            leverage_before=None if not equity else exposure / equity,
            leverage_after=None
            if not equity
            else max(exposure - quantity * contract.mark, 0.0) / equity,
            hedge=HedgePlan(
                position=position,
                ratio=position.target * left / short if short else 0.0,
                held=short,
                wanted=left,
                reached=left,
                net_delta=position.delta - left,
                cost_usd_a_day=None,
            ),
            decided_by="rules",
            snapshot_hash="",
        )
    )
