"""The judge's draft, the veto on what is not worth it, and the regime's budget, by the rules."""

from collections.abc import Mapping, Sequence
from math import floor

from msgspec import Struct

from agents.trade import opinions
from agents.trade.facts import DeskQuestion, DeskRecord
from agents.trade.findings import AnyFinding
from agents.trade.indicators import (
    PriceLevel,
    average_true_ranges,
    level_set,
    nearest_beyond,
    to_step,
)
from agents.trade.payloads import SynthesisReady
from agents.trade.plan import DraftReasoning, LadderStep, TradeDraft, TradeOdds
from agents.trade.risk_rules import Sizing, enters_taking
from agents.trade.terms import (
    HIERARCHY,
    DeskLimits,
    ExpertName,
    MarketRegime,
    SectionName,
    TradeDecision,
    TradeMode,
)
from chain.base.units import signed_percent
from chain.exchange.public.margin import is_out_of_band
from chain.exchange.public.market import Candle
from chain.protocols.reference import position_name

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
    return TradeOutlook((gain - costs.total) * 100, (loss + costs.total) * 100, probability_pct)


def fair_probability_pct(entry: float, stop: float, profit: float) -> float:
    """How often a price that drifts nowhere reaches the profit before the stop."""
    risk, reward = abs(entry - stop), abs(profit - entry)
    return risk / (risk + reward) * 100


def recorded_odds_pct(fair_pct: float, record: DeskRecord) -> float:
    """Fair odds, moved by how the desk's own setups fared against theirs, and by nothing else.

    Raised only as far as chance does not explain it, whenever one looks; lowered by the shortfall.
    """
    if not record.resolved:
        return fair_pct
    excess = (record.won - record.fair_wins) / record.resolved
    if excess > 0:
        excess = record.proved
    return min(max(fair_pct + excess * 100, 0.0), 100.0)


def scaled_allocation(allocation_pct: float, risk_budget_pct: float) -> float:
    """What is left of an allocation after the regime's budget."""
    return allocation_pct * risk_budget_pct / 100


def funding_cost(rate: float, sign: int, hours: float) -> float:
    """What a position pays while it is held, at the rate of now."""
    return sign * rate * hours / FUNDING_HOURS


_RANK = (0.4, 0.3, 0.2, 0.1)


class ExpertVote(Struct, frozen=True):
    direction: int
    """1 up, −1 down, 0 neither."""
    strength: float
    """From 0 to 1."""
    deadlock: ExpertName | None
    """Who decided where the experts were divided evenly."""


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
    hedge_argued: float | None = None
    """What the experts would hedge, where that is less."""


class SetupPrices(Struct, frozen=True):
    entry: float
    stop: float
    take_profit: float


def judge_trade(
    case: SynthesisReady, limits: DeskLimits, opinion: opinions.JudgeOpinion | None = None
) -> JudgedCase:
    """By the vote; a judge with an opinion may be more careful than the vote, never bolder."""
    vote = _vote(case, limits)
    side = _side(case, vote, limits, opinion)
    odds, reason = side.odds, side.reason
    drafted, made_up = _sized(case, vote, side.decision), case.question.account.terms.made_up
    if opinion is not None:
        drafted = opinions.lower_sizing(drafted, opinion.allocation_pct, opinion.leverage)
    steps = [ladder_step("judge", drafted, case)]
    after = drafted
    vetoed = odds is not None and is_vetoed(odds.expected_pct)
    if odds is not None and vetoed and case.question.anyway and made_up:
        reason = f"opened on paper although {_expectation(odds)}; {reason}"
        steps.append(ladder_step("expected_value", after, case, "expected_value_waived"))
    elif odds is not None and vetoed:
        after = Sizing(TradeDecision.HOLD, 0.0, 1.0)
        reason = _expectation(odds)
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


def _expectation(odds: TradeOdds) -> str:
    return f"it is expected to bring {signed_percent(odds.expected_pct / 100)} after costs"


class _Side(Struct, frozen=True):
    """What is decided before it is sized."""

    decision: TradeDecision
    reason: str
    prices: SetupPrices | None = None
    odds: TradeOdds | None = None


def _side(
    case: SynthesisReady,
    vote: ExpertVote,
    limits: DeskLimits,
    opinion: opinions.JudgeOpinion | None,
) -> _Side:
    # What hedges a position is nobody's trade: no vote adds to it or takes from it.
    held = case.question.account.outright(case.question.symbol)
    by_vote = _wanted(vote, held, limits)
    wanted = (
        by_vote if opinion is None else opinions.agreed_decision(by_vote, opinion.decision, held)
    )
    reason = _why(case, vote, wanted, held, limits)
    hedging = case.question.account.hedge_quantity(case.question.symbol)
    if wanted.opens and hedging * wanted.sign < 0:
        words = f"a hedge of {abs(hedging):g} {case.question.coin} is short there; a long undoes it"
        return _Side(TradeDecision.HOLD, words)
    if wanted is not by_vote:
        reason = f"the judge does not follow the vote for {by_vote.value}"
    if not wanted.opens:
        return _Side(wanted, reason)
    prices = _prices(case, wanted)
    if prices is None:
        return _Side(TradeDecision.HOLD, "no level of the chart fits a stop and a profit")
    # A judge may be less sure than the record; surer, nobody listens.
    claimed = 100.0 if opinion is None else opinion.win_pct
    odds = _odds(case, claimed, prices, wanted.sign)
    # No choice of levels makes worth it what the rules' own levels do not.
    if opinion is not None and not is_vetoed(odds.expected_pct):
        asked = opinions.asked_prices(opinion, judged_levels(case), prices.entry, wanted.sign)
        if asked.wrong_side:
            return _Side(TradeDecision.HOLD, "the judge's stop or profit is on the wrong side")
        prices = _fitting(case, asked, prices)
        odds = _odds(case, claimed, prices, wanted.sign)
    return _Side(wanted, reason, prices, odds)


def _fitting(case: SynthesisReady, asked: opinions.AskedPrices, own: SetupPrices) -> SetupPrices:
    """What was asked for where it keeps the rules' distances, else the rules' own."""
    step, span = case.market.price_step, _span(case)
    stop = own.stop if asked.stop is None else to_step(asked.stop, step)
    profit = own.take_profit if asked.take_profit is None else to_step(asked.take_profit, step)
    risk, reward = abs(own.entry - stop), abs(profit - own.entry)
    least, most = (span * times for times in _STOP_RANGE)
    fits = least <= risk <= most and _LEAST_REWARD <= reward / risk <= _MOST_REWARD
    return SetupPrices(own.entry, stop, profit) if fits else own


def judge_hedge(
    case: SynthesisReady, limits: DeskLimits, opinion: opinions.HedgeOpinion | None = None
) -> JudgedCase:
    """To be short what the person asked for: the size is arithmetic, and no vote changes it.

    The experts may argue for less; what they would do stands beside the plan.
    """
    vote = _vote(case, limits)
    argued = hedge_ratio(case.regime.by_measure, vote, limits)
    if opinion is not None:
        argued = opinions.stepped_ratio(opinion.ratio, argued)
    hedge, market = case.question.hedge, case.market
    if hedge is None:
        raise ValueError("a hedge is asked for without its position")
    held, ratio = case.question.hedge_short, hedge.target
    wanted = opinions.hedged_quantity(hedge.delta, ratio, market.quantity_step)
    # What is opened for the first time is brought to its target, whatever the band.
    off = is_out_of_band(held, wanted, hedge.band) or (held == 0 and wanted > 0)
    notional = (wanted - held) * market.mark
    if wanted == held or not off:
        decision = TradeDecision.HOLD
        reason = "there is nothing to hedge" if wanted == 0 else "the hedge is where it should be"
    elif wanted < held:
        decision = TradeDecision.CANCEL_AND_CLOSE
        reason = f"{ratio:.0%} of {hedge.delta:g} {hedge.coin} needs less than is short"
    else:
        fault = hedge_fault(case.question, wanted * market.mark, notional, market.mark)
        decision = TradeDecision.SHORT if fault is None else TradeDecision.HOLD
        reason = fault or (
            f"the {hedge.coin} it holds is sold short: a fall costs less, a rise pays less or costs"
        )
    sizing = Sizing(decision, 0.0, 1.0)
    equity = case.question.account.equity
    if decision.opens and equity:
        share = notional / equity
        sizing = Sizing(decision, share / max(share, 1.0) * 100, max(share, 1.0))
    steps = tuple(
        ladder_step(stage, sizing, case) for stage in ("judge", "expected_value", "budget")
    )
    draft = _draft(case, vote, sizing, reason)
    if opinion is not None:
        words = {"counter_scenario": opinion.counter_scenario, "final_logic": opinion.final_logic}
        draft = draft.model_copy(update={"reasoning": draft.reasoning.model_copy(update=words)})
    less = argued if argued < ratio else None
    return JudgedCase(draft, sizing, None, ratio, reason, steps, hedge_argued=less)


def hedge_fault(
    question: DeskQuestion, short_usd: float, opening_usd: float, mark: float
) -> str | None:
    """Which limit a hedge of this size would break, in words; a hedge is never cut to fit."""
    hedge, settings, account = question.hedge, question.settings, question.account
    if hedge is None:
        return None
    worth = hedge.worth_usd + hedge.delta * (mark - hedge.price)
    most = worth if settings.hedge_usd is None else settings.hedge_usd
    less = f"or hedge less: zuno hedge {position_name(hedge.token_id)} --target"
    if short_usd > most * _FULL:
        share = most / (hedge.delta * mark)
        return (
            f"being short ${short_usd:,.0f} is more than hedge_usd under [trade] allows, "
            f"${most:,.0f}; raise it, {less} {floor(share * 100)}%"
        )
    if account.outright(question.symbol) > 0:
        return f"{question.symbol} is held long there: close that first, or the hedge only cuts it"
    # What is not known of the account, the guard refuses.
    held = (abs(position.quantity * (position.mark or 0.0)) for position in account.positions)
    taken = sum((*held, *(order.notional_usd or 0.0 for order in account.waiting)))
    equity = account.equity
    room = settings.account_leverage * (equity or 0.0) - taken
    if equity and opening_usd > room * _FULL:
        share = max(room, 0.0) / (hedge.delta * mark)
        return (
            f"selling ${opening_usd:,.0f} more exceeds account_leverage under [trade], "
            f"{settings.account_leverage:g} × ${equity:,.0f}; add margin, "
            f"{less} {floor(share * 100)}%"
        )
    return None


_FULL = 1 + 1e-9


def hedge_ratio(regime: MarketRegime, vote: ExpertVote, limits: DeskLimits) -> float:
    """The regime's ratio, a step more where the experts expect a fall, a step less for a rise."""
    place = _HEDGE_BASE[regime]
    if vote.strength >= limits.margin:
        place -= vote.direction
    return opinions.HEDGE_RATIOS[min(max(place, 0), len(opinions.HEDGE_RATIOS) - 1)]


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
    """By the rules' weights and by those that meta directs: the weaker of both counts."""
    mode, regime = case.question.mode, case.regime
    vote = count_votes(case.findings, regime.weights, mode, limits)
    if regime.directed is None:
        return vote
    directed = count_votes(case.findings, regime.directed, mode, limits)
    if directed.direction != vote.direction:
        return ExpertVote(0, 0.0, None)
    return min(vote, directed, key=lambda one: one.strength)


def _wanted(vote: ExpertVote, held: float, limits: DeskLimits) -> TradeDecision:
    if vote.strength < limits.margin or not vote.direction:
        return TradeDecision.HOLD
    if held * vote.direction < 0:
        return TradeDecision.CANCEL_AND_CLOSE
    if held:
        return TradeDecision.HOLD
    return TradeDecision.LONG if vote.direction > 0 else TradeDecision.SHORT


def _why(
    case: SynthesisReady, vote: ExpertVote, wanted: TradeDecision, held: float, limits: DeskLimits
) -> str:
    side = "up" if vote.direction > 0 else "down"
    if wanted is TradeDecision.HOLD and held and vote.direction * held > 0:
        return "what is held already stands on that side"
    if wanted is TradeDecision.HOLD:
        if not vote.direction:
            return "the experts are evenly divided"
        need = f"{limits.margin:.0%} is needed"
        return f"the experts lean {side} by {vote.strength:.0%} and {need} to trade"
    if wanted is TradeDecision.CANCEL_AND_CLOSE:
        return f"the experts turned against what is held: {side}, strength {vote.strength:.0%}"
    if vote.deadlock is not None:
        return f"divided evenly; {vote.deadlock.value} comes first in {case.question.mode.value}"
    return f"the experts vote {side}, strength {vote.strength:.0%}"


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


def _prices(case: SynthesisReady, wanted: TradeDecision) -> SetupPrices | None:
    market, span = case.market, _span(case)
    return setup_prices(judged_levels(case), span, market.mark, market.price_step, wanted.sign)


def setup_prices(
    levels: Sequence[PriceLevel], span: float, mark: float, step: float, sign: int
) -> SetupPrices | None:
    """Entry at the mark; stop and profit on levels of the chart, or nothing."""
    if not span:
        return None
    entry = to_step(mark, step)
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
    return SetupPrices(entry, to_step(stop.price, step), to_step(profit.price, step))


def _range_bounds(case: SynthesisReady) -> tuple[PriceLevel, ...]:
    hedge = case.question.hedge
    bounds = None if hedge is None else hedge.price_range
    return tuple(PriceLevel(bound, "range bound") for bound in bounds or ())


def _odds(case: SynthesisReady, claimed: float, prices: SetupPrices, sign: int) -> TradeOdds:
    account, record = case.question.account, case.question.record
    book = case.market.book
    slips = () if book is None else (book.buy_slippage_bips, book.sell_slippage_bips)
    known = [slip for slip in slips if slip is not None]
    takes = enters_taking(case.triage.anomalies, case.question.account.terms.limits)
    costs = TradeCosts(
        # A stop takes; whether the entry does hangs on how it is carried out.
        fees=(account.taker_fee if takes else account.maker_fee) + account.taker_fee,
        slippage=max(known, default=5.0) / _BASIS_POINTS * (2 if takes else 1),
        # What funding may pay until it turns is no edge.
        funding=max(
            funding_cost(
                case.context.number(SectionName.FUNDING, "rate") or 0.0,
                sign,
                _HOLD_HOURS[case.question.mode],
            ),
            0.0,
        ),
    )
    fair = fair_probability_pct(prices.entry, prices.stop, prices.take_profit)
    win = min(recorded_odds_pct(fair, record), claimed)
    seen = outlook(prices.entry, prices.stop, prices.take_profit, win, costs)
    return TradeOdds(
        win_pct=win,
        claimed_pct=claimed,
        break_even_pct=seen.break_even_pct,
        fair_pct=fair,
        profit_pct=seen.profit_pct,
        loss_pct=seen.loss_pct,
        expected_pct=seen.expected_pct,
        record=record,
        cost_pct=(costs.fees + costs.slippage) * 100,
    )


def _draft(
    case: SynthesisReady,
    vote: ExpertVote,
    sizing: Sizing,
    reason: str,
    *,
    prices: SetupPrices | None = None,
    odds: TradeOdds | None = None,
) -> TradeDraft:
    keeps = sizing.decision.opens and prices is not None
    words = "no trade is opened" if odds is None else f"expected {odds.expected_pct:+.2f}%"
    return TradeDraft(
        decision=sizing.decision,
        allocation_pct=sizing.allocation_pct,
        leverage=sizing.leverage,
        entry_price=prices.entry if prices is not None and keeps else None,
        stop_loss=prices.stop if prices is not None and keeps else None,
        take_profit=prices.take_profit if prices is not None and keeps else None,
        hold_duration=f"{_HOLD_HOURS[case.question.mode]:g} h",
        reasoning=_reasoning(case, vote, reason, odds),
        win_probability_pct=50.0 if odds is None else odds.win_pct,
        expected_profit_pct=0.0 if odds is None else odds.profit_pct,
        expected_loss_pct=0.0 if odds is None else odds.loss_pct,
        ev_rationale=words,
        key_factors=tuple(anomaly.value for anomaly in case.triage.anomalies)
        or (case.conflicts.dominant_signal.value,),
    )


def _against(case: SynthesisReady, vote: ExpertVote, odds: TradeOdds | None) -> str:
    """The strongest fact against the choice: who disagrees, what a rise costs, or plain chance."""
    divided = [finding for finding in case.findings if finding.bias.sign * vote.direction < 0]
    hedge, mark = case.question.hedge, case.market.mark
    if hedge is not None:
        exposure = opinions.RangeExposure.from_coins(hedge.delta, mark, hedge.lower, hedge.upper)
        lost, risen = hedge.delta * hedge.target * mark * _RISE, mark * (1 + _RISE)
        gained = hedge.delta * mark * _RISE
        if exposure is not None:
            gained = exposure.worth(risen) - exposure.worth(mark)
        return (
            f"If {hedge.coin} rises by {_RISE:.0%}, the short loses ${lost:,.0f} and the position "
            f"gains ${gained:,.0f}."
        )
    if divided:
        return max(divided, key=lambda finding: finding.confidence).rationale
    if odds is not None:
        return (
            f"A price that drifts nowhere wins {odds.fair_pct:.0f} of 100 such trades, and "
            f"{odds.break_even_pct:.0f} are needed to lose nothing."
        )
    dark = case.context.missing_sections
    if dark:
        names = ", ".join(name.value.replace("_", " ") for name in dark)
        return f"{len(dark)} of {len(SectionName)} sources are silent: {names}."
    silent = sum(not finding.bias.sign for finding in case.findings)
    return (
        f"{silent} of {len(case.findings)} experts see no side, and the vote's strength is "
        f"{vote.strength:.0%}."
    )


_RISE = 0.1


def _reasoning(
    case: SynthesisReady, vote: ExpertVote, reason: str, odds: TradeOdds | None
) -> DraftReasoning:
    funding = case.context.section(SectionName.FUNDING).text
    geometry = next(
        (finding for finding in case.findings if finding.expert == "vlm_geometry"), None
    )
    return DraftReasoning(
        counter_scenario=_against(case, vote, odds),
        meta_agent_context=case.conflicts.regime_note,
        technical="" if geometry is None else geometry.rationale,
        derivatives=funding,
        experts="; ".join(
            f"{finding.expert.spoken_name} {finding.bias.value} {finding.confidence:.0%}"
            for finding in case.findings
        ),
        narrative=case.context.section(SectionName.NARRATIVE).status.value,
        final_logic=reason,
    )
