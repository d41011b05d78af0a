"""What the desk comes to: a decision, its orders, and every step from the judge to the guard."""

from __future__ import annotations

from math import isclose
from typing import Annotated, Literal

from pydantic import Field, model_validator

from agents.bus.envelope import Measure, Payload
from agents.trade import terms
from agents.trade.facts import ContextSection, DeskRecord, HedgeFacts, KindLesson
from agents.trade.findings import AnyFinding, ConflictMap, RegimeCall
from chain.base.strict_json import canonical, digest
from chain.protocols.reference import PositionRef

Percent = Annotated[Measure, Field(ge=0, le=100)]
Leverage = Annotated[Measure, Field(ge=1, le=3)]


class DraftReasoning(Payload):
    counter_scenario: Annotated[str, Field(min_length=1)]
    """The strongest argument against, said before it is confirmed."""
    meta_agent_context: str
    technical: str
    derivatives: str
    experts: str
    narrative: str
    final_logic: str


class TradeDraft(Payload):
    """What the judge proposes, before anybody shrinks it."""

    decision: terms.TradeDecision
    allocation_pct: Percent
    leverage: Leverage
    entry_price: Measure | None
    stop_loss: Measure | None
    take_profit: Measure | None
    hold_duration: str
    reasoning: DraftReasoning
    win_probability_pct: Percent
    expected_profit_pct: Measure
    expected_loss_pct: Measure
    ev_rationale: str
    key_factors: tuple[str, ...]

    @model_validator(mode="after")
    def _sides(self) -> TradeDraft:
        """A stop lies on the losing side of the entry, a profit on the winning side."""
        sign, entry = self.decision.sign, self.entry_price
        if not sign or self.stop_loss is None or self.take_profit is None:
            return self
        if entry is None or not (entry - self.stop_loss) * sign > 0:
            raise ValueError("the stop is not on the losing side of the entry")
        if not (self.take_profit - entry) * sign > 0:
            raise ValueError("the profit is not on the winning side of the entry")
        return self


Stage = Literal["judge", "expected_value", "budget", "risk_officer", "leverage_guard"]


class LadderStep(Payload):
    """What one stage left of the decision."""

    stage: Stage
    decision: terms.TradeDecision
    allocation_pct: Measure
    leverage: Measure
    notional_usd: Measure
    notes: tuple[str, ...] = ()
    """Codes of what it did, empty where it changed nothing."""


class PlannedOrder(Payload):
    purpose: Literal["entry", "stop", "take_profit", "close", "reduce"]
    side: Literal["buy", "sell"]
    type: Literal["maker", "limit_taker", "market", "sliced", "stop", "take_profit"]
    quantity: Annotated[Measure, Field(gt=0)]
    price: Annotated[Measure, Field(gt=0)] | None
    reduce_only: bool
    expires_seconds: Annotated[int, Field(ge=0)] | None = None
    slices: Annotated[int, Field(ge=1)] = 1
    slice_seconds: Annotated[int, Field(ge=0)] = 0
    finishes: bool = False
    """Takes at once what the order before it has not filled in its time, and no more than that."""

    @model_validator(mode="after")
    def _priced_by_its_type(self) -> PlannedOrder:
        if (self.price is None) != (self.type in ("market", "sliced")):
            raise ValueError("an order that takes at any price has none, any other has one")
        return self


class HedgeOutlook(Payload):
    """One standard deviation of a week's result in dollars, and what hedging costs in it."""

    unhedged_usd: Measure
    once_usd: Measure
    """Opened once and left alone."""
    adjusted_usd: Measure
    """Brought back whenever it is off by more than the band."""
    unhedged_mean_usd: Measure = 0.0
    once_mean_usd: Measure = 0.0
    adjusted_mean_usd: Measure = 0.0
    """On average, trading costs paid, before the pool's fees: what arbitrage takes."""
    adjustments: Measure
    once_cost_usd: Measure
    adjusted_cost_usd: Measure


class HedgePlan(Payload):
    """How much of the position's coins would be sold short."""

    position: HedgeFacts
    ratio: Measure
    """What the person asked for, of its coins."""
    argued: Measure | None = None
    """What the experts would hedge; None where they would not hedge less."""
    outlook: HedgeOutlook | None = None
    """None where the market's hours are too few to tell."""
    held: Measure
    """Coins short before."""
    wanted: Measure
    reached: Measure
    """Coins short after, with what the limits left of it."""
    net_delta: Measure
    cost_usd_a_day: Measure | None
    """What funding would take at the rate of now; below 0 it pays."""
    weeks: tuple[tuple[int, Measure, Measure, Measure], ...] = ()
    """When each past week began, and what position alone, hedged and re-hedged came to in it."""
    funding_days: tuple[tuple[int, Measure], ...] = ()
    """By UTC day, what funding would have brought what is short after."""


class TradeOdds(Payload):
    """In percent, recomputed from the levels and costs."""

    win_pct: Measure
    claimed_pct: Measure
    break_even_pct: Measure
    fair_pct: Measure
    """How often a price without drift would win."""
    profit_pct: Measure
    loss_pct: Measure
    expected_pct: Measure
    record: DeskRecord
    cost_pct: Measure = 0.0
    """Fees and slippage of both ways, without funding."""


class DraftedSetup(Payload):
    """What the judge drafted, whatever became of it: refused or not, it is judged afterwards."""

    decision: terms.TradeDecision
    entry: Measure
    stop: Measure
    take_profit: Measure
    notional_usd: Measure
    cost_pct: Measure
    refused_by: str = ""
    """The stage that made a HOLD of it; empty where none did."""


class TradePlan(Payload):
    plan_id: str
    symbol: str
    coin: str
    venue: str
    mode: terms.TradeMode
    objective: terms.Objective
    decision: terms.TradeDecision
    by_failure: bool
    """Whether it holds because something needed was missing, not because holding is right."""
    reason: str
    missing: tuple[terms.SectionName, ...]
    mark: Measure
    market_time: int
    """By the venue's clock."""
    made_at: int
    expires_at: int
    """Both by the person's clock."""
    style: terms.ExecutionStyle
    quantity: Measure
    notional_usd: Measure
    entry: Measure | None = None
    stop: Measure | None = None
    take_profit: Measure | None = None
    odds: TradeOdds | None = None
    orders: tuple[PlannedOrder, ...]
    ladder: tuple[LadderStep, ...] = ()
    equity: Measure | None
    leverage_before: Measure | None = None
    leverage_after: Measure | None = None
    liquidation: Measure | None = None
    """The coin's price at which the venue closes something, with all that is held there after the
    plan moving as far against the account."""
    regime: RegimeCall | None = None
    anomalies: tuple[terms.MarketAnomaly, ...] = ()
    findings: tuple[AnyFinding, ...] = ()
    conflicts: ConflictMap | None = None
    reasoning: DraftReasoning | None = None
    hold_duration: str = ""
    ev_rationale: str = ""
    key_factors: tuple[str, ...] = ()
    sections: tuple[ContextSection, ...] = ()
    hedge: HedgePlan | None = None
    setup: DraftedSetup | None = None
    taught: KindLesson | None = None
    """By the setups of its kind before it."""
    decided_by: Literal["rules", "model"]
    snapshot_hash: str

    @property
    def ref(self) -> PositionRef | None:
        return None if self.hedge is None else self.hedge.position.token_id

    @property
    def against_odds(self) -> bool:
        """Whether it opens what is expected to bring nothing: on paper alone."""
        opens = self.decision.opens and self.hedge is None
        return opens and (self.odds is None or not self.odds.expected_pct > 0)

    @property
    def trading_orders(self) -> tuple[PlannedOrder, ...]:
        """Those that trade by themselves: neither protecting another nor finishing it."""
        protecting = ("stop", "take_profit")
        return tuple(
            order for order in self.orders if order.purpose not in protecting and not order.finishes
        )

    def opening_usd(self, mark: float) -> float:
        """What the orders may open, at the worse of mark and price."""
        return sum(
            order.quantity * max(mark, order.price or 0.0)
            for order in self.orders
            if not order.reduce_only and not order.finishes
        )

    @model_validator(mode="after")
    def _true_to_its_orders(self) -> TradePlan:
        """What a plan says of its size is what its orders trade."""
        traded = sum(order.quantity for order in self.trading_orders)
        if not isclose(self.quantity, traded, rel_tol=_ROUNDED):
            raise ValueError("the plan's size is not that of its orders")
        if not isclose(self.notional_usd, traded * self.mark, rel_tol=_ROUNDED):
            raise ValueError("the plan's worth is not that of its orders")
        for before, order in zip((None, *self.orders), self.orders, strict=False):
            if order.finishes and not _finishes(before, order):
                raise ValueError("an order finishes what the one before it cannot have left")
        return self


_ROUNDED = 2e-5
"""Numbers in a payload have six digits."""


def _finishes(before: PlannedOrder | None, order: PlannedOrder) -> bool:
    return (
        before is not None
        and before.type == "maker"
        and order.type == "market"
        and (order.side, order.reduce_only) == (before.side, before.reduce_only)
        and order.quantity <= before.quantity
    )


def trade_plan_identity(plan: TradePlan, *, as_written: bool = False) -> str:
    """A hash over all of it but the id itself."""
    content = plan.model_dump(
        mode="json", by_alias=True, exclude={"plan_id"}, exclude_unset=as_written
    )
    return f"plan_{digest(canonical(content))[:16]}"


def with_identity(plan: TradePlan) -> TradePlan:
    return plan.model_copy(update={"plan_id": trade_plan_identity(plan)})
