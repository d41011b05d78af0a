"""The risk officer's six rules, in code: an allocation or a leverage never grows, no side flips."""

from collections.abc import Collection
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from agents.trade.terms import DeskLimits, ExecutionStyle, MarketAnomaly, TradeDecision, TradeMode


class VenueLimits(Struct, frozen=True):
    """Rule 5: what the venue of an order can do, and how much of it."""

    spot: bool = False
    leverage: float = 3.0
    rests: bool = True
    most_usd: float | None = 2_000.0
    """Of one order; None where its money has no known price."""


class RiskRule(StrEnum):
    LEVERAGE = "leverage"
    VOLATILITY_TAX = "volatility_tax"
    FUNDING = "funding"
    LIQUIDATIONS = "liquidations"
    SPOT_ONLY = "spot_only"
    VENUE_SIZE = "venue_size"
    VENUE_LEVERAGE = "venue_leverage"
    UNKNOWN_FUNDING = "unknown_funding"
    OFFICER = "officer"
    """The officer's own judgment, beyond the rules."""
    UNPARSABLE = "cro_unparsable"
    """The officer spoke, and nobody can tell what was meant."""


class Sizing(Struct, frozen=True):
    """A decision and how large it is."""

    decision: TradeDecision
    allocation_pct: float
    """Of equity, before leverage."""
    leverage: float

    def notional(self, equity: float) -> float:
        return equity * self.allocation_pct / 100 * self.leverage if self.decision.opens else 0.0


HOLD = Sizing(TradeDecision.HOLD, 0.0, 1.0)


class RiskFacts(Struct, frozen=True, kw_only=True):
    """What the rules judge by; None is unknown."""

    mode: TradeMode
    venue: VenueLimits
    equity: float
    funding_rate: float | None
    options_panic: bool = False
    curve_spread: float | None = None
    curve_change: float | None = None
    """Of the spread within five days, in percentage points."""
    long_liquidations_usd: float | None = None
    short_liquidations_usd: float | None = None
    anomalies: tuple[MarketAnomaly, ...] = ()
    thin_book: bool = False
    """Whether taking it all at once would cost more than resting."""


class RiskJudgment(Struct, frozen=True):
    before: Sizing
    after: Sizing
    fired: tuple[RiskRule, ...]
    style: ExecutionStyle


def judge_risk(draft: Sizing, facts: RiskFacts, limits: DeskLimits) -> RiskJudgment:
    """HOLD and exits are concurred with at once; everything else passes the rules in order."""
    if not draft.decision.opens:
        quiet = draft if draft.decision is TradeDecision.CANCEL_AND_CLOSE else HOLD
        return RiskJudgment(draft, quiet, (), _style(quiet, facts))
    after, fired = draft, []
    for rule, judge in (
        (RiskRule.LEVERAGE, _leverage),
        (RiskRule.VOLATILITY_TAX, _volatility_tax),
        (RiskRule.UNKNOWN_FUNDING, _known_funding),
        (RiskRule.FUNDING, _funding),
        (RiskRule.LIQUIDATIONS, _liquidations),
        (RiskRule.SPOT_ONLY, _spot_only),
        (RiskRule.VENUE_LEVERAGE, _venue_leverage),
        (RiskRule.VENUE_SIZE, _venue_size),
    ):
        judged = judge(after, facts, limits)
        if judged != after:
            fired.append(rule)
            after = judged
        if not after.decision.opens:
            break
    return RiskJudgment(draft, after, tuple(fired), _style(after, facts))


def _leverage(draft: Sizing, facts: RiskFacts, limits: DeskLimits) -> Sizing:
    return replace(draft, leverage=min(draft.leverage, limits.leverage_cap(facts.mode)))


def _volatility_tax(draft: Sizing, facts: RiskFacts, limits: DeskLimits) -> Sizing:
    spread, change = facts.curve_spread, facts.curve_change
    inverted = spread is not None and spread < limits.curve_inverted_below
    fallen = change is not None and change <= -limits.curve_fall
    if not (facts.options_panic or inverted or fallen):
        return draft
    return replace(draft, allocation_pct=draft.allocation_pct * (1 - limits.volatility_tax))


def _known_funding(draft: Sizing, facts: RiskFacts, _: DeskLimits) -> Sizing:
    """A rule that cannot be judged is not passed; spot pays no funding."""
    unknown = facts.funding_rate is None and not facts.venue.spot
    return HOLD if unknown else draft


def _funding(draft: Sizing, facts: RiskFacts, limits: DeskLimits) -> Sizing:
    rate = facts.funding_rate
    if rate is None:
        return draft
    crowded_long = draft.decision is TradeDecision.LONG and rate > limits.funding_long
    crowded_short = draft.decision is TradeDecision.SHORT and rate <= limits.funding_short
    return HOLD if crowded_long or crowded_short else draft


def _liquidations(draft: Sizing, facts: RiskFacts, limits: DeskLimits) -> Sizing:
    """Liquidated longs push down, against a long; liquidated shorts up, against a short."""
    against = (
        facts.long_liquidations_usd
        if draft.decision is TradeDecision.LONG
        else facts.short_liquidations_usd
    )
    if against is None or against <= limits.opposite_liquidations_usd:
        return draft
    factor = limits.opposite_liquidations_factor
    return replace(draft, allocation_pct=draft.allocation_pct * factor)


def _spot_only(draft: Sizing, facts: RiskFacts, _: DeskLimits) -> Sizing:
    return HOLD if facts.venue.spot and draft.decision is not TradeDecision.LONG else draft


def _venue_leverage(draft: Sizing, facts: RiskFacts, _: DeskLimits) -> Sizing:
    return replace(draft, leverage=min(draft.leverage, facts.venue.leverage))


def _venue_size(draft: Sizing, facts: RiskFacts, _: DeskLimits) -> Sizing:
    most = facts.venue.most_usd
    if most is None:
        return HOLD
    notional = draft.notional(facts.equity)
    if notional <= most:
        return draft
    return replace(draft, allocation_pct=draft.allocation_pct * most / notional)


def enters_taking(anomalies: Collection[MarketAnomaly], venue: VenueLimits) -> bool:
    """A breakout does not wait for a resting order, and some venues rest none."""
    return MarketAnomaly.TRUE_BREAKOUT in anomalies or not venue.rests


def _style(sizing: Sizing, facts: RiskFacts) -> ExecutionStyle:
    if sizing.decision is TradeDecision.CANCEL_AND_CLOSE:
        return ExecutionStyle.CASINO_EXIT
    breakout = MarketAnomaly.TRUE_BREAKOUT in facts.anomalies
    if facts.thin_book and not breakout:
        return ExecutionStyle.SMART_DCA
    takes = enters_taking(facts.anomalies, facts.venue)
    return ExecutionStyle.MOMENTUM_SNIPER if takes else ExecutionStyle.PASSIVE_MAKER
