"""The desk's stages before and after the experts, from the first look to the plan."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import combinations
from typing import Generic, NamedTuple, TypeVar

from agents.bus.envelope import CLI, Envelope
from agents.bus.worker import HandlerContext, Outgoing
from agents.model.interface import Unavailability
from agents.model.speaking import Brief, model_thought, thought_message
from agents.trade import payloads
from agents.trade.briefing import judge_brief, meta_brief, risk_brief, synthesis_brief
from agents.trade.concluding import (
    conclude_trade,
    desk_limits,
    failed_plan,
    judged_risk,
    route_sizing,
)
from agents.trade.expert_rules import classify
from agents.trade.facts import TradeContext
from agents.trade.findings import (
    AnyFinding,
    Conflict,
    ConflictMap,
    HedgeReply,
    JudgeReply,
    RegimeCall,
    RegimeReply,
    RiskReply,
    SynthesisReply,
    TriageReport,
    TurnBudget,
)
from agents.trade.judging import judge_hedge, judge_trade, judged_levels, ladder_step
from agents.trade.opinions import (
    careful_regime,
    hedge_opinion,
    judge_opinion,
    tighten_sizing,
    worded_map,
)
from agents.trade.risk_rules import HOLD, RiskRule, Sizing
from agents.trade.services import TradeServices, asides, asked_model, observation_fact, office_reply
from agents.trade.terms import (
    HIERARCHY,
    Bias,
    ExpertName,
    Objective,
    SectionName,
    SectionStatus,
    TradeMode,
    bias_of,
)
from agents.trade.triage import TriageInput, anomalies, spike_of


def conflict_map(
    findings: Sequence[AnyFinding], regime: RegimeCall, mode: TradeMode
) -> ConflictMap:
    by_expert = {finding.expert: finding for finding in findings}
    opposed = [
        (finding, other)
        for finding, other in combinations(findings, 2)
        if finding.bias.sign * other.bias.sign < 0
    ]
    strongest = max(
        findings, key=lambda finding: (finding.confidence, -list(ExpertName).index(finding.expert))
    )
    return ConflictMap(
        consensus_signals=_consensus(by_expert),
        conflicts=tuple(
            Conflict(
                between=(finding.expert, other.expert),
                expert_a_claim=_claim(finding),
                expert_b_claim=_claim(other),
                tiebreaker=_tiebreaker(finding.expert, other.expert, mode),
            )
            for finding, other in opposed
        ),
        dominant_signal=_dominant(findings, regime),
        highest_confidence_expert=strongest.expert,
        key_uncertainty=_uncertainty(findings, opposed),
        regime_note=f"{regime.regime.value}: {regime.trust_directive}",
        fallback=True,
    )


def _claim(finding: AnyFinding) -> str:
    return f"{finding.bias.value} at {finding.confidence:.0%}: {finding.rationale}"


def _consensus(findings: Mapping[ExpertName, AnyFinding]) -> tuple[str, ...]:
    """What nobody contradicts, with the prices it hangs on."""
    signs = {finding.bias.sign for finding in findings.values() if finding.bias.sign}
    if len(signs) != 1:
        return ()
    who = ", ".join(
        finding.expert.spoken_name for finding in findings.values() if finding.bias.sign
    )
    geometry = findings.get(ExpertName.GEOMETRY)
    places = ""
    if geometry is not None and geometry.expert is ExpertName.GEOMETRY:
        levels = geometry.key_levels
        found = [levels.immediate_support, levels.immediate_resistance]
        known = [f"{price:,.2f}" for price in found if price is not None]
        places = f", between {' and '.join(known)}" if known else ""
    return (f"{bias_of(signs.pop()).value} by {who}{places}",)


def _tiebreaker(one: ExpertName, other: ExpertName, mode: TradeMode) -> str:
    first = min(one, other, key=HIERARCHY[mode].index)
    return f"{first.spoken_name} decides on even votes in {mode.value} trading"


def _dominant(findings: Sequence[AnyFinding], regime: RegimeCall) -> Bias:
    total = sum(
        finding.bias.sign * finding.confidence * regime.weights[finding.expert]
        for finding in findings
    )
    return bias_of(round(total, 6))


def _uncertainty(
    findings: Sequence[AnyFinding], opposed: Sequence[tuple[AnyFinding, AnyFinding]]
) -> str:
    if opposed:
        first, other = opposed[0]
        return f"Who is right, {first.expert.spoken_name} or {other.expert.spoken_name}?"
    silent = [finding.expert.spoken_name for finding in findings if not finding.bias.sign]
    if silent:
        return f"The {silent[0]} expert sees too little to vote: what would change that?"
    return "What would have to happen for all of them to be wrong at once?"


_EXPERT_COSTS = {
    ExpertName.LIQUIDITY: 20,
    ExpertName.MICROSTRUCTURE: 15,
    ExpertName.MACRO: 15,
    ExpertName.GEOMETRY: 25,
}
_TOTAL_BUDGET = 100
_UNREADABLE = (Unavailability.INVALID, Unavailability.MALFORMED)
JudgesReply = TypeVar("JudgesReply", JudgeReply, HedgeReply)


async def desk(
    envelope: Envelope, context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """Reads the market and the twelve kinds of context."""
    start = envelope.payload
    if not isinstance(start, payloads.FlowDeskStart):
        return
    seen = await context.services.eyes.look(start.question)
    await context.say(observation_fact(seen))
    gathered = TradeContext(sections=seen.sections)
    fresh = sum(section.status is SectionStatus.OK for section in seen.sections)
    yield thought_message(0, "sources", f"{fresh} of {len(seen.sections)} sources are fresh.")
    if seen.market is None:
        plan = failed_plan(start.question, seen.unreadable, seen.sections, seen.time)
        yield thought_message(0, "degraded", f"The market cannot be read: {seen.unreadable}.")
        yield Outgoing(payloads.TradeKind.TRADE_PLAN_READY, CLI, payloads.TradePlanReady(plan=plan))
        return
    yield thought_message(0, "market", f"{seen.market.symbol} stands at {seen.market.mark:,.2f}.")
    taken = payloads.SnapshotTaken(question=start.question, market=seen.market)
    yield Outgoing(payloads.TradeKind.DESK_SNAPSHOT, payloads.META, taken)
    yield Outgoing(
        payloads.TradeKind.DESK_CONTEXT, payloads.META, payloads.ContextGathered(context=gathered)
    )


async def meta(
    envelope: Envelope, context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """Names the regime, before any expert is heard."""
    gathered = envelope.payload
    taken = context.board.messages_of(payloads.TradeKind.DESK_SNAPSHOT)
    if not isinstance(gathered, payloads.ContextGathered) or not taken:
        return
    first = taken[0].payload
    if not isinstance(first, payloads.SnapshotTaken):
        return
    limits = desk_limits(first.question.settings)
    regime = classify(first.market, gathered.context, limits)
    reply = None
    if asked_model(context) is not None:
        brief = meta_brief(context.role, first.question, first.market, gathered.context, regime)
        spoken = await office_reply(context, brief, RegimeReply)
        for aside in asides(context, spoken):
            yield aside
        if (reply := spoken.reply) is not None:
            regime = careful_regime(reply, regime, brief)
            lead = f"{regime.regime.value}: "
            yield model_thought(0, "regime", reply.rationale, brief, lead=lead)
            if regime.regime is not reply.regime:
                words = f"{reply.regime.value} would allow more than the numbers do: overruled."
                yield thought_message(0, "floor", words)
    if reply is None:
        yield thought_message(0, "regime", f"{regime.regime.value}: {regime.rationale}.")
    yield Outgoing(
        payloads.TradeKind.REGIME_CLASSIFIED,
        payloads.TRIAGE,
        payloads.RegimeClassified(
            question=first.question, market=first.market, context=gathered.context, regime=regime
        ),
    )


async def triage(
    envelope: Envelope, _context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """Looks for what is unusual; whatever it finds, every expert is asked."""
    case = envelope.payload
    if not isinstance(case, payloads.RegimeClassified):
        return
    report = triage_report(case)
    words = ", ".join(anomaly.value for anomaly in report.anomalies) or "nothing unusual"
    yield thought_message(0, "triage", f"{words}.")
    done = payloads.TriageDone(**dict(case), triage=report)
    for role in (
        payloads.SYNTHESIS,
        payloads.LIQUIDITY,
        payloads.MICROSTRUCTURE,
        payloads.MACRO,
        payloads.CHART,
    ):
        yield Outgoing(payloads.TradeKind.TRIAGE_DONE, role, done)


def triage_report(case: payloads.RegimeClassified) -> TriageReport:
    limits, number = desk_limits(case.question.settings), case.context.number
    book = case.market.book
    leans = () if book is None else tuple(sample.imbalance20 for sample in book.samples)
    known = tuple(lean for lean in leans if lean is not None)
    long_usd = number(SectionName.LIQUIDATIONS, "long_usd")
    short_usd = number(SectionName.LIQUIDATIONS, "short_usd")
    liquidated = None if long_usd is None or short_usd is None else long_usd + short_usd
    hours = case.market.hours.candles
    spike = spike_of(hours, limits)
    found = anomalies(
        TriageInput(
            hours=hours,
            interest_change=case.market.interest_change,
            liquidated_usd=liquidated,
            # A look that saw no book breaks the row of samples.
            imbalances=known if len(known) == len(leans) else (),
            dvol_z=number(SectionName.OPTIONS, "dvol_z"),
            week_volatility=number(SectionName.OPTIONS, "week_volatility"),
            quarter_volatility=number(SectionName.OPTIONS, "quarter_volatility"),
        ),
        limits,
    )
    return TriageReport(
        anomalies=found,
        atr_ratio=None if spike is None else spike.atr_ratio,
        volume_ratio=None if spike is None else spike.volume_ratio,
        interest_change=case.market.interest_change,
        liquidated_usd=liquidated,
        imbalance=known[-1] if known else None,
        dvol_z=number(SectionName.OPTIONS, "dvol_z"),
        budget=TurnBudget(total=_TOTAL_BUDGET, costs=_EXPERT_COSTS),
    )


async def synthesis(
    envelope: Envelope, context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """Waits for all four experts, then distils them; who was faster makes no difference."""
    if not isinstance(envelope.payload, payloads.ExpertSpoke | payloads.TriageDone):
        return
    begun = [
        message.payload for message in context.board.messages_of(payloads.TradeKind.TRIAGE_DONE)
    ]
    spoken = [
        message.payload for message in context.board.messages_of(payloads.TradeKind.EXPERT_FINDING)
    ]
    findings = tuple(
        payload.finding for payload in spoken if isinstance(payload, payloads.ExpertSpoke)
    )
    if not begun or len(findings) < len(ExpertName):
        return
    case = begun[0]
    if not isinstance(case, payloads.TriageDone):
        return
    conflicts = conflict_map(findings, case.regime, case.question.mode)
    if asked_model(context) is not None:
        brief = synthesis_brief(context.role, case, findings, conflicts)
        worded = await office_reply(context, brief, SynthesisReply)
        for aside in asides(context, worded):
            yield aside
        if worded.reply is not None:
            conflicts = worded_map(worded.reply, conflicts, brief)
            yield model_thought(0, "summary", worded.reply.summary, brief)
    yield thought_message(
        0,
        "synthesis",
        f"{conflicts.dominant_signal.value}, {len(conflicts.conflicts)} conflicts. "
        f"{conflicts.key_uncertainty}",
    )
    yield Outgoing(
        payloads.TradeKind.SYNTHESIS_READY,
        payloads.JUDGE,
        payloads.SynthesisReady(**dict(case), findings=findings, conflicts=conflicts),
    )


class _JudgesAnswer(NamedTuple, Generic[JudgesReply]):
    asides: tuple[Outgoing, ...] = ()
    said: tuple[JudgesReply, Brief] | None = None


async def _reply(
    context: HandlerContext[TradeServices], case: payloads.SynthesisReady, schema: type[JudgesReply]
) -> _JudgesAnswer[JudgesReply]:
    """What the judge's model says, with what it was told."""
    if asked_model(context) is None:
        return _JudgesAnswer()
    brief = judge_brief(context.role, case, judged_levels(case))
    spoken = await office_reply(context, brief, schema)
    said = None if spoken.reply is None else (spoken.reply, brief)
    return _JudgesAnswer(tuple(asides(context, spoken)), said)


async def judge(
    envelope: Envelope, context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """Drafts a decision; the veto and the regime's budget take from it, nothing adds."""
    case = envelope.payload
    if not isinstance(case, payloads.SynthesisReady):
        return
    limits = desk_limits(case.question.settings)
    said: tuple[JudgeReply | HedgeReply, Brief] | None
    if case.question.objective is Objective.HEDGE:
        hedging = await _reply(context, case, HedgeReply)
        told, said = hedging.asides, hedging.said
        opinion = None if hedging.said is None else hedge_opinion(*hedging.said)
        judged = judge_hedge(case, limits, opinion)
    else:
        trading = await _reply(context, case, JudgeReply)
        told, said = trading.asides, trading.said
        view = None if trading.said is None else judge_opinion(*trading.said)
        judged = judge_trade(case, limits, view)
    for aside in told:
        yield aside
    if said is None:
        yield thought_message(0, "counter", judged.draft.reasoning.counter_scenario)
    else:
        reply, brief = said
        yield model_thought(0, "counter", reply.counter_scenario, brief)
        yield model_thought(0, "logic", reply.final_logic, brief)
    yield thought_message(0, "draft", f"{judged.draft.decision.value}: {judged.reason}.")
    yield Outgoing(
        payloads.TradeKind.DECISION_DRAFT,
        payloads.RISK_MANAGER,
        payloads.DecisionDraft(
            **dict(case),
            draft=judged.draft,
            odds=judged.odds,
            hedge_ratio=judged.hedge_ratio,
            hedge_argued=judged.hedge_argued,
            reason=judged.reason,
            ladder=judged.ladder,
            decided_by="rules" if said is None else "model",
        ),
    )


async def risk_manager(
    envelope: Envelope, context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """The six rules, then an officer who may only tighten; HOLD and exits pass at once."""
    case = envelope.payload
    if not isinstance(case, payloads.DecisionDraft):
        return
    last = case.ladder[-1]
    sizing = Sizing(last.decision, last.allocation_pct, last.leverage)
    if case.question.objective is Objective.TRADE:
        account, sizing = route_sizing(case.question.account, sizing)
        if account is not case.question.account:
            yield thought_message(
                0, "route", f"It fits {account.venue}, spot and unlevered: it goes there."
            )
            there = case.question.model_copy(update={"account": account})
            case = case.model_copy(update={"question": there})
    judged = judged_risk(case, sizing)
    after, fired = judged.after, [rule.value for rule in judged.fired]
    # How large a hedge is, is arithmetic: there is nothing an officer could tighten.
    outright = case.question.objective is not Objective.HEDGE
    if outright and after.decision.opens and asked_model(context) is not None:
        brief = risk_brief(context.role, case, after, fired)
        spoken = await office_reply(context, brief, RiskReply)
        for aside in asides(context, spoken):
            yield aside
        if spoken.reply is not None:
            yield model_thought(0, spoken.reply.verdict, spoken.reply.rationale, brief)
            tighter = tighten_sizing(spoken.reply, after)
            fired += [] if tighter == after else [RiskRule.OFFICER.value]
            after = tighter
        elif spoken.reason in _UNREADABLE:
            after = HOLD
            fired.append(RiskRule.UNPARSABLE.value)
    step = ladder_step("risk_officer", after, case, *fired)
    words = ", ".join(step.notes) or "no rule is broken"
    yield thought_message(0, "risk", f"{after.decision.value}: {words}.")
    yield Outgoing(
        payloads.TradeKind.RISK_VERDICT,
        payloads.LEVERAGE_GUARD,
        payloads.RiskVerdict(**{**dict(case), "ladder": (*case.ladder, step)}, style=judged.style),
    )


async def leverage_guard(
    envelope: Envelope, _context: HandlerContext[TradeServices]
) -> AsyncGenerator[Outgoing, None]:
    """The account's leverage, then the plan."""
    case = envelope.payload
    if not isinstance(case, payloads.RiskVerdict):
        return
    plan, judged = conclude_trade(case)
    verdict = payloads.GuardVerdict(
        equity=case.question.account.equity,
        exposure_usd=judged.exposure,
        leverage_before=judged.leverage_before,
        leverage_after=judged.leverage_after,
        notional_usd=judged.notional,
        reason=judged.reason.value,
    )
    yield thought_message(0, "guard", f"{judged.reason.value}: {plan.decision.value}.")
    yield Outgoing(payloads.TradeKind.GUARD_VERDICT, CLI, verdict)
    yield Outgoing(payloads.TradeKind.TRADE_PLAN_READY, CLI, payloads.TradePlanReady(plan=plan))
