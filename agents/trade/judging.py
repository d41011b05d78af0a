"""The judge's draft, the veto on what is not worth it, and the regime's budget, by the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.trade.indicators import (
    PriceLevel,
    average_true_ranges,
    level_set,
    nearest_beyond,
    to_step,
)
from agents.trade.opinions import (
    HEDGE_RATIOS,
    AskedPrices,
    HedgeChange,
    HedgeOpinion,
    JudgeOpinion,
    agreed_decision,
    asked_prices,
    hedged_quantity,
    lowered,
    stepped_ratio,
)
from agents.trade.plan import DraftReasoning, LadderStep, TradeDraft, TradeOdds
from agents.trade.risk_rules import Sizing
from agents.trade.terms import (
    HIERARCHY,
    DeskLimits,
    ExpertName,
    MarketRegime,
    SectionName,
    TradeDecision,
    TradeMode,
)

if TYPE_CHECKING:
    from agents.trade.findings import AnyFinding
    from agents.trade.payloads import SynthesisReady
    from chain.exchange.public.market import Candle

FUNDING_HOURS = 8.0


class TradeCosts(Struct, frozen=True):
    """Fractions of notional."""

    fees: float
    """Both ways."""
    slippage: float
    """Both ways."""
    funding: float
    """Over the time it is held; below 0 where it is received."""

    @property
    def total(self) -> float:
        return self.fees + self.slippage + self.funding


class TradeOutlook(Struct, frozen=True):
    """In percent of notional, after costs."""

    profit_pct: float
    loss_pct: float
    win_probability_pct: float

    @property
    def expected_pct(self) -> float:
        return expected_value(self.win_probability_pct / 100, self.profit_pct, self.loss_pct)

    @property
    def break_even_pct(self) -> float:
        """The probability at which nothing is expected."""
        whole = self.profit_pct + self.loss_pct
        return 100.0 if whole <= 0 or self.profit_pct <= 0 else self.loss_pct / whole * 100


def expected_value(probability: float, profit: float, loss: float) -> float:
    return probability * profit - (1 - probability) * loss


def is_vetoed(expected: float) -> bool:
    """Whether nothing is to be gained; exactly nothing is nothing."""
    return not expected > 0


def outlook(
    entry: float, stop: float, profit: float, probability_pct: float, costs: TradeCosts
) -> TradeOutlook:
    gain, loss = abs(profit / entry - 1), abs(stop / entry - 1)
    return TradeOutlook(
        (gain - costs.total) * 100,
        (loss + costs.total) * 100,
        probability_pct,
    )


def fair_probability_pct(entry: float, stop: float, profit: float) -> float:
    """How often a price that drifts nowhere reaches the profit before the stop."""
    risk, reward = abs(entry - stop), abs(profit - entry)
    return risk / (risk + reward) * 100


def shrunk_probability_pct(claimed_pct: float, resolved: int, needed: int) -> float:
    """A claim counts as far as the desk's own trades have ended; before any it is 50 %."""
    return 50 + (claimed_pct - 50) * min(resolved / needed, 1.0)


def scaled_allocation(allocation_pct: float, risk_budget_pct: float) -> float:
    """What is left of an allocation after the regime's budget."""
    return allocation_pct * risk_budget_pct / 100


def funding_cost(rate: float, sign: int, hours: float) -> float:
    """What a position pays while it is held, at the rate of now."""
    return sign * rate * hours / FUNDING_HOURS


_RANK = (0.4, 0.3, 0.2, 0.1)
_MOST_CLAIMED = 25.0
"""Percentage points above even odds that a unanimous vote claims."""


class ExpertVote(Struct, frozen=True):
    direction: int
    """1 up, −1 down, 0 neither."""
    strength: float
    """From 0 to 1."""
    deadlock: ExpertName | None
    """Who decided where the experts were divided evenly."""

    @property
    def claimed_probability_pct(self) -> float:
        return 50 + self.strength * _MOST_CLAIMED


def count_votes(
    findings: Sequence[AnyFinding],
    trust: Mapping[ExpertName, float],
    mode: TradeMode,
    limits: DeskLimits,
) -> ExpertVote:
    order = HIERARCHY[mode]
    weight = {expert: _RANK[place] * trust[expert] for place, expert in enumerate(order)}
    total = sum(weight.values())
    if total <= 0:
        return ExpertVote(0, 0.0, None)
    score = (
        sum(weight[finding.expert] * finding.confidence * finding.bias.sign for finding in findings)
        / total
    )
    if abs(score) < limits.margin and _is_divided(findings):
        first = min(
            (finding for finding in findings if finding.bias.sign),
            key=lambda finding: order.index(finding.expert),
        )
        strength = weight[first.expert] * first.confidence / total
        return ExpertVote(first.bias.sign, strength, first.expert)
    direction = 0 if score == 0 else 1 if score > 0 else -1
    return ExpertVote(direction, abs(score), None)


def _is_divided(findings: Sequence[AnyFinding]) -> bool:
    up = sum(finding.bias.sign > 0 for finding in findings)
    down = sum(finding.bias.sign < 0 for finding in findings)
    return up == down > 0


_HOLD_HOURS = {TradeMode.SWING: 24.0, TradeMode.POSITION: 168.0}
_STOP_RANGE = (0.75, 5.0)
"""Average true ranges between which a stop must lie."""
_LEAST_REWARD = 1.2
"""Times the risk, the nearest profit that is worth taking."""
_MOST_REWARD = 8.0
_BASIS_POINTS = 10_000
_HEDGE_BASE = {
    MarketRegime.BULL_MOMENTUM: 0,
    MarketRegime.BEAR_MOMENTUM: 3,
    MarketRegime.RANGE_BOUND: 1,
    MarketRegime.VOLATILITY_PANIC: 4,
    MarketRegime.SIDEWAYS_ACCUMULATION: 1,
}
"""Which of the five ratios a regime suggests before the experts are heard."""


class JudgedCase(Struct, frozen=True):
    draft: TradeDraft
    sizing: Sizing
    """After veto and budget."""
    odds: TradeOdds | None
    hedge_ratio: float | None
    reason: str
    ladder: tuple[LadderStep, ...]


class _Prices(Struct, frozen=True):
    entry: float
    stop: float
    take_profit: float


def judge_trade(
    case: SynthesisReady, limits: DeskLimits, opinion: JudgeOpinion | None = None
) -> JudgedCase:
    """By the vote; a judge with an opinion may be more careful than the vote, never bolder."""
    vote = _vote(case, limits)
    side = _side(case, vote, limits, opinion)
    odds, reason = side.odds, side.reason
    drafted = _sized(case, vote, side.decision)
    if opinion is not None:
        drafted = lowered(drafted, opinion.allocation_pct, opinion.leverage)
    steps = [ladder_step("judge", drafted, case)]
    after = drafted
    if odds is not None and is_vetoed(odds.expected_pct):
        after = Sizing(TradeDecision.HOLD, 0.0, 1.0)
        reason = f"it is expected to bring {odds.expected_pct:+.2f} % after costs"
        steps.append(ladder_step("expected_value", after, case, "expected_value_veto"))
    else:
        steps.append(ladder_step("expected_value", after, case))
    if after.decision.opens:
        budget = case.regime.risk_budget_pct
        scaled = scaled_allocation(after.allocation_pct, budget)
        after = Sizing(after.decision, scaled, after.leverage)
    note = () if after.allocation_pct == steps[-1].allocation_pct else ("risk_budget",)
    steps.append(ladder_step("budget", after, case, *note))
    draft = _draft(case, vote, drafted, reason, prices=side.prices, odds=odds)
    if opinion is not None:
        draft = draft.model_copy(
            update={
                "reasoning": opinion.reasoning,
                "hold_duration": opinion.hold_duration or draft.hold_duration,
                "ev_rationale": f"{draft.ev_rationale}; {opinion.ev_rationale}",
                "key_factors": opinion.key_factors or draft.key_factors,
            }
        )
    return JudgedCase(draft, after, odds, None, reason, tuple(steps))


class _Side(Struct, frozen=True):
    """What is decided before it is sized."""

    decision: TradeDecision
    reason: str
    prices: _Prices | None = None
    odds: TradeOdds | None = None


def _side(
    case: SynthesisReady, vote: ExpertVote, limits: DeskLimits, opinion: JudgeOpinion | None
) -> _Side:
    held = case.question.account.held(case.question.symbol)
    by_vote = _wanted(vote, held, limits)
    wanted = by_vote if opinion is None else agreed_decision(by_vote, opinion.decision, held)
    reason = _why(case, vote, wanted, held)
    if wanted is not by_vote:
        reason = f"the judge does not follow the vote for {by_vote.value}"
    if not wanted.opens:
        return _Side(wanted, reason)
    prices = _prices(case, wanted)
    if prices is None:
        return _Side(TradeDecision.HOLD, "no level of the chart fits a stop and a profit")
    claimed = vote.claimed_probability_pct
    if opinion is not None:
        claimed = min(claimed, opinion.win_pct)
    odds = _odds(case, claimed, prices, wanted.sign, limits)
    # No choice of levels makes worth it what the rules' own levels do not.
    if opinion is not None and not is_vetoed(odds.expected_pct):
        asked = asked_prices(opinion, judged_levels(case), prices.entry, wanted.sign)
        if asked.wrong_side:
            return _Side(TradeDecision.HOLD, "the judge's stop or profit is on the wrong side")
        prices = _fitting(case, asked, prices)
        odds = _odds(case, claimed, prices, wanted.sign, limits)
    return _Side(wanted, reason, prices, odds)


def _fitting(case: SynthesisReady, asked: AskedPrices, own: _Prices) -> _Prices:
    """What was asked for where it keeps the rules' distances, else the rules' own."""
    step, span = case.market.price_step, _span(case)
    stop = own.stop if asked.stop is None else to_step(asked.stop, step)
    profit = own.take_profit if asked.take_profit is None else to_step(asked.take_profit, step)
    risk, reward = abs(own.entry - stop), abs(profit - own.entry)
    least, most = (span * times for times in _STOP_RANGE)
    fits = least <= risk <= most and _LEAST_REWARD <= reward / risk <= _MOST_REWARD
    return _Prices(own.entry, stop, profit) if fits else own


def judge_hedge(
    case: SynthesisReady, limits: DeskLimits, opinion: HedgeOpinion | None = None
) -> JudgedCase:
    """How much of the position's coins to sell short; what is sold lowers risk, so it needs no
    expected gain and no budget for risk."""
    vote = _vote(case, limits)
    ratio = hedge_ratio(case.regime.measured, vote, limits)
    if opinion is not None:
        ratio = stepped_ratio(opinion.ratio, ratio)
    hedge, market = case.question.hedge, case.market
    if hedge is None:
        raise ValueError("a hedge is asked for without its position")
    held = case.question.hedge_short
    wanted = hedged_quantity(hedge.delta, ratio, market.quantity_step)
    change = HedgeChange(held, wanted)
    drift = change.drift()
    if wanted < held and (drift is None or drift > limits.drift):
        decision = TradeDecision.CANCEL_AND_CLOSE
        reason = f"{ratio:.0%} of {hedge.delta:g} {hedge.coin} needs less than is short"
    elif drift is None or drift <= limits.drift:
        decision = TradeDecision.HOLD
        reason = "no hedge is called for" if wanted == 0 else "the hedge is where it should be"
    else:
        decision = TradeDecision.SHORT
        reason = f"{ratio:.0%} of {hedge.delta:g} {hedge.coin} in {case.regime.regime.value}"
    equity = case.question.account.equity
    notional = change.difference * market.mark if decision.opens else 0.0
    share = 0.0 if not equity or equity <= 0 else min(notional / equity * 100, 100.0)
    sizing = Sizing(decision, share, 1.0)
    steps = tuple(
        ladder_step(stage, sizing, case) for stage in ("judge", "expected_value", "budget")
    )
    draft = _draft(case, vote, sizing, reason)
    if opinion is not None:
        words = {"counter_scenario": opinion.counter_scenario, "final_logic": opinion.final_logic}
        draft = draft.model_copy(update={"reasoning": draft.reasoning.model_copy(update=words)})
    return JudgedCase(draft, sizing, None, ratio, reason, steps)


def hedge_ratio(regime: MarketRegime, vote: ExpertVote, limits: DeskLimits) -> float:
    """The regime's ratio, a step more where the experts expect a fall, a step less for a rise."""
    place = _HEDGE_BASE[regime]
    if vote.strength >= limits.margin:
        place -= vote.direction
    return HEDGE_RATIOS[min(max(place, 0), len(HEDGE_RATIOS) - 1)]


def ladder_step(stage: str, sizing: Sizing, case: SynthesisReady, *notes: str) -> LadderStep:
    equity = case.question.account.equity or 0.0
    return LadderStep.model_validate(
        {
            "stage": stage,
            "decision": sizing.decision,
            "allocation_pct": sizing.allocation_pct,
            "leverage": sizing.leverage,
            "notional_usd": sizing.notional(max(equity, 0.0)),
            "notes": notes,
        }
    )


def _vote(case: SynthesisReady, limits: DeskLimits) -> ExpertVote:
    return count_votes(case.findings, case.regime.weights, case.question.mode, limits)


def _wanted(vote: ExpertVote, held: float, limits: DeskLimits) -> TradeDecision:
    if vote.strength < limits.margin or not vote.direction:
        return TradeDecision.HOLD
    if held * vote.direction < 0:
        return TradeDecision.CANCEL_AND_CLOSE
    if held:
        return TradeDecision.HOLD
    return TradeDecision.LONG if vote.direction > 0 else TradeDecision.SHORT


def _why(case: SynthesisReady, vote: ExpertVote, wanted: TradeDecision, held: float) -> str:
    side = "up" if vote.direction > 0 else "down"
    if wanted is TradeDecision.HOLD and held and vote.direction * held > 0:
        return "what is held already stands on that side"
    if wanted is TradeDecision.HOLD:
        return f"the experts' vote is weak: {vote.strength:.0%} {side}"
    if wanted is TradeDecision.CANCEL_AND_CLOSE:
        return f"the experts turned against what is held: {vote.strength:.0%} {side}"
    if vote.deadlock is not None:
        return f"divided evenly; {vote.deadlock.value} comes first in {case.question.mode.value}"
    return f"the experts vote {vote.strength:.0%} {side}"


def _sized(case: SynthesisReady, vote: ExpertVote, wanted: TradeDecision) -> Sizing:
    if not wanted.opens:
        return Sizing(wanted, 0.0, 1.0)
    bold = 1.0 + (vote.strength >= 0.3) + (vote.strength >= 0.5)
    leverage = bold if case.question.mode is TradeMode.SWING else 1.0
    return Sizing(wanted, min(vote.strength * 100, 100.0), leverage)


def _series(case: SynthesisReady) -> tuple[Candle, ...]:
    swing = case.question.mode is TradeMode.SWING
    return (case.market.hours if swing else case.market.slow).candles


def _span(case: SynthesisReady) -> float:
    """The average true range; 0 where there are too few candles."""
    ranges = average_true_ranges(_series(case))
    return ranges[-1] if ranges else 0.0


def judged_levels(case: SynthesisReady) -> tuple[PriceLevel, ...]:
    """Where stops and profits may lie."""
    return level_set(_series(case), _range_bounds(case))


def _prices(case: SynthesisReady, wanted: TradeDecision) -> _Prices | None:
    """Entry at the mark; stop and profit on levels of the chart, or nothing."""
    market, sign, span = case.market, wanted.sign, _span(case)
    if not span:
        return None
    entry, levels = to_step(market.mark, market.price_step), judged_levels(case)
    least, most = (span * times for times in _STOP_RANGE)
    stop = nearest_beyond(levels, entry, up=sign < 0, least=least, most=most)
    if stop is None:
        return None
    risk = abs(entry - stop.price)
    profit = nearest_beyond(
        levels, entry, up=sign > 0, least=risk * _LEAST_REWARD, most=risk * _MOST_REWARD
    )
    if profit is None:
        return None
    step = market.price_step
    return _Prices(entry, to_step(stop.price, step), to_step(profit.price, step))


def _range_bounds(case: SynthesisReady) -> tuple[PriceLevel, ...]:
    hedge = case.question.hedge
    if hedge is None:
        return ()
    return PriceLevel(hedge.lower, "range bound"), PriceLevel(hedge.upper, "range bound")


def _odds(
    case: SynthesisReady, claimed: float, prices: _Prices, sign: int, limits: DeskLimits
) -> TradeOdds:
    account, record = case.question.account, case.question.record
    book = case.market.book
    slips = () if book is None else (book.buy_slippage_bips, book.sell_slippage_bips)
    known = [slip for slip in slips if slip is not None]
    costs = TradeCosts(
        fees=account.maker_fee + account.taker_fee,
        slippage=max(known, default=5.0) / _BASIS_POINTS,
        funding=funding_cost(
            case.context.number(SectionName.FUNDING, "rate") or 0.0,
            sign,
            _HOLD_HOURS[case.question.mode],
        ),
    )
    win = shrunk_probability_pct(claimed, record.resolved, limits.resolved_for_trust)
    seen = outlook(prices.entry, prices.stop, prices.take_profit, win, costs)
    return TradeOdds(
        win_pct=win,
        claimed_pct=claimed,
        break_even_pct=seen.break_even_pct,
        fair_pct=fair_probability_pct(prices.entry, prices.stop, prices.take_profit),
        profit_pct=seen.profit_pct,
        loss_pct=seen.loss_pct,
        expected_pct=seen.expected_pct,
        record=record,
    )


def _draft(
    case: SynthesisReady,
    vote: ExpertVote,
    sizing: Sizing,
    reason: str,
    *,
    prices: _Prices | None = None,
    odds: TradeOdds | None = None,
) -> TradeDraft:
    keeps = sizing.decision.opens and prices is not None
    words = "no trade is opened" if odds is None else f"expected {odds.expected_pct:+.2f} %"
    return TradeDraft(
        decision=sizing.decision,
        allocation_pct=sizing.allocation_pct,
        leverage=sizing.leverage,
        entry_price=prices.entry if prices is not None and keeps else None,
        stop_loss=prices.stop if prices is not None and keeps else None,
        take_profit=prices.take_profit if prices is not None and keeps else None,
        hold_duration=f"{_HOLD_HOURS[case.question.mode]:g} h",
        reasoning=_reasoning(case, vote, reason),
        win_probability_pct=50.0 if odds is None else odds.win_pct,
        expected_profit_pct=0.0 if odds is None else odds.profit_pct,
        expected_loss_pct=0.0 if odds is None else odds.loss_pct,
        ev_rationale=words,
        key_factors=tuple(anomaly.value for anomaly in case.triage.anomalies)
        or (case.conflicts.dominant_signal.value,),
    )


def _reasoning(case: SynthesisReady, vote: ExpertVote, reason: str) -> DraftReasoning:
    against = [finding for finding in case.findings if finding.bias.sign * vote.direction < 0]
    counter = (
        max(against, key=lambda one: one.confidence).rationale
        if against
        else case.conflicts.key_uncertainty
    )
    funding = case.context.section(SectionName.FUNDING).text
    geometry = next(
        (finding for finding in case.findings if finding.expert == "vlm_geometry"), None
    )
    return DraftReasoning(
        counter_scenario=counter,
        meta_agent_context=case.conflicts.regime_note,
        technical="" if geometry is None else geometry.rationale,
        derivatives=funding,
        experts="; ".join(
            f"{finding.expert.spoken} {finding.bias.value} {finding.confidence:.0%}"
            for finding in case.findings
        ),
        narrative=case.context.section(SectionName.NARRATIVE).status.value,
        final_logic=reason,
    )
