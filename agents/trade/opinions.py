"""A model's reply as arithmetic lets it stand: checked by the numbers, never bolder than they."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agents.model.speaking import Brief
from agents.trade.expert_rules import RISK_BUDGET
from agents.trade.findings import (
    ConflictMap,
    GeometryFinding,
    GeometryReply,
    HedgeReply,
    JudgeReply,
    KeyLevels,
    LiquidityFinding,
    LiquidityReply,
    MacroFinding,
    MacroReply,
    MicrostructureFinding,
    MicrostructureReply,
    RegimeCall,
    RegimeReply,
    RiskReply,
    SynthesisReply,
)
from agents.trade.indicators import PriceLevel, nearest_level
from agents.trade.plan import DraftReasoning
from agents.trade.risk_rules import HOLD, Sizing
from agents.trade.terms import ExpertName, TradeDecision

# In range a position of liquidity L is worth V = x·P + y; its delta dV/dP is x, the coins it
# holds, and its gamma is −L / (2·P^1.5). Outside its range it holds one side, and gamma is
# nothing.
HEDGE_RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0)


class RangeExposure(Struct, frozen=True):
    """A position in whole units: liquidity of coins and dollars, prices in dollars a coin."""

    liquidity: float
    lower: float
    upper: float

    @classmethod
    def from_coins(
        cls, coins: float, price: float, lower: float, upper: float
    ) -> RangeExposure | None:
        """Of a position that holds these coins at this price; None where they do not tell."""
        if not 0 < lower < upper or not coins > 0 or not price > 0:
            return None
        whole = cls(1.0, lower, upper).coins(price)
        return None if whole <= 0 else cls(coins / whole, lower, upper)

    def coins(self, price: float) -> float:
        """What it holds of the coin, which is its delta."""
        root = min(max(sqrt(price), sqrt(self.lower)), sqrt(self.upper))
        return self.liquidity * (1 / root - 1 / sqrt(self.upper))

    def dollars(self, price: float) -> float:
        root = min(max(sqrt(price), sqrt(self.lower)), sqrt(self.upper))
        return self.liquidity * (root - sqrt(self.lower))

    def worth(self, price: float) -> float:
        return self.coins(price) * price + self.dollars(price)

    def at_times(self, times: float) -> RangeExposure:
        """Of as much worth, around a price that is so many times this one."""
        lower, upper = self.lower * times, self.upper * times
        return RangeExposure(self.liquidity / sqrt(times), lower, upper)

    def gamma(self, price: float) -> float:
        if not self.lower < price < self.upper:
            return 0.0
        return -self.liquidity / (2 * price * sqrt(price))


def hedged_quantity(delta: float, ratio: float, step: float) -> float:
    """Coins to be short at this ratio, a multiple of the venue's step, never more."""
    if not 0 <= ratio <= 1:
        raise ValueError(f"{ratio} is no share of the coins")
    return floor_to_step(max(delta, 0.0) * ratio, step)


def floor_to_step(number: float, step: float) -> float:
    """The largest multiple of the step that is not above the number."""
    steps = int(number / step + 1e-9)
    return round(steps * step, 10)


_MOST_CONFIDENT = 0.9
"""As sure as any rule is."""
_LEVEL_TOLERANCE = 0.002
"""Of the price: how exactly a level must be read off a picture."""
_BELOW = ("immediate_support", "major_support", "liquidation_pool_below")
_ABOVE = ("immediate_resistance", "major_resistance", "liquidation_pool_above")


def careful_regime(reply: RegimeReply, by_rules: RegimeCall, brief: Brief) -> RegimeCall:
    """A regime that allows less risk than the numbers' own is taken, a bolder one is not; whom the
    vote trusts stays with the numbers, so that no text from outside turns it."""
    careful = RISK_BUDGET[reply.regime] <= RISK_BUDGET[by_rules.regime]
    return RegimeCall(
        regime=reply.regime if careful else by_rules.regime,
        rationale=brief.plain(reply.rationale),
        trust_directive=brief.quote(brief.plain(reply.trust_directive))[1:-1],
        risk_budget_pct=min(
            reply.risk_budget_pct, by_rules.risk_budget_pct, RISK_BUDGET[reply.regime]
        ),
        risk_bias=reply.risk_bias if careful else by_rules.risk_bias,
        weights=by_rules.weights,
        directed=_directed(reply, by_rules),
        fallback=False,
        by_rules=by_rules.regime,
    )


_MORE, _LESS = 1.25, 0.8
"""How far a directive moves what an expert's word weighs."""


def _directed(reply: RegimeReply, by_rules: RegimeCall) -> dict[ExpertName, float] | None:
    if reply.trust_more is None and reply.trust_less is None:
        return None
    factors = {reply.trust_less: _LESS, reply.trust_more: _MORE}
    return {
        expert: min(weight * factors.get(expert, 1.0), 1.0)
        for expert, weight in by_rules.weights.items()
    }


def liquidity_opinion(
    reply: LiquidityReply, by_rules: LiquidityFinding, brief: Brief, mark: float, band: float
) -> LiquidityFinding:
    entry = reply.target_entry
    return LiquidityFinding(
        anomaly=reply.anomaly if reply.anomaly == by_rules.anomaly else "none",
        confidence=_sure(reply.confidence, reply.directional_bias.sign),
        target_entry=entry if entry and abs(entry / mark - 1) <= band else None,
        directional_bias=reply.directional_bias,
        rationale=brief.plain(reply.rationale),
        fallback=False,
    )


def microstructure_opinion(
    reply: MicrostructureReply, by_rules: MicrostructureFinding, brief: Brief
) -> MicrostructureFinding:
    found = MicrostructureFinding(
        anomaly=reply.anomaly if reply.anomaly == by_rules.anomaly else "none",
        confidence=reply.confidence,
        directional_bias=reply.directional_bias,
        rationale=brief.plain(reply.rationale),
        fallback=False,
    )
    return found.model_copy(update={"confidence": _sure(reply.confidence, found.bias.sign)})


def macro_opinion(reply: MacroReply, by_rules: MacroFinding, brief: Brief) -> MacroFinding:
    return MacroFinding(
        anomaly=reply.anomaly if reply.anomaly == by_rules.anomaly else "none",
        confidence=_sure(reply.confidence, reply.options_bias.sign),
        options_bias=reply.options_bias,
        rationale=brief.plain(reply.rationale),
        fallback=False,
    )


def geometry_opinion(
    reply: GeometryReply, truth: Sequence[PriceLevel], mark: float, brief: Brief
) -> GeometryFinding:
    """Each level is the one of the chart that it was read for, or it is left out and named."""
    claimed = reply.key_levels.model_dump()
    levels: dict[str, float | None] = {}
    unverified = []
    for name, price in claimed.items():
        levels[name] = None if price is None else _on_chart(name, price, truth, mark)
        if price is not None and levels[name] is None:
            unverified.append(name)
    return GeometryFinding(
        anomaly=reply.anomaly,
        directional_bias=reply.directional_bias,
        confidence=_sure(reply.confidence, reply.directional_bias.sign),
        key_levels=KeyLevels(**levels),
        fibonacci_context=brief.plain(reply.fibonacci_context),
        pattern=reply.pattern,
        cvd_signal=reply.cvd_signal,
        funding_visual=reply.funding_visual,
        rationale=brief.plain(reply.rationale),
        fallback=False,
        unverified=tuple(unverified),
    )


def worded_map(reply: SynthesisReply, by_rules: ConflictMap, brief: Brief) -> ConflictMap:
    """The model's words on the map that the findings draw: who is against whom is no opinion."""
    said = tuple(brief.plain(signal) for signal in reply.consensus_signals)
    return by_rules.model_copy(
        update={
            "consensus_signals": said if by_rules.consensus_signals else (),
            "key_uncertainty": brief.plain(reply.key_uncertainty),
            "regime_note": brief.plain(reply.regime_note),
            "fallback": False,
        }
    )


class JudgeOpinion(Struct, frozen=True):
    """What a model as judge asks for; it takes from what the vote carries, and never adds."""

    decision: TradeDecision
    allocation_pct: float
    leverage: float
    stop_loss: float | None
    take_profit: float | None
    win_pct: float
    reasoning: DraftReasoning
    hold_duration: str
    ev_rationale: str
    key_factors: tuple[str, ...]


def judge_opinion(reply: JudgeReply, brief: Brief) -> JudgeOpinion:
    plain = brief.plain
    return JudgeOpinion(
        decision=reply.decision,
        allocation_pct=reply.allocation_pct,
        leverage=reply.leverage,
        stop_loss=reply.stop_loss,
        take_profit=reply.take_profit,
        win_pct=reply.win_probability_pct,
        reasoning=DraftReasoning(
            **{name: plain(getattr(reply, name)) for name in DraftReasoning.model_fields}
        ),
        hold_duration=plain(reply.hold_duration),
        ev_rationale=plain(reply.ev_rationale),
        key_factors=tuple(plain(factor) for factor in reply.key_factors),
    )


class HedgeOpinion(Struct, frozen=True):
    """How much of the coins a model as judge would sell short."""

    ratio: float
    counter_scenario: str
    final_logic: str


def hedge_opinion(reply: HedgeReply, brief: Brief) -> HedgeOpinion:
    return HedgeOpinion(
        float(reply.hedge_ratio),
        brief.plain(reply.counter_scenario),
        brief.plain(reply.final_logic),
    )


def agreed_decision(by_vote: TradeDecision, asked: TradeDecision, held: float) -> TradeDecision:
    """What both carry: a side needs the vote and the judge, an exit or a HOLD either of them."""
    if asked is by_vote:
        return by_vote
    if asked is TradeDecision.CANCEL_AND_CLOSE:
        return asked if held else TradeDecision.HOLD
    if asked.opens and not by_vote.opens:
        return by_vote
    if by_vote is TradeDecision.CANCEL_AND_CLOSE:
        return by_vote
    return TradeDecision.HOLD


def lower_sizing(sizing: Sizing, allocation_pct: float, leverage: float) -> Sizing:
    """Never more than it was."""
    if not sizing.decision.opens:
        return sizing
    return replace(
        sizing,
        allocation_pct=min(sizing.allocation_pct, allocation_pct),
        leverage=min(sizing.leverage, leverage),
    )


class AskedPrices(NamedTuple):
    stop: float | None
    take_profit: float | None
    wrong_side: bool


def asked_prices(
    opinion: JudgeOpinion, levels: Sequence[PriceLevel], entry: float, sign: int
) -> AskedPrices:
    """Stop and profit on the levels nearest to what was asked for, each on its own side."""
    stop, profit = opinion.stop_loss, opinion.take_profit
    wrong = (stop is not None and (entry - stop) * sign <= 0) or (
        profit is not None and (profit - entry) * sign <= 0
    )
    if wrong:
        return AskedPrices(None, None, wrong_side=True)
    below = None if stop is None else nearest_level(levels, stop, entry, up=sign < 0)
    above = None if profit is None else nearest_level(levels, profit, entry, up=sign > 0)
    return AskedPrices(
        None if below is None else below.price,
        None if above is None else above.price,
        wrong_side=False,
    )


def stepped_ratio(asked: float, by_rules: float) -> float:
    """The ratio that was asked for, at most one step from the rules' own."""
    place, own = HEDGE_RATIOS.index(asked), HEDGE_RATIOS.index(by_rules)
    return HEDGE_RATIOS[min(max(place, own - 1), own + 1)]


def tighten_sizing(reply: RiskReply, sizing: Sizing) -> Sizing:
    """What the risk officer leaves: less, nothing, or the same."""
    if reply.verdict == "hold":
        return HOLD
    if reply.verdict == "concur":
        return sizing
    less = lower_sizing(sizing, reply.allocation_pct, reply.leverage)
    return less if less.allocation_pct > 0 else HOLD


def _sure(confidence: float, sign: int) -> float:
    return min(confidence, _MOST_CONFIDENT) if sign else min(confidence, 0.5)


def _on_chart(name: str, price: float, truth: Sequence[PriceLevel], mark: float) -> float | None:
    """The chart's own level that was read; None where it has none there, or on the other side."""
    near = [level.price for level in truth if abs(level.price - price) <= _LEVEL_TOLERANCE * mark]
    if name in _BELOW:
        near = [level for level in near if level < mark]
    if name in _ABOVE:
        near = [level for level in near if level > mark]
    return min(near, key=lambda one: abs(one - price), default=None)
